//! What a node can run: orchestrations by name and version, activities by name.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use durable_core::{EventId, Failure, Limits, Name, Payload, Version};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::activity::ActivityContext;
use crate::context::OrchestrationContext;
use crate::handle::{ActivityRef, OrchestrationName, OrchestrationRef};
use crate::payload::{self, PayloadSubject};

/// The version of an orchestration that was registered without one.
pub const DEFAULT_VERSION: &str = "1.0.0";

/// What user code comes to, as JSON text.
pub(crate) type CodeFuture = Pin<Box<dyn Future<Output = Result<Payload, Failure>> + Send>>;

type OrchestrationCode = Arc<dyn Fn(OrchestrationContext, Payload) -> CodeFuture + Send + Sync>;
type ActivityCode = Arc<dyn Fn(ActivityContext, Payload) -> CodeFuture + Send + Sync>;

/// The orchestrations and activities that a node can run.
///
/// ```
/// use durable_runtime::{Activity, ActivityContext, Failure, Orchestration};
/// use durable_runtime::{OrchestrationContext, Registry};
///
/// const GREET: Activity<String, String> = Activity::new("greet");
/// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
///
/// async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
///     ctx.activity(GREET, &name).await
/// }
///
/// async fn greet(_: ActivityContext, name: String) -> Result<String, Failure> {
///     Ok(format!("Hello, {name}!"))
/// }
///
/// let registry = Registry::builder()
///     .orchestration(HELLO, hello)
///     .activity(GREET, greet)
///     .build()?;
/// # let _ = registry;
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    orchestrations: BTreeMap<Name, BTreeMap<semver::Version, RegisteredOrchestration>>,
    activities: BTreeMap<Name, ActivityCode>,
}

/// An orchestration with the texts that its executions share.
#[derive(Clone)]
pub(crate) struct RegisteredOrchestration {
    pub(crate) name: Name,
    pub(crate) version: Version,
    pub(crate) code: OrchestrationCode,
}

/// Collects what a node can run.
#[derive(Debug, Default)]
#[must_use = "nothing is registered before `build`"]
pub struct RegistryBuilder {
    registry: Registry,
    error: Option<RegistryError>,
}

