//! What replay compares, row by row: the same command is accepted, each field
//! that is compared is refused when it differs, each other field may differ.
//!
//! The first nine tests are the rows of the validation matrix from which this
//! design started; the others are the rows that it did not have.

use std::time::Duration;

use durable_core::{
    ActivityOptions, DetachedOptions, Difference, Ending, Event, EventId, ExecutionId, Failure,
    Payload,
};

use super::driver::Driver;
use super::events::{
    activity_cancelled, attribute_cleared, attribute_set, chained, child_cancelled,
    child_scheduled, continued, event_sent, event_sent_with_receipt, failure, gave_up, ok,
    operation, patch_marked, promise_created, resolution_sent, returned, scheduled, state_cleared,
    state_set, status_set, subscribed, timer_cancelled, timer_created,
};
use super::past::Past;

/// One command: the events before it, how the code makes it, and what stands in
/// the history for it.
struct Row {
    before: Vec<Event>,
    code: fn(&mut Driver),
    recorded: Event,
}

impl Row {
    fn new(code: fn(&mut Driver), recorded: Event) -> Self {
        Self {
            before: Vec::new(),
            code,
            recorded,
        }
    }

    /// The command follows these, which the code emits in polls before.
    fn after(mut self, before: impl IntoIterator<Item = Event>) -> Self {
        self.before = before.into_iter().collect();
        self
    }

    /// Runs the code over a history that has this event for the command.
    fn over(&self, recorded: Event) -> Driver {
        let past = Past::of(self.before.iter().cloned().chain([recorded]));
        let mut code = Driver::after(past);
        (self.code)(&mut code);
        code
    }

    fn event_id(&self) -> u64 {
        self.before.len() as u64 + 2
    }

    /// The same is accepted, and something of another kind is not.
    fn check(&self) -> &Self {
        self.accepts(self.recorded.clone());
        let other = match &self.recorded {
            Event::CustomStatusSet { .. } => subscribed("another kind"),
            _ => status_set("\"another kind\""),
        };
        self.refuses(other, Difference::Kind)
    }

    fn accepts(&self, recorded: Event) -> &Self {
        let mut code = self.over(recorded);
        code.flush();
        code.done();
        self
    }

    fn refuses(&self, recorded: Event, difference: Difference) -> &Self {
        let mut code = self.over(recorded);
        code.is_refused_at(self.event_id(), difference);
        self
    }
}

