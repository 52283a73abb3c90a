//! Why an environment could not be had, or an instance not be waited for.

use std::fmt;

use durable_core::provider::ProviderError;
use durable_core::{EventId, Failure, InstanceId};
use durable_runtime::{ClientError, RegistryError, StartError, SuspendedChild};

/// Why an environment could not be had, or an instance not be waited for.
///
/// ```
/// use durable_runtime::{EventName, OrchestrationContext, Registry};
/// use durable_testkit::{EnvironmentError, TestEnvironment};
///
/// const APPROVED: EventName<bool> = EventName::new("approved");
///
/// let registry = Registry::builder()
///     .orchestration("order", |ctx: OrchestrationContext, (): ()| async move {
///         ctx.external_event(APPROVED).await
///     })
///     .build()?;
/// TestEnvironment::builder(registry).run(async |env| {
///     let order = env.start::<(), bool>("order", "order-7", &()).await.unwrap();
///     // No approval comes.
///     let error = env.wait(&order).await.unwrap_err();
///     assert!(matches!(error, EnvironmentError::Waiting { .. }));
/// });
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The code could not be registered.
    Registry(RegistryError),
    /// The node did not start.
    Start(StartError),
    /// The store refused.
    Provider(ProviderError),
    /// The instance ended badly, or could not be asked.
    Client(ClientError),
    /// The instance is suspended: its code panicked, violates determinism or waits
    /// for something that is not durable.
    Suspended {
        /// The instance.
        instance: InstanceId,
        /// Why.
        failure: Failure,
    },
    /// The instance waits for code that no node of the environment has.
    Blocked {
        /// The instance.
        instance: InstanceId,
        /// Which code.
        failure: Failure,
    },
    /// The instance still waits when the timeout of the environment has passed.
    Waiting {
        /// The instance.
        instance: InstanceId,
        /// Its last event.
        last_event_id: EventId,
        /// Its history, a line for each event.
        history: String,
        /// The suspended instances that it waits for.
        suspended_children: Vec<SuspendedChild>,
    },
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(error) => error.fmt(f),
            Self::Start(error) => error.fmt(f),
            Self::Provider(error) => error.fmt(f),
            Self::Client(error) => error.fmt(f),
            Self::Suspended { instance, failure } => {
                write!(f, "instance `{instance}` is suspended: {failure}")
            }
            Self::Blocked { instance, failure } => {
                write!(f, "instance `{instance}` cannot go on: {failure}")
            }
            Self::Waiting {
                instance,
                last_event_id,
                history,
                suspended_children,
            } => {
                write!(
                    f,
                    "instance `{instance}` waits for something after event \
                     {last_event_id}:\n{history}"
                )?;
                for child in suspended_children {
                    let SuspendedChild {
                        instance, failure, ..
                    } = child;
                    write!(f, "\nits child `{instance}` is suspended: {failure}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for EnvironmentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Registry(error) => Some(error),
            Self::Start(error) => Some(error),
            Self::Provider(error) => Some(error),
            Self::Client(error) => Some(error),
            Self::Suspended { failure, .. } | Self::Blocked { failure, .. } => Some(failure),
            Self::Waiting { .. } => None,
        }
    }
}

impl From<RegistryError> for EnvironmentError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

impl From<StartError> for EnvironmentError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

impl From<ProviderError> for EnvironmentError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl From<ClientError> for EnvironmentError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}
