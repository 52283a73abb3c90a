//! Sub-orchestrations and detached starts.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::provider::IdReuse;
use durable_core::{
    Command, DetachedOptions, Failure, InstanceId, Name, OneWayCommand, Payload, Version,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::DurableOperation;
use crate::handle::{EventRef, OrchestrationName, OrchestrationRef};
use crate::payload::{self, PayloadSubject, rounded_up_ms};

impl OrchestrationContext {
    /// Starts another orchestration as a child and waits for what it returns.
    ///
    /// Its id is derived from this instance unless one is given. An id that is
    /// taken is a failure of kind `InstanceExists`. Dropping the future asks the
    /// child to stop.
    ///
    /// ```
    /// # use durable_runtime::{Failure, Orchestration, OrchestrationContext};
    /// # const SHIP: Orchestration<u32, String> = Orchestration::new("ship");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let parcel = ctx.sub_orchestration(SHIP, &7).id("shipping-7").await?;
    /// # let _: String = parcel;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn sub_orchestration<I, O>(
        &self,
        orchestration: impl OrchestrationRef<I, O>,
        input: &I,
    ) -> SubOrchestration<O>
    where
        I: Serialize,
    {
        let OrchestrationName { name, version } = orchestration.into_name();
        let subject = PayloadSubject::new("orchestration", name.clone());
        let command = self.subject("orchestration", name).and_then(|subject| {
            let input = payload::encode(self.limits(), "input", &subject, input)?;
            Ok(Command::SubOrchestration {
                name: subject.name,
                version,
                instance: None,
                input,
            })
        });
        SubOrchestration {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            output: PhantomData,
        }
    }

    /// Starts another orchestration under this id and does not wait for it.
    ///
    /// It is started once, with the commit of what happened so far. If the id is
    /// taken, nothing is started.
    ///
    /// ```
    /// # use durable_runtime::{Failure, Orchestration, OrchestrationContext};
    /// # const SURVEY: Orchestration<u32, ()> = Orchestration::new("survey");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.start_detached(SURVEY.at("2.0.0"), "survey-7", &7)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if a name, the id or the input is empty or too long,
    /// `InvalidPayload` if the input does not encode, and `DeterminismViolation` if the caller
    /// is not the orchestration itself.
    pub fn start_detached<I, O>(
        &self,
        orchestration: impl OrchestrationRef<I, O>,
        instance: impl Into<InstanceId>,
        input: &I,
    ) -> Result<(), Failure>
    where
        I: Serialize,
    {
        self.detached(orchestration, instance, input).start()
    }

    /// Starts another orchestration under this id with options, and does not wait for it.
    ///
    /// ```
    /// # use durable_runtime::{EventName, Failure, IdReuse, Orchestration, OrchestrationContext};
    /// # use std::time::Duration;
    /// # const CART: Orchestration<(), ()> = Orchestration::new("cart");
    /// # const ADD: EventName<String> = EventName::new("add");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.detached(CART, "cart-7", &())
    ///     .with_event(ADD, &"tea".to_owned())
    ///     .reuse(IdReuse::RestartEnded)
    ///     .deadline(Duration::from_secs(86_400))
    ///     .start()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn detached<I, O>(
        &self,
        orchestration: impl OrchestrationRef<I, O>,
        instance: impl Into<InstanceId>,
        input: &I,
    ) -> Detached
    where
        I: Serialize,
    {
        let OrchestrationName { name, version } = orchestration.into_name();
        let instance = instance.into();
        let subject = self.subject("orchestration", name);
        let start = subject.and_then(|subject| {
            payload::check_new_id(self.limits(), &instance)?;
            let input = payload::encode(self.limits(), "input", &subject, input)?;
            Ok((subject.name, input))
        });
        Detached {
            ctx: self.clone(),
            version,
            instance,
            start,
            reuse: None,
            options: DetachedOptions::default(),
        }
    }

    pub(super) fn checked_instance(&self, instance: InstanceId) -> Result<InstanceId, Failure> {
        self.subject("instance", instance.as_str().into())?;
        Ok(instance)
    }
}

