//! The table of all events.
//!
//! A row is `number class Name { fields }`. The number is on disk and is never given to
//! another kind; an output that records a command has the kind of the command after its
//! class. A field is `name: Type as role`: the role says what the field is to replay, to
//! limits, to payload codecs and to people. Every event has an `event_id` before its
//! fields.

/// Passes the table of events to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __event_table {
    ($define:ident) => {
        $define! {
            /// The execution began. Always event 1.
            1 Input OrchestrationStarted {
                /// The orchestration.
                name: Name as role::name("orchestration"),
                /// The version that this execution runs on until its end.
                version: Version as role::VERSION,
                /// What it was started with.
                input: Payload as role::recorded("input"),
                /// The parent that waits for it, if it is a sub-orchestration.
                parent: Option<Parent> as role::Fact,
                /// What the execution before it left behind; `None` is nothing. Boxed: every
                /// event in memory has the size of the largest.
                carried: Option<Box<Carried>> as role::LeftBehind,
            }

            /// The code called an activity. A full record of the work.
            2 Output(Activity) ActivityScheduled {
                /// The activity.
                name: Name as role::name("activity"),
                /// What it is called with.
                input: Payload as role::INPUT,
                /// The execution that called it.
                execution_id: ExecutionId as role::Fact,
                /// How it is to be run.
                options: ActivityOptions as role::Options,
            }

            /// An activity succeeded.
            3 Input ActivityCompleted {
                /// Its `ActivityScheduled`.
                source_event_id: EventId as role::source(EventKind::ActivityScheduled),
                /// What it returned.
                result: Payload as role::recorded("result"),
            }

            /// An activity failed for good.
            4 Input ActivityFailed {
                /// Its `ActivityScheduled`.
                source_event_id: EventId as role::source(EventKind::ActivityScheduled),
                /// Why.
                failure: Failure as role::FAILURE,
            }

            /// The code gave up an activity that had not finished.
            5 Output ActivityCancelRequested {
                /// Its `ActivityScheduled`.
                source_event_id: EventId as role::source(EventKind::ActivityScheduled),
            }

            /// The code set a timer.
            6 Output(Timer) TimerCreated {
                /// When it is due, by the store's clock.
                fire_at_ms: u64 as role::DueTime,
                /// The execution that set it.
                execution_id: ExecutionId as role::Fact,
            }

            /// A timer fired.
            7 Input TimerFired {
                /// Its `TimerCreated`.
                source_event_id: EventId as role::source(EventKind::TimerCreated),
                /// When it was due.
                fire_at_ms: u64 as role::Fact,
            }

            /// The code gave up a timer that had not fired.
            8 Output TimerCancelled {
                /// Its `TimerCreated`.
                source_event_id: EventId as role::source(EventKind::TimerCreated),
            }

            /// The code began to wait for an external event.
            9 Output(External) ExternalSubscribed {
                /// The name it waits for.
                name: Name as role::name("event"),
            }

            /// A client or another instance raised an event. It is matched by name: the
            /// sender knows no event ids.
            10 Input ExternalEvent {
                /// The name it was raised with.
                name: Name as role::name("event"),
                /// What it carries.
                data: Payload as role::recorded("event data"),
                /// The sender's id of it.
                message_id: MessageId as role::Fact,
            }

            /// The code started a sub-orchestration and waits for it.
            11 Output(SubOrchestration) SubOrchestrationScheduled {
                /// The orchestration.
                name: Name as role::name("orchestration"),
                /// The version asked for; `None` is the newest.
                version: Option<Version> as role::VERSION,
                /// The child's instance id.
                instance: InstanceId as role::StartedInstance,
                /// What it is started with.
                input: Payload as role::INPUT,
                /// The execution that started it.
                execution_id: ExecutionId as role::Fact,
            }

            /// A sub-orchestration succeeded.
            12 Input SubOrchestrationCompleted {
                /// Its `SubOrchestrationScheduled`.
                source_event_id: EventId as role::source(EventKind::SubOrchestrationScheduled),
                /// What it returned.
                result: Payload as role::recorded("result"),
            }

            /// A sub-orchestration failed, or could not be started.
            13 Input SubOrchestrationFailed {
                /// Its `SubOrchestrationScheduled`.
                source_event_id: EventId as role::source(EventKind::SubOrchestrationScheduled),
                /// Why.
                failure: Failure as role::FAILURE,
            }

            /// The code gave up a sub-orchestration that had not finished.
            14 Output SubOrchestrationCancelRequested {
                /// Its `SubOrchestrationScheduled`.
                source_event_id: EventId as role::source(EventKind::SubOrchestrationScheduled),
            }

            /// The code started another orchestration and does not wait for it.
            15 Output(Detached) OrchestrationChained {
                /// The orchestration.
                name: Name as role::name("orchestration"),
                /// The version asked for; `None` is the newest.
                version: Option<Version> as role::VERSION,
                /// Its instance id.
                instance: InstanceId as role::StartedInstance,
                /// What it is started with.
                input: Payload as role::INPUT,
                /// How it is started; `None` is plainly.
                options: Option<Box<DetachedOptions>> as role::StartedHow,
            }

            /// A recorded side effect ran.
            16 Output(Run) OperationCompleted {
                /// The name that the code gave it.
                name: Name as role::name("operation"),
                /// What it returned.
                result: Result<Payload, Failure> as role::recorded("result"),
            }

            /// The code set a state key.
            17 Output(State) StateSet {
                /// The key.
                key: Name as role::STATE_KEY,
                /// Its new value.
                value: Payload as role::recorded("state"),
            }

            /// The code cleared a state key.
            18 Output(State) StateCleared {
                /// The key.
                key: Name as role::STATE_KEY,
            }

            /// The code created a promise.
            19 Output(Promise) PromiseCreated {
                /// The name that the code gave it.
                name: Name as role::name("promise"),
                /// Which promise of the execution it is, from 0.
                number: u64 as role::PromiseNumber,
            }

            /// A promise was resolved.
            20 Input PromiseResolved {
                /// Its `PromiseCreated`.
                source_event_id: EventId as role::source(EventKind::PromiseCreated),
                /// The value.
                value: Payload as role::recorded("result"),
            }

            /// A promise was rejected.
            21 Input PromiseRejected {
                /// Its `PromiseCreated`.
                source_event_id: EventId as role::source(EventKind::PromiseCreated),
                /// Why.
                failure: Failure as role::FAILURE,
            }

            /// The code sent an event to another instance.
            22 Output(Message) ExternalEventSent {
                /// The instance.
                target: InstanceId as role::Target,
                /// The name of the event.
                name: Name as role::name("event"),
                /// What it carries.
                data: Payload as role::recorded("event data"),
                /// Whether the code waits until it is told that the event was delivered.
                awaits_receipt: bool as role::AwaitsReceipt,
            }

            /// The code resolved or rejected a promise of another instance.
            23 Output(Message) PromiseResolutionSent {
                /// The promise.
                target: PromiseToken as role::Target,
                /// The value, or why there is none.
                resolution: Result<Payload, Failure> as role::recorded("result"),
            }

            /// The code set its custom status.
            24 Output(Status) CustomStatusSet {
                /// The status.
                status: Payload as role::recorded("custom status"),
            }

            /// The code took the new path of a patch.
            25 Output(Patch) PatchMarked {
                /// The patch.
                patch_id: Name as role::PATCH,
            }

            /// A client or the parent asked the execution to stop. The code decides how.
            26 Input OrchestrationCancelRequested {
                /// Why.
                reason: String as role::Reason,
            }

            /// The code returned a value.
            27 Terminal OrchestrationCompleted {
                /// The value.
                output: Payload as role::returned("output"),
            }

            /// The code returned a failure.
            28 Terminal OrchestrationFailed {
                /// The failure.
                failure: Failure as role::returned("failure"),
            }

            /// The code goes on in a new execution with an empty history.
            29 Terminal OrchestrationContinuedAsNew {
                /// What the next execution is started with.
                input: Payload as role::returned("input"),
                /// The version of the next execution; `None` is the newest.
                version: Option<Version> as role::NEXT_VERSION,
            }

            /// The execution was ended from outside: terminated, or failed by policy
            /// after a panic or a violation.
            30 Forced OrchestrationTerminated {
                /// Why.
                failure: Failure as role::FAILURE,
            }

            /// The code cleared its custom status.
            31 Output(Status) CustomStatusCleared {}

            /// An event that the code sent is in the inbox of its receiver.
            37 Input ExternalEventDelivered {
                /// Its `ExternalEventSent`.
                source_event_id: EventId as role::source(EventKind::ExternalEventSent),
            }

            /// An event that the code sent had no receiver: the instance does not exist, or
            /// has ended.
            38 Input ExternalEventUndeliverable {
                /// Its `ExternalEventSent`.
                source_event_id: EventId as role::source(EventKind::ExternalEventSent),
                /// Why.
                failure: Failure as role::FAILURE,
            }

            /// The code set an attribute.
            40 Output(Attribute) AttributeSet {
                /// The attribute.
                name: Name as role::ATTRIBUTE,
                /// Its new value.
                value: AttributeValue as role::ATTRIBUTE_VALUE,
            }

            /// The code cleared an attribute.
            41 Output(Attribute) AttributeCleared {
                /// The attribute.
                name: Name as role::ATTRIBUTE,
            }

            /// The code listens for all external events of a name, one after the other.
            50 Output(External) ExternalEventsSubscribed {
                /// The name of the events.
                name: Name as role::name("event"),
            }
        }
    };
}
