//! Promise 4: a message leaves the inbox only in the commit that consumed it, and
//! the order per instance is kept.

use std::sync::Arc;

use durable_core::provider::{OutgoingMessage, SendOutcome};
use tokio::task::JoinSet;

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::message_ids;
use crate::conformance::samples;
use crate::message::event_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Inbox, messages_come_in_order),
    check!(Inbox, messages_of_a_commit_come_in_order),
    check!(Inbox, places_in_an_inbox_only_rise),
    check!(Inbox, every_kind_of_message_is_read_as_it_was_sent),
    check!(Inbox, a_message_stays_until_it_is_consumed),
    check!(Inbox, only_consumed_messages_leave),
    check!(Inbox, consuming_a_message_that_is_gone_is_ignored),
    check!(Inbox, messages_survive_a_dead_holder),
    check!(Inbox, a_message_is_given_once_under_a_lease),
    check!(Inbox, a_kept_lease_is_told_of_messages),
    check!(Inbox, a_repeated_message_id_is_queued_once),
    check!(Inbox, a_repeated_message_id_of_a_commit_is_queued_once),
    check!(Inbox, a_message_id_may_come_again_after_it_was_consumed),
    check!(Inbox, an_instance_can_message_itself),
    check!(Inbox, a_message_to_an_unknown_instance_is_dropped),
    check!(Inbox, unconsumed_messages_stay_across_continue_as_new),
    check!(Inbox, an_ended_instance_is_handed_out_while_it_has_messages),
    check!(Inbox, a_message_of_a_commit_reaches_an_ended_instance),
    check!(Inbox, a_large_inbox_is_given_whole),
    check!(Inbox, concurrent_senders_lose_nothing),
];

async fn messages_come_in_order(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let ids = ["z", "m", "a", "k", "10", "9"];
    for id in ids {
        env.raise("a", id).await?;
    }
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), ids.to_vec())
}

async fn messages_of_a_commit_come_in_order(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn).await?;
    let ids = ["z", "m", "a", "k"];
    let sending = |turn: TurnBuilder| {
        let send = |turn: TurnBuilder, id: &&str| turn.message("b", event_message(*id));
        ids.iter().fold(turn, send)
    };
    node.begin("a", sending).await?;
    let ready = node.take("b").await?;
    ensure_eq("the messages", message_ids(&ready), ids.to_vec())
}

async fn places_in_an_inbox_only_rise(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let mut places = Vec::new();
    for number in 0..4 {
        let ready = node.take("a").await?;
        places.extend(ready.messages.iter().map(|message| message.seq));
        let turn = node.turn(&ready).consuming(&ready.messages);
        node.commit_done(turn.build()).await?;
        env.raise("a", &format!("m{number}")).await?;
        env.raise("a", &format!("n{number}")).await?;
    }
    let rises = places.windows(2).all(|pair| pair[0] < pair[1]);
    ensure(
        rises,
        "the places of messages",
        "each above the last",
        places,
    )
}

async fn every_kind_of_message_is_read_as_it_was_sent(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let sent = samples::messages_of_every_kind();
    for message in &sent {
        let outcome = env.send("a", message.clone()).await?;
        ensure_eq("the answer", outcome, SendOutcome::Accepted)?;
    }
    let ready = node.take("a").await?;
    ensure_eq("the number of messages", ready.messages.len(), sent.len())?;
    for (found, sent) in ready.messages.into_iter().zip(sent) {
        ensure_eq("a message", found.message, sent)?;
    }
    Ok(())
}

async fn a_message_stays_until_it_is_consumed(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    env.raise("a", "m1").await?;
    env.raise("a", "m2").await?;
    for _ in 0..2 {
        let ready = node.take("a").await?;
        ensure_eq("the messages", message_ids(&ready), vec!["m1", "m2"])?;
        node.release(&ready, None).await?;
    }
    let ready = node.take("a").await?;
    node.commit_done(node.turn(&ready).build()).await?;
    let ready = node.take("a").await?;
    let what = "the messages after a commit that consumed none";
    ensure_eq(what, message_ids(&ready), vec!["m1", "m2"])
}