#[test]
fn a_task_is_compared_by_name_and_input() {
    let other_options = Event::ActivityScheduled {
        event_id: EventId::UNASSIGNED,
        name: "charge".into(),
        input: r#"{"amount":1,"to":"x"}"#.into(),
        execution_id: ExecutionId::new(9),
        options: ActivityOptions::default()
            .queue("slow")
            .total_timeout(Duration::from_millis(1)),
    };
    Row::new(
        |code| drop_key(code.activity("charge", r#"{"amount":1,"to":"x"}"#)),
        scheduled("charge", r#"{"amount":1,"to":"x"}"#),
    )
    .check()
    .refuses(
        scheduled("refund", r#"{"amount":1,"to":"x"}"#),
        Difference::Name,
    )
    .refuses(
        scheduled("charge", r#"{"amount":2,"to":"x"}"#),
        Difference::Input,
    )
    .refuses(scheduled("charge", ""), Difference::Input)
    .accepts(scheduled("charge", r#"{ "to":"x", "amount":1 }"#))
    .accepts(other_options);
}

#[test]
fn a_child_is_compared_by_name_instance_and_input() {
    let other_version = Event::SubOrchestrationScheduled {
        event_id: EventId::UNASSIGNED,
        name: "ship".into(),
        version: Some("2.0.0".into()),
        instance: "ship-1".into(),
        input: "[1,2]".into(),
        execution_id: ExecutionId::new(9),
    };
    Row::new(
        |code| drop_key(code.child("ship", Some("ship-1"), "[1,2]")),
        child_scheduled("ship", "ship-1", "[1,2]"),
    )
    .check()
    .refuses(child_scheduled("send", "ship-1", "[1,2]"), Difference::Name)
    .refuses(
        child_scheduled("ship", "ship-2", "[1,2]"),
        Difference::Instance,
    )
    .refuses(
        child_scheduled("ship", "order-7/1/2", "[1,2]"),
        Difference::Instance,
    )
    .refuses(
        child_scheduled("ship", "ship-1", "[2,1]"),
        Difference::Input,
    )
    .accepts(child_scheduled("ship", "ship-1", "[1, 2]"))
    .accepts(other_version);
}

#[test]
fn an_operation_is_compared_by_name() {
    let run = |code: &mut Driver| {
        let run = code.run("now");
        code.flush();
        assert!(!code.cursor.grant().unwrap().unwrap().executes);
        let _ = code.cursor.poll(run);
    };
    Row::new(run, operation("now", ok("1")))
        .check()
        .refuses(operation("then", ok("1")), Difference::Name)
        .accepts(operation("now", ok("2")))
        .accepts(operation("now", Err(failure("no"))));
}

#[test]
fn setting_state_is_compared_by_key() {
    Row::new(|code| code.set("k", "1"), state_set("k", "1"))
        .check()
        .refuses(state_set("l", "1"), Difference::Key)
        .refuses(state_cleared("k"), Difference::Kind)
        .accepts(state_set("k", "2"));
}

#[test]
fn clearing_state_is_compared_by_key() {
    Row::new(|code| code.clear("k"), state_cleared("k"))
        .check()
        .refuses(state_cleared("l"), Difference::Key)
        .refuses(state_set("k", "1"), Difference::Kind);
}

#[test]
fn starting_a_timer_is_compared_by_kind() {
    let other_execution = Event::TimerCreated {
        event_id: EventId::UNASSIGNED,
        fire_at_ms: 5_000,
        execution_id: ExecutionId::new(9),
    };
    Row::new(|code| drop_key(code.timer(5_000)), timer_created(5_000))
        .check()
        .accepts(timer_created(6_000))
        .accepts(other_execution);
}

#[test]
fn cancelling_a_timer_is_compared_by_its_source() {
    let cancel = |code: &mut Driver| {
        let timer = code.timer(5_000);
        code.timer(6_000);
        code.flush();
        code.drop(timer);
    };
    Row::new(cancel, timer_cancelled(2))
        .after([timer_created(5_000), timer_created(6_000)])
        .check()
        .refuses(timer_cancelled(3), Difference::Source)
        .refuses(activity_cancelled(2), Difference::Kind);
}

#[test]
fn creating_a_promise_is_compared_by_name_and_number() {
    Row::new(
        |code| drop_key(code.promise("approval").0),
        promise_created("approval", 0),
    )
    .check()
    .refuses(promise_created("payment", 0), Difference::Name)
    .refuses(promise_created("approval", 1), Difference::Number);
}

#[test]
fn resolving_a_promise_is_compared_by_its_target() {
    let resolve = |code: &mut Driver| code.resolve("other/3/Promise(4)", ok("1"));
    Row::new(resolve, resolution_sent("other/3/Promise(4)", ok("1")))
        .check()
        .refuses(
            resolution_sent("else/3/Promise(4)", ok("1")),
            Difference::Target,
        )
        .refuses(
            resolution_sent("other/2/Promise(4)", ok("1")),
            Difference::Target,
        )
        .refuses(
            resolution_sent("other/3/Promise(5)", ok("1")),
            Difference::Target,
        )
        .accepts(resolution_sent("other/3/Promise(4)", ok("2")))
        .accepts(resolution_sent("other/3/Promise(4)", Err(failure("no"))));
}

#[test]
fn a_detached_start_is_compared_by_name_instance_and_input() {
    let mut options = DetachedOptions::default();
    options.deadline_ms = Some(7);
    let other_version = Event::OrchestrationChained {
        event_id: EventId::UNASSIGNED,
        name: "report".into(),
        version: Some("2.0.0".into()),
        instance: "report-1".into(),
        input: "1".into(),
        options: options.unless_plain(),
    };
    Row::new(
        |code| code.start_detached("report", Some("report-1"), "1"),
        chained("report", "report-1", "1"),
    )
    .check()
    .refuses(chained("notify", "report-1", "1"), Difference::Name)
    .refuses(chained("report", "report-2", "1"), Difference::Instance)
    .refuses(chained("report", "report-1", "2"), Difference::Input)
    .accepts(chained("report", "report-1", " 1"))
    .accepts(other_version);
}

#[test]
fn a_subscription_is_compared_by_name() {
    Row::new(|code| drop_key(code.external("go")), subscribed("go"))
        .check()
        .refuses(subscribed("stop"), Difference::Name);
}

#[test]
fn a_sent_event_is_compared_by_target_and_name() {
    Row::new(
        |code| code.send("other", "go", "1"),
        event_sent("other", "go", "1"),
    )
    .check()
    .refuses(event_sent("else", "go", "1"), Difference::Target)
    .refuses(event_sent("other", "stop", "1"), Difference::Name)
    .refuses(
        event_sent_with_receipt("other", "go", "1"),
        Difference::Receipt,
    )
    .accepts(event_sent("other", "go", "2"));
    Row::new(
        |code| {
            code.send_with_receipt("other", "go", "1");
        },
        event_sent_with_receipt("other", "go", "1"),
    )
    .check()
    .refuses(event_sent("other", "go", "1"), Difference::Receipt)
    .refuses(
        event_sent_with_receipt("else", "go", "1"),
        Difference::Target,
    );
}

#[test]
fn a_custom_status_is_compared_by_kind() {
    Row::new(|code| code.status("\"a\""), status_set("\"a\""))
        .check()
        .accepts(status_set("\"b\""));
}

#[test]
fn an_attribute_is_compared_by_its_name() {
    let set = |code: &mut Driver| code.attribute("customer", "c-17");
    Row::new(set, attribute_set("customer", "c-17"))
        .check()
        .refuses(attribute_set("region", "c-17"), Difference::Name)
        .accepts(attribute_set("customer", "c-18"));
}

#[test]
fn a_cleared_attribute_is_compared_by_its_name() {
    let clear = |code: &mut Driver| code.no_attribute("customer");
    Row::new(clear, attribute_cleared("customer"))
        .check()
        .refuses(attribute_cleared("region"), Difference::Name);
}

/// A mark of another patch is no answer, so the code is on its old path.
#[test]
fn a_patch_mark_is_compared_by_its_id() {
    let take = |code: &mut Driver| {
        let patch = code.patch("v2");
        code.flush();
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, patch);
        let _ = code.cursor.poll(patch);
    };
    let row = Row::new(take, patch_marked("v2"));
    row.accepts(patch_marked("v2"));
    let mut code = row.over(patch_marked("v3"));
    code.flush();
    code.misses(2);
}

#[test]
fn cancelling_an_activity_or_a_child_is_compared_by_its_source() {
    let cancel = |code: &mut Driver| {
        let activity = code.activity("a", "1");
        code.activity("b", "1");
        code.flush();
        code.drop(activity);
    };
    Row::new(cancel, activity_cancelled(2))
        .after([scheduled("a", "1"), scheduled("b", "1")])
        .check()
        .refuses(activity_cancelled(3), Difference::Source);
    let cancel = |code: &mut Driver| {
        let child = code.child("a", None, "1");
        code.child("b", None, "1");
        code.flush();
        code.drop(child);
    };
    let children = ["a", "b"].into_iter().zip(["order-7/1/2", "order-7/1/3"]);
    Row::new(cancel, child_cancelled(2))
        .after(children.map(|(name, id)| child_scheduled(name, id, "1")))
        .check()
        .refuses(child_cancelled(3), Difference::Source);
}

#[test]
fn an_end_is_compared_by_kind_and_payload() {
    Row::new(|code| code.returns("[1]"), returned("[1]"))
        .check()
        .refuses(returned("[2]"), Difference::Ending)
        .accepts(returned("[ 1 ]"));
    let fail = |code: &mut Driver| {
        let failure = failure("no");
        code.cursor.finish(Ending::Failed { failure });
    };
    Row::new(fail, gave_up(failure("no")))
        .check()
        .refuses(gave_up(failure("never")), Difference::Ending)
        .refuses(gave_up(Failure::cancelled("no")), Difference::Ending);
    let go_on = |code: &mut Driver| {
        let (input, version) = (Payload::from("[8]"), None);
        code.cursor
            .finish(Ending::ContinuedAsNew { input, version });
    };
    let other_version = Event::OrchestrationContinuedAsNew {
        event_id: EventId::UNASSIGNED,
        input: "[8]".into(),
        version: Some("2.0.0".into()),
    };
    Row::new(go_on, continued("[8]"))
        .check()
        .refuses(continued("[9]"), Difference::Ending)
        .refuses(other_version, Difference::Ending)
        .accepts(continued("[ 8]"));
}

/// The rows are about the command; its operation stays open.
fn drop_key(_: durable_core::OpKey) {}
