//! One line about an event, for people. Payloads stay out: they may be secret
//! and they may be long.

use core::fmt;

use super::table::Event;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        match self {
            Self::OrchestrationStarted { name, version, .. } => write!(f, " `{name}` {version}"),
            Self::ActivityScheduled { name, .. }
            | Self::ExternalSubscribed { name, .. }
            | Self::ExternalEvent { name, .. }
            | Self::OperationCompleted { name, .. } => write!(f, " `{name}`"),
            Self::SubOrchestrationScheduled { name, instance, .. }
            | Self::OrchestrationChained { name, instance, .. } => {
                write!(f, " `{name}` as `{instance}`")
            }
            Self::TimerCreated { fire_at_ms, .. } => write!(f, " due at {fire_at_ms} ms"),
            Self::StateSet { key, .. } | Self::StateCleared { key, .. } => write!(f, " `{key}`"),
            Self::PromiseCreated { name, number, .. } => write!(f, " `{name}` ({number})"),
            Self::ExternalEventSent { target, name, .. } => write!(f, " `{name}` to `{target}`"),
            Self::PromiseResolutionSent { target, .. } => write!(f, " to `{target}`"),
            Self::PatchMarked { patch_id, .. } => write!(f, " `{patch_id}`"),
            Self::OrchestrationCancelRequested { reason, .. } => write!(f, " ({reason})"),
            Self::ActivityFailed { failure, .. }
            | Self::SubOrchestrationFailed { failure, .. }
            | Self::PromiseRejected { failure, .. }
            | Self::OrchestrationFailed { failure, .. }
            | Self::OrchestrationTerminated { failure, .. } => write!(f, " ({})", failure.kind),
            _ => Ok(()),
        }?;
        match self.source_event_id() {
            Some(source) => write!(f, " of event {source}"),
            None => Ok(()),
        }
    }
}
