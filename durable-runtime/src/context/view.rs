//! Views: the latest values that the orchestration shows to clients.

use durable_core::{Failure, FailureKind, LimitError, Name, OneWayCommand};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::handle::ViewRef;
use crate::payload::{self, PayloadSubject};

impl OrchestrationContext {
    /// Publishes the latest value of a view, which clients
    /// [read](crate::InstanceHandle::view) and [follow](crate::InstanceHandle::view_changes) while
    /// the instance runs and after its end.
    ///
    /// It is stored in the commit of the turn, together with what led to it. Of the values of one
    /// turn clients see the last. Views are kept across continue-as-new.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext, View};
    /// const CART: View<Vec<String>> = View::new("cart");
    ///
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let mut cart = Vec::new();
    /// loop {
    ///     let item: String = ctx.external_event("add").await?;
    ///     cart.push(item);
    ///     ctx.publish(CART, &cart)?;
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the name is empty, too long or reserved (it begins
    /// with `durable.`), if the value is too large or if the instance has
    /// [as many](durable_core::Limits::max_views) other views as it may, `InvalidPayload` if the
    /// value does not encode, and `DeterminismViolation` if the caller is not the orchestration
    /// itself.
    pub fn publish<T: Serialize>(&self, view: impl ViewRef<T>, value: &T) -> Result<(), Failure> {
        let subject = self.own_view(view.into_name())?;
        let value = payload::encode(self.limits(), "value", &subject, value)?;
        let name = subject.name;
        let counted = {
            let state = self.shared.lock();
            let others = state.cursor.view_names().filter(|other| **other != name);
            self.limits().check_view_count(others.chain([&name]))
        };
        counted.map_err(|error| refused(&name, &error))?;
        self.shared.emit(OneWayCommand::PublishView { name, value })
    }

    /// Takes back the value of a view: clients see none until the next one is published.
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the name is empty, too long or reserved, and
    /// `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn clear_view<T>(&self, view: impl ViewRef<T>) -> Result<(), Failure> {
        let name = self.own_view(view.into_name())?.name;
        self.shared.emit(OneWayCommand::ClearView { name })
    }

    /// The value of a view that this instance published last, also in an earlier execution.
    ///
    /// In replay the recorded value wins, also where the code reads what it has just published.
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the name is empty, too long or reserved, and
    /// `InvalidPayload` if the value is not a `T`.
    pub fn view<T: DeserializeOwned>(&self, view: impl ViewRef<T>) -> Result<Option<T>, Failure> {
        let subject = self.own_view(view.into_name())?;
        let value = self.shared.lock().cursor.view(&subject.name).cloned();
        value
            .map(|value| payload::decode("value", &subject, None, &value))
            .transpose()
    }

    /// A view that the code may publish.
    fn own_view(&self, name: Name) -> Result<PayloadSubject, Failure> {
        let subject = self.subject("view", name)?;
        let checked = self.limits().check_view_name(&subject.name);
        checked.map_err(|error| refused(&subject.name, &error))?;
        Ok(subject)
    }
}

fn refused(name: &Name, error: &LimitError) -> Failure {
    let message = format!("view `{name}`: {error}");
    Failure::new(FailureKind::LimitExceeded, message).not_retryable()
}
