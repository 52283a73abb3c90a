//! Receipts: the sender of a message is told, once, what became of it.

use durable_core::provider::{
    CommitOutcome, Message, OutgoingMessage, ProviderError, ReceiptRequest, ReceiptWhen,
    SendOutcome, SourceEvent, TurnCommit,
};
use durable_core::{EventId, ExecutionId, InstanceId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, message_ids};
use crate::message::event_message;

pub(super) const CHECKS: &[Check] = &[
    check!(Inbox, a_sender_is_told_that_the_receiver_does_not_exist),
    check!(Inbox, a_sender_is_told_that_the_receiver_has_ended),
    check!(Inbox, a_sender_is_told_that_its_message_was_delivered),
    check!(Inbox, a_sender_that_asks_for_failures_hears_of_no_delivery),
    check!(Inbox, an_instance_can_message_itself_with_a_receipt),
    check!(Inbox, a_receipt_comes_once),
    check!(Inbox, a_receipt_reaches_a_sender_that_keeps_its_lease),
    check!(Inbox, a_sender_that_has_ended_gets_no_receipt),
    check!(Inbox, a_client_gets_no_receipt),
];

/// What the sender is told of the message that event 2 of its first turn sent.
fn receipt(turn: &TurnCommit, target: &str, outcome: SendOutcome) -> Option<Message> {
    let source = turn.new_messages.first()?.receipt?.source;
    ReceiptRequest::always(source).message(&InstanceId::from(target), outcome)
}

/// An instance that sends one message to another one, and then has this receipt and
/// nothing else in its inbox.
async fn sends_and_is_told(
    node: &TestNode<'_>,
    target: &str,
    when: ReceiptWhen,
    outcome: SendOutcome,
) -> CheckResult {
    let sending = node.begin("a", |turn| {
        turn.message_with_receipt(target, event_message("m"), when)
    });
    let (turn, _) = sending.await?;
    let ready = node.take("a").await?;
    let told = ready.messages.into_iter().map(|told| Some(told.message));
    let expected = vec![receipt(&turn, target, outcome)];
    ensure_eq(
        "what the sender is told",
        told.collect::<Vec<_>>(),
        expected,
    )
}

async fn a_sender_is_told_that_the_receiver_does_not_exist(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (when, outcome) = (ReceiptWhen::Undeliverable, SendOutcome::UnknownInstance);
    sends_and_is_told(&node, "b", when, outcome).await?;
    let record = env.provider().instance(&"b".into()).await?;
    ensure_eq("the receiver", record, None)
}

async fn a_sender_is_told_that_the_receiver_has_ended(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn.completed("1")).await?;
    let (when, outcome) = (ReceiptWhen::Undeliverable, SendOutcome::InstanceEnded);
    sends_and_is_told(&node, "b", when, outcome).await?;
    let inbox = env.inbox_in_pages("b", 10).await?;
    ensure_eq("the inbox of the receiver", inbox, Vec::new())?;
    node.finds_no_instance("the message was dropped").await
}

async fn a_sender_is_told_that_its_message_was_delivered(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn).await?;
    let sending = node.begin("a", |turn| {
        turn.message_with_receipt("b", event_message("m"), ReceiptWhen::Always)
    });
    let (turn, _) = sending.await?;
    let ready = node.take_all(&["a", "b"]).await?;
    let told = ready[0]
        .messages
        .iter()
        .map(|told| Some(told.message.clone()));
    let expected = vec![receipt(&turn, "b", SendOutcome::Accepted)];
    ensure_eq(
        "what the sender is told",
        told.collect::<Vec<_>>(),
        expected,
    )?;
    ensure_eq("the message", message_ids(&ready[1]), vec!["m"])
}

async fn a_sender_that_asks_for_failures_hears_of_no_delivery(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn).await?;
    node.begin("a", |turn| {
        turn.message_with_receipt("b", event_message("m1"), ReceiptWhen::Undeliverable)
            .message_with_receipt("b", event_message("m2"), ReceiptWhen::Always)
    })
    .await?;
    let ready = node.take_all(&["a", "b"]).await?;
    let told = message_ids(&ready[0]);
    ensure_eq("what the sender is told", told, vec!["receipt/1/3"])?;
    ensure_eq("the messages", message_ids(&ready[1]), vec!["m1", "m2"])
}

async fn an_instance_can_message_itself_with_a_receipt(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.message_with_receipt("a", event_message("m"), ReceiptWhen::Always)
    })
    .await?;
    let ready = node.take("a").await?;
    let told = message_ids(&ready);
    ensure_eq("the messages", told, vec!["m", "receipt/1/2"])
}

async fn a_receipt_comes_once(env: Env) -> CheckResult {
    let node = env.node().await?;
    let sending = node.begin("a", |turn| {
        turn.message_with_receipt("b", event_message("m"), ReceiptWhen::Always)
    });
    let (turn, _) = sending.await?;
    let again = node.commit(turn).await?;
    ensure(
        matches!(again, CommitOutcome::AlreadyDone(_)),
        "a commit that was applied",
        "that it was done already",
        again,
    )?;
    let ready = node.take("a").await?;
    ensure_eq("the receipts", message_ids(&ready), vec!["receipt/1/2"])?;
    let consuming = node.turn(&ready).consuming(&ready.messages).build();
    node.commit_done(consuming).await?;
    node.finds_no_instance("the receipt was consumed").await
}

async fn a_receipt_reaches_a_sender_that_keeps_its_lease(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.message_with_receipt("b", event_message("m"), ReceiptWhen::Always)
            .keeping_the_lease()
    })
    .await?;
    let ready = node.take("a").await?;
    ensure_eq("the receipts", message_ids(&ready), vec!["receipt/1/2"])
}

async fn a_sender_that_has_ended_gets_no_receipt(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn).await?;
    node.begin("a", |turn| {
        turn.message_with_receipt("b", event_message("m"), ReceiptWhen::Always)
            .completed("1")
    })
    .await?;
    let ready = node.take("b").await?;
    ensure_eq("the message", message_ids(&ready), vec!["m"])?;
    node.finds_no_instance("the sender has ended").await
}

async fn a_client_gets_no_receipt(env: Env) -> CheckResult {
    env.start("a").await?;
    let source = SourceEvent::new(ExecutionId::FIRST, EventId::FIRST);
    let asking = OutgoingMessage::new("a".into(), event_message("m"))
        .receipt(ReceiptRequest::always(source));
    let answer = env.provider().send(asking).await;
    ensure(
        matches!(answer, Err(ProviderError::Invalid { .. })),
        "a message of a client with a receipt",
        "that it is invalid",
        &answer,
    )?;
    let inbox = env.inbox_in_pages("a", 10).await?;
    ensure_eq("the messages", inbox.len(), 1)
}