/// An instance that no parent waits for: set its options, then start it.
#[derive(Debug)]
#[must_use = "an instance is started by `start`"]
pub struct Detached {
    ctx: OrchestrationContext,
    version: Option<Version>,
    instance: InstanceId,
    /// The name and the input.
    start: Result<(Name, Payload), Failure>,
    reuse: Option<IdReuse>,
    options: DetachedOptions,
}

impl Detached {
    /// What to do when the id is taken. By default nothing is started, and a start
    /// [with an event](Self::with_event) gives the event to an instance that runs.
    pub fn reuse(mut self, reuse: IdReuse) -> Self {
        self.reuse = Some(reuse);
        self
    }

    /// Starts the instance with an event, or gives the event to the instance that runs: one
    /// step of the store, all of it or nothing.
    pub fn with_event<T: Serialize>(mut self, event: impl EventRef<T>, data: &T) -> Self {
        let subject = self.ctx.subject("event", event.into_name());
        let event = subject.and_then(|subject| {
            let data = payload::encode(self.ctx.limits(), "data", &subject, data)?;
            Ok((subject.name, data))
        });
        match event {
            Ok(event) => self.options.events.push(event),
            Err(failure) => self.start = self.start.and(Err(failure)),
        }
        self
    }

    /// Has the instance begin after this time.
    pub fn after(mut self, delay: Duration) -> Self {
        self.options.begins_at_ms = Some(self.from_now(delay));
        self
    }

    /// Has the store end the instance if it has not ended after this time.
    pub fn deadline(mut self, within: Duration) -> Self {
        self.options.deadline_ms = Some(self.from_now(within));
        self
    }

    fn from_now(&self, duration: Duration) -> u64 {
        self.ctx.now_ms().saturating_add(rounded_up_ms(duration))
    }

    /// Starts it, once, with the commit of what happened so far.
    ///
    /// # Errors
    ///
    /// As [`start_detached`](OrchestrationContext::start_detached).
    pub fn start(mut self) -> Result<(), Failure> {
        let (name, input) = self.start?;
        self.options.reuse = self.reuse.unwrap_or(match self.options.events.is_empty() {
            true => IdReuse::Refuse,
            false => IdReuse::UseRunning,
        });
        self.ctx.shared.emit(OneWayCommand::StartDetached {
            name,
            version: self.version,
            instance: Some(self.instance),
            input,
            options: self.options.unless_plain(),
        })
    }
}

/// A child: set its options, then await it.
#[derive(Debug)]
#[must_use = "a sub-orchestration is started when it is first polled"]
pub struct SubOrchestration<O> {
    operation: DurableOperation,
    subject: PayloadSubject,
    output: PhantomData<fn() -> O>,
}

impl<O> SubOrchestration<O> {
    /// Gives the child this id.
    pub fn id(mut self, id: impl Into<InstanceId>) -> Self {
        let id = id.into();
        match payload::check_new_id(&self.operation.shared().settings.limits, &id) {
            Ok(()) => {
                if let Some(Command::SubOrchestration { instance, .. }) =
                    self.operation.command_mut()
                {
                    *instance = Some(id);
                }
            }
            Err(failure) => self.operation.refuse(failure),
        }
        self
    }
}

impl<O> SubOrchestration<O> {
    /// An id that is derived is longer than the one that it is derived from.
    fn refuse_endless_id(&mut self) {
        if let Some(Command::SubOrchestration { instance: None, .. }) = self.operation.command_mut()
        {
            let shared = self.operation.shared();
            let longest = format!("{}/{}/{}", shared.instance, shared.execution_id, u64::MAX);
            if let Err(failure) = payload::check_new_id(&shared.settings.limits, &longest) {
                self.operation.refuse(failure);
            }
        }
    }
}

impl<O: DeserializeOwned> Future for SubOrchestration<O> {
    type Output = Result<O, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.refuse_endless_id();
        this.operation.poll_value(&this.subject, cx)
    }
}
