//! Attributes of the running instance.

use durable_core::{Failure, OneWayCommand};

use super::OrchestrationContext;
use crate::attribute::{Attribute, AttributeType, IntoAttribute, set_within_limits};

impl OrchestrationContext {
    /// The value of an attribute of this instance, if it has it.
    ///
    /// Attributes are kept across continue-as-new. In replay the recorded value wins, also where
    /// the code reads what it has just set.
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` if the attribute has a value of another type.
    pub fn attribute<T: AttributeType>(
        &self,
        attribute: Attribute<T>,
    ) -> Result<Option<T>, Failure> {
        let state = self.shared.lock();
        attribute.read(state.cursor.attributes().get(attribute.name()))
    }

    /// Sets an attribute by which clients find this instance.
    ///
    /// ```
    /// # use durable_runtime::{Attribute, Failure, OrchestrationContext};
    /// const CUSTOMER: Attribute<String> = Attribute::new("customer");
    ///
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.set_attribute(CUSTOMER, "c-17")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the text is too long or the instance has
    /// [16](durable_core::Attributes::MAX) others, and `DeterminismViolation` if the caller is
    /// not the orchestration itself.
    pub fn set_attribute<T: AttributeType>(
        &self,
        attribute: Attribute<T>,
        value: impl IntoAttribute<T>,
    ) -> Result<(), Failure> {
        let value = value.into_value();
        let mut attributes = self.shared.lock().cursor.attributes().clone();
        let name = attribute.name();
        set_within_limits(self.limits(), &mut attributes, name, value.clone())?;
        let name = name.into();
        self.shared
            .emit(OneWayCommand::SetAttribute { name, value })
    }

    /// Removes an attribute from this instance.
    ///
    /// # Errors
    ///
    /// A failure of kind `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn clear_attribute<T: AttributeType>(
        &self,
        attribute: Attribute<T>,
    ) -> Result<(), Failure> {
        let name = attribute.name().into();
        self.shared.emit(OneWayCommand::ClearAttribute { name })
    }
}
