//! Why a node did not start.

use std::fmt;

use durable_core::provider::ProviderError;

use crate::options::RuntimeOptions;
use crate::registry::Registry;

/// Why a node did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// With this registry and these options the node would run nothing. A process that only
    /// starts and reads instances needs a [`Client`](crate::Client) and no node.
    NothingToRun {
        /// Why it would run no orchestration.
        orchestrations: IdleReason,
        /// Why it would run no activity.
        activities: IdleReason,
    },
    /// The store did not open a session.
    Provider(ProviderError),
}

/// Why a node would run no orchestration, or no activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdleReason {
    /// None is registered.
    NoneRegistered,
    /// [`max_turns`](RuntimeOptions#structfield.max_turns), or
    /// [`max_activities`](RuntimeOptions#structfield.max_activities), is 0.
    NoneAtOnce,
    /// [`queues`](RuntimeOptions#structfield.queues) is empty.
    NoQueues,
}

impl StartError {
    /// Refuses a node that would run nothing.
    pub(crate) fn check(registry: &Registry, options: &RuntimeOptions) -> Result<(), Self> {
        let orchestrations = if registry.orchestration_names().next().is_none() {
            IdleReason::NoneRegistered
        } else if options.max_turns == 0 {
            IdleReason::NoneAtOnce
        } else {
            return Ok(());
        };
        let activities = if registry.activity_names().next().is_none() {
            IdleReason::NoneRegistered
        } else if options.max_activities == 0 {
            IdleReason::NoneAtOnce
        } else if options.queues.is_empty() {
            IdleReason::NoQueues
        } else {
            return Ok(());
        };
        Err(Self::NothingToRun {
            orchestrations,
            activities,
        })
    }
}

impl IdleReason {
    /// The reason in words; `limit` is the option that is 0.
    const fn describe(self, limit: &'static str) -> &'static str {
        match self {
            Self::NoneRegistered => "none is registered",
            Self::NoneAtOnce => limit,
            Self::NoQueues => "`queues` is empty",
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToRun {
                orchestrations,
                activities,
            } => write!(
                f,
                "the node would run nothing: no orchestration ({}) and no activity ({}); to start \
                 and read instances a client is enough",
                orchestrations.describe("`max_turns` is 0"),
                activities.describe("`max_activities` is 0"),
            ),
            Self::Provider(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NothingToRun { .. } => None,
            Self::Provider(error) => Some(error),
        }
    }
}

impl From<ProviderError> for StartError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}