async fn only_consumed_messages_leave(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for id in ["m1", "m2", "m3"] {
        env.raise("a", id).await?;
    }
    let ready = node.take("a").await?;
    let turn = node.turn(&ready).consuming(&ready.messages[1..2]);
    node.commit_done(turn.build()).await?;
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1", "m3"])?;
    let turn = node.turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.build()).await?;
    node.finds_no_instance("all messages are consumed").await
}

async fn consuming_a_message_that_is_gone_is_ignored(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let first = node.take("a").await?;
    let turn = node.first_turn(&first).keeping_the_lease().build();
    node.commit_done(turn.clone()).await?;
    env.raise("a", "m1").await?;
    let again = TurnBuilder::after(&turn, env.now_ms()).consuming(&first.messages);
    node.commit_done(again.build()).await?;
    ensure_eq(
        "the messages",
        message_ids(&node.take("a").await?),
        vec!["m1"],
    )
}

async fn messages_survive_a_dead_holder(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    heir.begin("a", |turn| turn).await?;
    env.raise("a", "m1").await?;
    dead.take("a").await?;
    env.raise("a", "m2").await?;
    env.time.pass_short().await;
    let ready = heir.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1", "m2"])
}

async fn a_message_is_given_once_under_a_lease(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    node.take("a").await?;
    node.finds_no_instance("its messages were given").await?;
    env.raise("a", "m1").await?;
    let more = node.take("a").await?;
    ensure_eq("the new messages", message_ids(&more), vec!["m1"])?;
    node.finds_no_instance("its messages were given").await
}

async fn a_kept_lease_is_told_of_messages(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let quiet = node.first_turn(&ready).keeping_the_lease().build();
    let answer = node.commit_done(quiet.clone()).await?;
    ensure_eq(
        "messages that were not given, before",
        answer.has_messages,
        false,
    )?;
    env.raise("a", "m1").await?;
    let next = TurnBuilder::after(&quiet, env.now_ms()).keeping_the_lease();
    let next = next.build();
    let answer = node.commit_done(next.clone()).await?;
    ensure_eq("messages that were not given", answer.has_messages, true)?;
    let more = node.take("a").await?;
    let last = TurnBuilder::after(&next, env.now_ms()).consuming(&more.messages);
    let answer = node.commit_done(last.keeping_the_lease().build()).await?;
    ensure_eq(
        "messages that were not given, after",
        answer.has_messages,
        false,
    )
}

async fn a_repeated_message_id_is_queued_once(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for id in ["m1", "m1", "m2", "m1", "m2"] {
        env.raise("a", id).await?;
    }
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1", "m2"])?;
    env.raise("a", "m1").await?;
    node.finds_no_instance("the message is in the inbox, and given")
        .await
}

async fn a_repeated_message_id_of_a_commit_is_queued_once(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn).await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    env.raise("b", "m1").await?;
    let turn = ["m1", "m2", "m2"]
        .into_iter()
        .fold(node.first_turn(&ready), |turn, id| {
            turn.message("b", event_message(id))
        });
    node.commit_done(turn.build()).await?;
    let ready = node.take("b").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1", "m2"])
}

async fn a_message_id_may_come_again_after_it_was_consumed(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for _ in 0..2 {
        env.raise("a", "m1").await?;
        let ready = node.take("a").await?;
        ensure_eq("the messages", message_ids(&ready), vec!["m1"])?;
        let turn = node.turn(&ready).consuming(&ready.messages);
        node.commit_done(turn.build()).await?;
    }
    node.finds_no_instance("all messages are consumed").await
}

async fn an_instance_can_message_itself(env: Env) -> CheckResult {
    let node = env.node().await?;
    let sending = |turn: TurnBuilder| turn.message("a", event_message("to-myself"));
    node.begin("a", sending).await?;
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["to-myself"])
}

