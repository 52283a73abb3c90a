//! Typed handles: a name together with the types that go with it.
//!
//! A handle names a thing once; registering it and calling it are then checked
//! by the compiler. Plain strings stay possible wherever a handle is taken: their
//! types follow from the call.

use std::fmt;
use std::marker::PhantomData;

use durable_core::{Name, Version};

/// Keeps the traits of this file closed: methods can be added to them later.
mod sealed {
    pub trait Sealed {}
}

use sealed::Sealed;

impl Sealed for &str {}
impl Sealed for Name {}
impl Sealed for OrchestrationName {}
impl<I, O> Sealed for VersionedOrchestration<I, O> {}

macro_rules! handle {
    (
        $(#[$meta:meta])*
        $name:ident<$($type:ident),+>, $what:literal
    ) => {
        $(#[$meta])*
        pub struct $name<$($type),+> {
            name: &'static str,
            types: PhantomData<fn($($type),+)>,
        }

        impl<$($type),+> $name<$($type),+> {
            #[doc = concat!("Names ", $what, ".")]
            pub const fn new(name: &'static str) -> Self {
                Self {
                    name,
                    types: PhantomData,
                }
            }

            /// The name.
            pub const fn name(&self) -> &'static str {
                self.name
            }
        }

        impl<$($type),+> Clone for $name<$($type),+> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($type),+> Copy for $name<$($type),+> {}

        impl<$($type),+> Sealed for $name<$($type),+> {}

        impl<$($type),+> fmt::Debug for $name<$($type),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.name).finish()
            }
        }
    };
}

macro_rules! reference_by_name {
    ($reference:ident, $name:ident<$($type:ident),+>, $what:literal) => {
        #[doc = concat!("Something that names ", $what, ": a [`", stringify!($name), "`] or a string. This crate alone implements it.")]
        pub trait $reference<$($type),+>: Sealed {
            /// The name.
            fn into_name(self) -> Name;
        }

        impl<$($type),+> $reference<$($type),+> for $name<$($type),+> {
            fn into_name(self) -> Name {
                Name::from(self.name)
            }
        }

        impl<$($type),+> $reference<$($type),+> for &str {
            fn into_name(self) -> Name {
                Name::from(self)
            }
        }

        impl<$($type),+> $reference<$($type),+> for Name {
            fn into_name(self) -> Name {
                self
            }
        }
    };
}

handle! {
    /// Names an activity that takes an `I` and returns an `O`.
    ///
    /// ```
    /// use durable_runtime::Activity;
    ///
    /// const GREET: Activity<String, String> = Activity::new("greet");
    /// assert_eq!(GREET.name(), "greet");
    /// ```
    ///
    /// Calls and registrations that do not fit do not compile:
    ///
    /// ```compile_fail,E0308
    /// # use durable_runtime::{Activity, Failure, OrchestrationContext};
    /// # const GREET: Activity<String, String> = Activity::new("greet");
    /// async fn hello(ctx: OrchestrationContext, age: u32) -> Result<String, Failure> {
    ///     ctx.activity(GREET, &age).await // not a `String`
    /// }
    /// ```
    ///
    /// ```compile_fail,E0631
    /// # use durable_runtime::{Activity, ActivityContext, Failure, Registry};
    /// # const GREET: Activity<String, String> = Activity::new("greet");
    /// async fn greet(_: ActivityContext, age: u32) -> Result<String, Failure> {
    ///     Ok(format!("{age}"))
    /// }
    /// Registry::builder().activity(GREET, greet); // takes no `u32`
    /// ```
    Activity<I, O>, "an activity"
}

handle! {
    /// Names an orchestration that takes an `I` and returns an `O`.
    ///
    /// ```
    /// use durable_runtime::Orchestration;
    ///
    /// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
    /// assert_eq!(HELLO.name(), "hello");
    /// ```
    ///
    /// Starting it with something else does not compile, nor does taking something else
    /// from it:
    ///
    /// ```compile_fail,E0308
    /// # use durable_runtime::{Client, ClientError, Orchestration};
    /// # const HELLO: Orchestration<String, String> = Orchestration::new("hello");
    /// async fn start(client: Client) -> Result<u32, ClientError> {
    ///     let hello = client.start(HELLO, "hello-1", &"Ada".to_owned()).await?;
    ///     hello.wait().await // not a `u32`
    /// }
    /// ```
    Orchestration<I, O>, "an orchestration"
}

