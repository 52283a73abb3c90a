//! Records of instances as they are read.

use durable_core::provider::{InstanceRecord, InstanceStatus, ProviderError, StatusKind};
use durable_core::{Attributes, EventId, ExecutionId, InstanceId, Parent};
use redis::Value;

use crate::codec::{failure_of, status_kind, status_of};

/// The fields of a record, in the order in which [`Record::read`] takes them.
pub(crate) const FIELDS: [&str; 16] = [
    "ex", "le", "sk", "st", "nm", "vr", "bl", "cu", "pi", "pe", "pv", "ca", "ua", "fx", "at", "ba",
];

/// A record, and the first execution whose history is stored.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) instance: InstanceRecord,
    pub(crate) first_execution: u64,
}

impl Record {
    /// A record from the values of its fields; `None` if there is no such instance.
    pub(crate) fn read(id: &InstanceId, value: Value) -> Result<Option<Self>, ProviderError> {
        let Value::Array(values) = value else {
            return Err(damaged(id, "its record"));
        };
        let mut values: Vec<Option<Vec<u8>>> = values
            .into_iter()
            .map(|value| match value {
                Value::BulkString(bytes) => Some(bytes),
                _ => None,
            })
            .collect();
        values.resize(FIELDS.len(), None);
        let mut fields = Fields { id, values };
        if fields.values[0].is_none() {
            return Ok(None);
        }
        fields.record().map(Some)
    }
}

struct Fields<'a> {
    id: &'a InstanceId,
    values: Vec<Option<Vec<u8>>>,
}

impl Fields<'_> {
    fn record(&mut self) -> Result<Record, ProviderError> {
        let execution_id = ExecutionId::new(self.number("ex")?);
        let name = self.needed("nm")?.into();
        let created_at_ms = self.number("ca")?;
        let mut instance =
            InstanceRecord::pending(self.id.clone(), execution_id, name, created_at_ms);
        instance.version = self.text("vr")?.map(Into::into);
        instance.status = self.status()?;
        instance.blocked = match self.take("bl") {
            Some(bytes) => Some(failure_of(format_args!("`{}`", self.id), &bytes)?),
            None => None,
        };
        instance.custom_status = self.text("cu")?.map(Into::into);
        if let Some(json) = self.text("at")? {
            let attributes = Attributes::from_json(&json);
            instance.attributes = attributes.map_err(|_| damaged(self.id, "at"))?;
        }
        instance.parent = self.parent()?;
        instance.last_event_id = EventId::new(self.number("le")?);
        instance.updated_at_ms = self.number("ua")?;
        if instance.last_event_id == EventId::UNASSIGNED {
            let begins_at = self.text("ba")?.map(|at_ms| at_ms.parse());
            let begins_at = begins_at.transpose();
            instance.begins_at_ms = begins_at.map_err(|_| damaged(self.id, "ba"))?;
        }
        Ok(Record {
            instance,
            first_execution: self.number("fx")?,
        })
    }

    fn status(&mut self) -> Result<InstanceStatus, ProviderError> {
        let number = self.needed("sk")?;
        let bytes = self.take("st").unwrap_or_default();
        match status_kind(&number).ok_or_else(|| damaged(self.id, "its status"))? {
            StatusKind::Pending => Ok(InstanceStatus::Pending),
            StatusKind::Running => Ok(InstanceStatus::Running),
            _ => status_of(format_args!("`{}`", self.id), &bytes),
        }
    }

    fn parent(&mut self) -> Result<Option<Parent>, ProviderError> {
        let Some(instance) = self.text("pi")? else {
            return Ok(None);
        };
        Ok(Some(Parent::new(
            instance.into(),
            ExecutionId::new(self.number("pe")?),
            EventId::new(self.number("pv")?),
        )))
    }

    fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let place = FIELDS.iter().position(|field| *field == name)?;
        self.values[place].take()
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, ProviderError> {
        let text = self.take(name).map(String::from_utf8).transpose();
        text.map_err(|_| damaged(self.id, name))
    }

    fn needed(&mut self, name: &str) -> Result<String, ProviderError> {
        self.text(name)?.ok_or_else(|| damaged(self.id, name))
    }

    fn number(&mut self, name: &str) -> Result<u64, ProviderError> {
        let text = self.needed(name)?;
        text.parse().map_err(|_| damaged(self.id, name))
    }
}

fn damaged(id: &InstanceId, what: &str) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("the record of `{id}`: {what} is missing or unreadable"),
    }
}
