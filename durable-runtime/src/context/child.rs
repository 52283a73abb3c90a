//! Sub-orchestrations and detached starts.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::{Command, Failure, InstanceId, OneWayCommand};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::DurableOperation;
use crate::handle::{OrchestrationName, OrchestrationRef};
use crate::payload::{self, PayloadSubject};

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
        let OrchestrationName { name, version } = orchestration.into_name();
        let subject = self.subject("orchestration", name)?;
        let instance = instance.into();
        payload::check_new_id(self.limits(), &instance)?;
        let input = payload::encode(self.limits(), "input", &subject, input)?;
        self.shared.emit(OneWayCommand::StartDetached {
            name: subject.name,
            version,
            instance: Some(instance),
            input,
        })
    }

    pub(super) fn checked_instance(&self, instance: InstanceId) -> Result<InstanceId, Failure> {
        self.subject("instance", instance.as_str().into())?;
        Ok(instance)
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