/// Why something could not be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name and version are taken.
    DuplicateOrchestration {
        /// The name.
        name: Name,
        /// The version.
        version: Version,
    },
    /// The name is taken.
    DuplicateActivity {
        /// The name.
        name: Name,
    },
    /// The version is not of the form `1.2.3`.
    InvalidVersion {
        /// The orchestration.
        name: Name,
        /// The version.
        version: Version,
    },
    /// The name is empty or too long.
    InvalidName(durable_core::LimitError),
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateOrchestration { name, version } => write!(
                f,
                "orchestration `{name}` {version} is registered twice: \
                 give one of them another name or version"
            ),
            Self::DuplicateActivity { name } => write!(
                f,
                "activity `{name}` is registered twice: give one of them another name"
            ),
            Self::InvalidVersion { name, version } => write!(
                f,
                "the version `{version}` of orchestration `{name}` is not of the form `1.2.3`"
            ),
            Self::InvalidName(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RegistryError {}

impl RegistryBuilder {
    /// Registers an orchestration, at [`DEFAULT_VERSION`] unless the handle names
    /// a version. Running executions stay on the version that they were started with.
    ///
    /// ```
    /// # use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
    /// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
    ///
    /// async fn hello(_: OrchestrationContext, name: String) -> Result<String, Failure> {
    ///     Ok(format!("Hello, {name}!"))
    /// }
    ///
    /// async fn hi(_: OrchestrationContext, name: String) -> Result<String, Failure> {
    ///     Ok(format!("Hi, {name}!"))
    /// }
    ///
    /// let registry = Registry::builder()
    ///     .orchestration(HELLO, hello)
    ///     .orchestration(HELLO.at("2.0.0"), hi)
    ///     .build()?;
    /// assert_eq!(registry.newest_version("hello").as_deref(), Some("2.0.0"));
    /// # Ok::<(), durable_runtime::RegistryError>(())
    /// ```
    pub fn orchestration<I, O, E, F, R>(
        mut self,
        orchestration: impl OrchestrationRef<I, O>,
        code: F,
    ) -> Self
    where
        F: Fn(OrchestrationContext, I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned + Send + 'static,
        O: Serialize + 'static,
        E: Into<Failure> + 'static,
    {
        let OrchestrationName { name, version } = orchestration.into_name();
        let version = version.unwrap_or_else(|| Version::from(DEFAULT_VERSION));
        let subject = PayloadSubject::new("orchestration", name.clone());
        let code = Arc::new(code);
        let code: OrchestrationCode = Arc::new(move |context, input| {
            let (code, subject) = (Arc::clone(&code), subject.clone());
            Box::pin(async move {
                let input = payload::decode("input", &subject, Some(EventId::FIRST), &input)?;
                let limits = *context.limits();
                match code(context, input).await {
                    Ok(output) => payload::encode(&limits, "output", &subject, &output),
                    Err(error) => Err(payload::fitting(&limits, error.into())),
                }
            })
        });
        let orchestration = RegisteredOrchestration {
            name,
            version,
            code,
        };
        self.add(|registry| registry.add_orchestration(orchestration));
        self
    }

    /// Registers an activity. A closure can bring what its activities share.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use durable_runtime::{Activity, ActivityContext, Failure, Registry};
    /// const GREET: Activity<String, String> = Activity::new("greet");
    ///
    /// let greeting = Arc::new(String::from("Hello"));
    /// let registry = Registry::builder()
    ///     .activity(GREET, move |_: ActivityContext, name| {
    ///         let greeting = Arc::clone(&greeting);
    ///         async move { Ok::<_, Failure>(format!("{greeting}, {name}!")) }
    ///     })
    ///     .build()?;
    /// assert_eq!(registry.activity_names().count(), 1);
    /// # Ok::<(), durable_runtime::RegistryError>(())
    /// ```
    pub fn activity<I, O, E, F, R>(mut self, activity: impl ActivityRef<I, O>, code: F) -> Self
    where
        F: Fn(ActivityContext, I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned + Send + 'static,
        O: Serialize + 'static,
        E: Into<Failure> + 'static,
    {
        let name = activity.into_name();
        let code = activity_code(&name, code);
        self.add(|registry| registry.add_activity(name, code));
        self
    }

    /// Registers an activity in the place of the one that has its name, if there is
    /// one: in a test, or where a deployment does something differently.
    ///
    /// ```
    /// use durable_runtime::{Activity, ActivityContext, Failure, Registry};
    ///
    /// const CHARGE: Activity<u64, String> = Activity::new("charge");
    ///
    /// async fn charge(_: ActivityContext, order: u64) -> Result<String, Failure> {
    ///     Err(Failure::application("real_money", format!("order {order} was charged")))
    /// }
    ///
    /// async fn pretend(_: ActivityContext, order: u64) -> Result<String, Failure> {
    ///     Ok(format!("receipt of {order}"))
    /// }
    ///
    /// let production = Registry::builder().activity(CHARGE, charge).build()?;
    /// let test = Registry::builder()
    ///     .merge(production)
    ///     .replace_activity(CHARGE, pretend)
    ///     .build()?;
    /// assert_eq!(test.activity_names().count(), 1);
    /// # Ok::<(), durable_runtime::RegistryError>(())
    /// ```
    pub fn replace_activity<I, O, E, F, R>(
        mut self,
        activity: impl ActivityRef<I, O>,
        code: F,
    ) -> Self
    where
        F: Fn(ActivityContext, I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, E>> + Send + 'static,
        I: DeserializeOwned + Send + 'static,
        O: Serialize + 'static,
        E: Into<Failure> + 'static,
    {
        let name = activity.into_name();
        let code = activity_code(&name, code);
        self.registry.activities.remove(&name);
        self.add(|registry| registry.add_activity(name, code));
        self
    }

    /// Adds everything of another registry, for example of another crate. What both
    /// have is an error.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext, Registry, RegistryError};
    /// # fn billing() -> Registry {
    /// #     let code = |_: OrchestrationContext, n: u32| async move { Ok::<_, Failure>(n) };
    /// #     Registry::builder().orchestration("bill", code).build().unwrap()
    /// # }
    /// let registry = Registry::builder().merge(billing()).build()?;
    /// assert_eq!(registry.orchestration_names().count(), 1);
    ///
    /// let twice = Registry::builder().merge(billing()).merge(billing()).build();
    /// assert!(matches!(twice, Err(RegistryError::DuplicateOrchestration { .. })));
    /// # Ok::<(), RegistryError>(())
    /// ```
    pub fn merge(mut self, other: Registry) -> Self {
        for orchestration in other
            .orchestrations
            .into_values()
            .flat_map(BTreeMap::into_values)
        {
            self.add(|registry| registry.add_orchestration(orchestration));
        }
        for (name, code) in other.activities {
            self.add(|registry| registry.add_activity(name, code));
        }
        self
    }

    /// The registry, or the first thing that could not be registered.
    ///
    /// # Errors
    ///
    /// The first [`RegistryError`]: a name or version that is not valid or was registered
    /// before.
    pub fn build(self) -> Result<Registry, RegistryError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.registry),
        }
    }

    fn add(&mut self, add: impl FnOnce(&mut Registry) -> Result<(), RegistryError>) {
        if let Err(error) = add(&mut self.registry) {
            self.error.get_or_insert(error);
        }
    }
}

impl Registry {
    /// An empty registry to add to.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// The names of the activities.
    pub fn activity_names(&self) -> impl Iterator<Item = &Name> {
        self.activities.keys()
    }

    /// The names and versions of the orchestrations.
    pub fn orchestration_names(&self) -> impl Iterator<Item = (&Name, Version)> {
        self.orchestrations.iter().flat_map(|(name, versions)| {
            let versions = versions.values();
            versions.map(move |registered| (name, registered.version.clone()))
        })
    }

    /// The newest version of an orchestration.
    pub fn newest_version(&self, name: &str) -> Option<Version> {
        let (_, newest) = self.orchestrations.get(name)?.last_key_value()?;
        Some(newest.version.clone())
    }

    pub(crate) fn orchestration(
        &self,
        name: &str,
        version: &str,
    ) -> Option<&RegisteredOrchestration> {
        let version = semver::Version::parse(version).ok()?;
        self.orchestrations.get(name)?.get(&version)
    }

    pub(crate) fn activity(&self, name: &str) -> Option<&ActivityCode> {
        self.activities.get(name)
    }

    fn add_orchestration(
        &mut self,
        orchestration: RegisteredOrchestration,
    ) -> Result<(), RegistryError> {
        let RegisteredOrchestration { name, version, .. } = &orchestration;
        check_name("orchestration", name)?;
        let (name, version) = (name.clone(), version.clone());
        let Ok(parsed) = semver::Version::parse(&version) else {
            return Err(RegistryError::InvalidVersion { name, version });
        };
        let versions = self.orchestrations.entry(name.clone()).or_default();
        if versions.contains_key(&parsed) {
            return Err(RegistryError::DuplicateOrchestration { name, version });
        }
        versions.insert(parsed, orchestration);
        Ok(())
    }

    fn add_activity(&mut self, name: Name, code: ActivityCode) -> Result<(), RegistryError> {
        check_name("activity", &name)?;
        if self.activities.contains_key(&name) {
            return Err(RegistryError::DuplicateActivity { name });
        }
        self.activities.insert(name, code);
        Ok(())
    }
}

/// The activity as it is called: with JSON text, and failures as they can be stored.
fn activity_code<I, O, E, F, R>(name: &Name, code: F) -> ActivityCode
where
    F: Fn(ActivityContext, I) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned + Send + 'static,
    O: Serialize + 'static,
    E: Into<Failure> + 'static,
{
    let subject = PayloadSubject::new("activity", name.clone());
    let code = Arc::new(code);
    Arc::new(move |context: ActivityContext, input| {
        let (code, subject) = (Arc::clone(&code), subject.clone());
        Box::pin(async move {
            let event_id = Some(context.key().event_id);
            let input = payload::decode("input", &subject, event_id, &input)?;
            let limits = context.limits();
            match code(context, input).await {
                Ok(output) => payload::encode(&limits, "result", &subject, &output),
                Err(error) => Err(payload::fitting(&limits, error.into())),
            }
        })
    })
}

fn check_name(what: &'static str, name: &Name) -> Result<(), RegistryError> {
    Limits::default()
        .check_name(what, name)
        .map_err(RegistryError::InvalidName)
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field(
                "orchestrations",
                &self.orchestration_names().collect::<Vec<_>>(),
            )
            .field("activities", &self.activity_names().collect::<Vec<_>>())
            .finish()
    }
}
