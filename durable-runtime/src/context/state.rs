//! State and custom status: small values that outlive the execution.

use durable_core::{CUSTOM_STATUS_VIEW, Failure, Name, OneWayCommand};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::payload;

impl OrchestrationContext {
    /// The value of a state key, if it was set.
    ///
    /// State is kept across continue-as-new. In replay the recorded value wins, also where the
    /// code reads what it has just set.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let rounds: u32 = ctx.state("rounds")?.unwrap_or(0);
    /// ctx.set_state("rounds", &(rounds + 1))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the key is empty or too long, and
    /// `InvalidPayload` if the value is not a `T`.
    pub fn state<T: DeserializeOwned>(&self, key: impl Into<Name>) -> Result<Option<T>, Failure> {
        let subject = self.subject("state key", key.into())?;
        let value = self.shared.lock().cursor.state(&subject.name).cloned();
        value
            .map(|value| payload::decode("value", &subject, None, &value))
            .transpose()
    }

    /// Sets a state key.
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the key or the value is too large,
    /// `InvalidPayload` if the value does not encode, and `DeterminismViolation` if the caller
    /// is not the orchestration itself.
    pub fn set_state<T: Serialize + ?Sized>(
        &self,
        key: impl Into<Name>,
        value: &T,
    ) -> Result<(), Failure> {
        let subject = self.subject("state key", key.into())?;
        let value = payload::encode(self.limits(), "value", &subject, value)?;
        let key = subject.name;
        self.shared.emit(OneWayCommand::SetState { key, value })
    }

    /// Clears a state key.
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the key is empty or too long, and
    /// `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn clear_state(&self, key: impl Into<Name>) -> Result<(), Failure> {
        let key = self.subject("state key", key.into())?.name;
        self.shared.emit(OneWayCommand::ClearState { key })
    }

    /// Says something of this orchestration that clients can read.
    ///
    /// A status that encodes as JSON `null`, such as `None` or `()`, says nothing: it
    /// [clears](Self::clear_custom_status) the status.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.set_custom_status("waiting for the warehouse")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` or `LimitExceeded` if the status does not encode or is
    /// too large, and `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn set_custom_status<T: Serialize + ?Sized>(&self, status: &T) -> Result<(), Failure> {
        let subject = self.subject("status of", self.shared.instance.as_str().into())?;
        let status = payload::encode(self.limits(), "value", &subject, status)?;
        let name = Name::from(CUSTOM_STATUS_VIEW);
        self.shared.emit(match status.as_str() {
            "null" => OneWayCommand::ClearView { name },
            _ => OneWayCommand::PublishView {
                name,
                value: status,
            },
        })
    }

    /// Takes back what this orchestration last said of itself.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.set_custom_status("waiting for the warehouse")?;
    /// // … the warehouse has answered …
    /// ctx.clear_custom_status()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn clear_custom_status(&self) -> Result<(), Failure> {
        let name = Name::from(CUSTOM_STATUS_VIEW);
        self.shared.emit(OneWayCommand::ClearView { name })
    }

    /// What this orchestration last said of itself.
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` if the status is not a `T`.
    pub fn custom_status<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let subject = self.subject("status of", self.shared.instance.as_str().into())?;
        let status = self.shared.lock().cursor.view(CUSTOM_STATUS_VIEW).cloned();
        status
            .map(|status| payload::decode("value", &subject, None, &status))
            .transpose()
    }
}
