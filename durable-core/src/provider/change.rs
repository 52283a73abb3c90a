//! Changes of a store, and which of them end which wait.

use alloc::vec::Vec;

use super::code::{RequiredCode, ServedCode};
use super::lease::SessionId;
use super::wake::WakeTopic;
use crate::text::{InstanceId, Name};

/// Something that changes in a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Anything may have changed, such as by another process.
    Everything,
    /// A free instance that needs this code has become ready, or will at a time that no
    /// session knows yet.
    FreeInstance(RequiredCode),
    /// Work has become ready, or will at a time that no session knows yet.
    Work {
        /// The queue that it is in; `None` is the default queue.
        queue: Option<Name>,
        /// The activity.
        activity: Name,
    },
    /// The first timer that is due is another.
    Timers,
    /// An instance that this session holds has messages, or the session has ended.
    Session(SessionId),
    /// Work that this session holds was cancelled.
    Cancellations(SessionId),
    /// An instance's status, execution, custom status or what blocks it changed.
    Instance(InstanceId),
    /// A view of an instance changed.
    Views(InstanceId),
    /// A stream of an instance has new items.
    Streams(InstanceId),
    /// An instance ended or was suspended.
    Stop(InstanceId),
}

/// What a task can wait for. A change of one code also counts for the sessions that run
/// any code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Change(Change),
    AnyFreeInstance,
    AnyWork(Option<Name>),
}

impl Subject {
    /// What a change is a change of.
    pub(super) fn of_change(change: Change) -> impl Iterator<Item = Self> {
        let for_any_code = match &change {
            Change::FreeInstance(_) => Some(Self::AnyFreeInstance),
            Change::Work { queue, .. } => Some(Self::AnyWork(queue.clone())),
            Change::Everything
            | Change::Timers
            | Change::Session(_)
            | Change::Cancellations(_)
            | Change::Instance(_)
            | Change::Views(_)
            | Change::Streams(_)
            | Change::Stop(_) => None,
        };
        [Self::Change(change)].into_iter().chain(for_any_code)
    }

    /// What ends a wait for this topic by a session whose node has this code; `None` is
    /// any code.
    pub(super) fn of_topic(
        session: Option<SessionId>,
        code: Option<&ServedCode>,
        topic: &WakeTopic,
    ) -> Vec<Self> {
        let mut subjects = match topic {
            WakeTopic::Instances => Self::of_instances(code),
            WakeTopic::Work(queues) => {
                let of_queue = |queue| Self::of_queue(queue, code);
                queues.iter().flat_map(of_queue).collect()
            }
            WakeTopic::Cancellations => {
                let cancelled = session.map(Change::Cancellations);
                cancelled.map(Self::Change).into_iter().collect()
            }
            WakeTopic::Timers => [Self::Change(Change::Timers)].into(),
            WakeTopic::Instance(id) => [Self::Change(Change::Instance(id.clone()))].into(),
            WakeTopic::Views(id) => [Change::Views(id.clone()), Change::Stop(id.clone())]
                .map(Self::Change)
                .into(),
            WakeTopic::Streams(id) => [Change::Streams(id.clone()), Change::Stop(id.clone())]
                .map(Self::Change)
                .into(),
            WakeTopic::Stop(id) => [Self::Change(Change::Stop(id.clone()))].into(),
        };
        if matches!(topic, WakeTopic::Instances) {
            let session = session.map(Change::Session);
            subjects.extend(session.map(Self::Change));
        }
        subjects.push(Self::Change(Change::Everything));
        subjects
    }

    fn of_instances(code: Option<&ServedCode>) -> Vec<Self> {
        let Some(code) = code else {
            return [Self::AnyFreeInstance].into();
        };
        let mut required = Vec::from([RequiredCode::None]);
        for (name, versions) in &code.orchestrations {
            required.push(RequiredCode::new(name, None));
            let versions = versions.iter().cloned();
            required.extend(versions.map(|version| RequiredCode::new(name, Some(version))));
        }
        let changes = required.into_iter().map(Change::FreeInstance);
        changes.map(Self::Change).collect()
    }

    fn of_queue(queue: &Option<Name>, code: Option<&ServedCode>) -> Vec<Self> {
        let Some(code) = code else {
            return [Self::AnyWork(queue.clone())].into();
        };
        let change = |activity: &Name| Change::Work {
            queue: queue.clone(),
            activity: activity.clone(),
        };
        let activities = code.activities.iter();
        activities.map(change).map(Self::Change).collect()
    }

    /// Whether there are as many of these as there are instances or sessions.
    pub(super) const fn is_of_one(&self) -> bool {
        match self {
            Self::Change(change) => match change {
                Change::Session(_)
                | Change::Cancellations(_)
                | Change::Instance(_)
                | Change::Views(_)
                | Change::Streams(_)
                | Change::Stop(_) => true,
                Change::Everything
                | Change::FreeInstance(_)
                | Change::Work { .. }
                | Change::Timers => false,
            },
            Self::AnyFreeInstance | Self::AnyWork(_) => false,
        }
    }
}