async fn a_message_to_an_unknown_instance_is_dropped(env: Env) -> CheckResult {
    let node = env.node().await?;
    let sending = |turn: TurnBuilder| turn.message("unknown", event_message("m1"));
    node.begin("a", sending).await?;
    let unknown = env.provider().instance(&"unknown".into()).await?;
    ensure(unknown.is_none(), "the receiver", "none", unknown)?;
    env.start("unknown").await?;
    let ready = node.take("unknown").await?;
    ensure_eq(
        "messages of one that is started later",
        ready.messages.len(),
        1,
    )
}

async fn unconsumed_messages_stay_across_continue_as_new(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    env.raise("a", "m1").await?;
    let ready = node.take("a").await?;
    let turn = node.turn(&ready).consuming(&ready.messages[..1]).started();
    node.commit_done(turn.continued_as_new().build()).await?;
    let ready = node.take("a").await?;
    ensure_eq("the execution", ready.execution_id.get(), 2)?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1"])
}

async fn an_ended_instance_is_handed_out_while_it_has_messages(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    env.raise("a", "m1").await?;
    node.commit_done(node.first_turn(&ready).completed("1").build())
        .await?;
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1"])?;
    let turn = node.turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.build()).await?;
    node.finds_no_instance("it has ended and its inbox is empty")
        .await
}

async fn a_message_of_a_commit_reaches_an_ended_instance(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn.completed("1")).await?;
    let start = samples::full_start();
    node.begin("a", |turn| turn.message("b", start.clone()))
        .await?;
    let ready = node.take("b").await?;
    let found = ready.messages.into_iter().map(|queued| queued.message);
    ensure_eq("the messages", found.collect::<Vec<_>>(), vec![start])
}

async fn a_large_inbox_is_given_whole(env: Env) -> CheckResult {
    const MESSAGES: usize = 2_500;
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let ids: Vec<String> = (0..MESSAGES).map(|number| format!("m{number}")).collect();
    let (mut turn, _) = node.begin("b", TurnBuilder::keeping_the_lease).await?;
    for some in ids.chunks(500) {
        let sending = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
        let send = |turn: TurnBuilder, id: &String| turn.message("a", event_message(id.as_str()));
        turn = some.iter().fold(sending, send).build();
        node.commit_done(turn.clone()).await?;
    }
    let ready = node.take("a").await?;
    let is_whole = message_ids(&ready) == ids.iter().map(String::as_str).collect::<Vec<_>>();
    let what = format!("{MESSAGES} messages");
    ensure(is_whole, what, "all of them in order", ready.messages.len())?;
    let turn = node.turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.build()).await?;
    node.finds_no_instance("all messages are consumed").await
}

async fn concurrent_senders_lose_nothing(env: Env) -> CheckResult {
    const SENDERS: usize = 8;
    const EACH: usize = 25;
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let mut tasks = JoinSet::new();
    for sender in 0..SENDERS {
        let provider = Arc::clone(env.provider());
        tasks.spawn(async move {
            for number in 0..EACH {
                let message = event_message(format!("{sender}/{number}"));
                let outgoing = OutgoingMessage::new("a".into(), message);
                let outcome = provider.send(outgoing).await?;
                ensure_eq("the answer", outcome, SendOutcome::Accepted)?;
                tokio::task::yield_now().await;
            }
            CheckResult::Ok(())
        });
    }
    for sent in tasks.join_all().await {
        sent?;
    }
    let ready = node.take("a").await?;
    let found = message_ids(&ready);
    ensure_eq("the number of messages", found.len(), SENDERS * EACH)?;
    for sender in 0..SENDERS {
        let prefix = format!("{sender}/");
        let own: Vec<&str> = found
            .iter()
            .filter_map(|id| id.strip_prefix(&prefix))
            .collect();
        let sent: Vec<String> = (0..EACH).map(|number| number.to_string()).collect();
        let what = format!("the messages of sender {sender}");
        ensure(own == sent, what, "all of them in order", own)?;
    }
    Ok(())
}