handle! {
    /// Names an external event that carries a `T`.
    ///
    /// ```
    /// use durable_runtime::EventName;
    ///
    /// const APPROVED: EventName<bool> = EventName::new("approved");
    /// assert_eq!(APPROVED.name(), "approved");
    /// ```
    ///
    /// Raising it with something else does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use durable_runtime::{ClientError, EventName, InstanceHandle};
    /// # const APPROVED: EventName<bool> = EventName::new("approved");
    /// async fn approve(order: InstanceHandle<String>) -> Result<(), ClientError> {
    ///     order.raise(APPROVED, &"yes").await // not a `bool`
    /// }
    /// ```
    EventName<T>, "an external event"
}

handle! {
    /// Names a view whose values are `T`: what an orchestration publishes for clients, which see
    /// the latest value.
    ///
    /// ```
    /// use durable_runtime::View;
    ///
    /// const CART: View<Vec<String>> = View::new("cart");
    /// assert_eq!(CART.name(), "cart");
    /// ```
    ///
    /// Publishing something else does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use durable_runtime::{Failure, OrchestrationContext, View};
    /// # const CART: View<Vec<String>> = View::new("cart");
    /// fn show(ctx: OrchestrationContext) -> Result<(), Failure> {
    ///     ctx.publish(CART, &17) // not a list
    /// }
    /// ```
    View<T>, "a view"
}

handle! {
    /// Names a stream whose items are `T`: what orchestrations push and activities emit while they
    /// work, and clients read by offset.
    ///
    /// ```
    /// use durable_runtime::EventStream;
    ///
    /// const TOKENS: EventStream<String> = EventStream::new("tokens");
    /// assert_eq!(TOKENS.name(), "tokens");
    /// ```
    ///
    /// Pushing something else does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use durable_runtime::{EventStream, Failure, OrchestrationContext};
    /// # const TOKENS: EventStream<String> = EventStream::new("tokens");
    /// fn speak(ctx: OrchestrationContext) -> Result<(), Failure> {
    ///     ctx.stream(TOKENS).push(&17) // not a text
    /// }
    /// ```
    EventStream<T>, "a stream"
}

reference_by_name!(ActivityRef, Activity<I, O>, "an activity");
reference_by_name!(EventRef, EventName<T>, "an external event");
reference_by_name!(ViewRef, View<T>, "a view");
reference_by_name!(StreamRef, EventStream<T>, "a stream");

impl<I, O> Orchestration<I, O> {
    /// The same orchestration at this version, such as `2.1.0`.
    ///
    /// ```
    /// use durable_runtime::Orchestration;
    ///
    /// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
    /// let second = HELLO.at("2.0.0");
    /// # let _ = second;
    /// ```
    pub const fn at(self, version: &'static str) -> VersionedOrchestration<I, O> {
        VersionedOrchestration {
            orchestration: self,
            version,
        }
    }
}

/// Names one version of an orchestration; made by [`Orchestration::at`].
#[derive(Debug)]
pub struct VersionedOrchestration<I, O> {
    orchestration: Orchestration<I, O>,
    version: &'static str,
}

impl<I, O> Clone for VersionedOrchestration<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for VersionedOrchestration<I, O> {}

/// An orchestration by name, and by version if a certain one is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrchestrationName {
    /// The name.
    pub name: Name,
    /// The version; `None` leaves the choice to the node that runs it.
    pub version: Option<Version>,
}

/// Something that names an orchestration: an [`Orchestration`], one version of it,
/// or a string. This crate alone implements it.
pub trait OrchestrationRef<I, O>: Sealed {
    /// Name and version.
    fn into_name(self) -> OrchestrationName;
}

impl<I, O> OrchestrationRef<I, O> for Orchestration<I, O> {
    fn into_name(self) -> OrchestrationName {
        OrchestrationName {
            name: Name::from(self.name),
            version: None,
        }
    }
}

impl<I, O> OrchestrationRef<I, O> for VersionedOrchestration<I, O> {
    fn into_name(self) -> OrchestrationName {
        OrchestrationName {
            name: Name::from(self.orchestration.name),
            version: Some(Version::from(self.version)),
        }
    }
}

impl<I, O> OrchestrationRef<I, O> for &str {
    fn into_name(self) -> OrchestrationName {
        OrchestrationName {
            name: Name::from(self),
            version: None,
        }
    }
}

impl<I, O> OrchestrationRef<I, O> for OrchestrationName {
    fn into_name(self) -> OrchestrationName {
        self
    }
}
