//! The attributes of an instance. Rows that stay as they are are not written again.

use durable_core::provider::ProviderError;
use durable_core::{AttributeKind, AttributeValue, Attributes, Name};
use rusqlite::params;
use rusqlite::types::Value;

use super::Store;
use crate::error::Step;
use crate::number::int;
use crate::sql;

/// The name of an attribute and the type of its values: they have a number together, so that
/// values of one number can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AttributeName {
    pub(super) name: Name,
    pub(super) kind: AttributeKind,
}

impl Store<'_, '_> {
    /// Gives a new instance its attributes.
    pub(super) fn add_attributes(&mut self, key: i64, attributes: &Attributes) -> Step<()> {
        for (name, value) in attributes.iter() {
            let number = self.attribute_number(name, value.kind())?;
            let row = params![number, value_of(value), key];
            self.run(sql::ATTRIBUTE_ADD, row)?;
        }
        Ok(())
    }

    /// Gives an instance other attributes.
    pub(super) fn change_attributes(&mut self, key: i64, attributes: &Attributes) -> Step<()> {
        let mut added = attributes.clone();
        for (number, value) in self.stored_attributes(key)? {
            let known = self.catalog()?.attributes.thing(number).cloned();
            let stays = known.is_some_and(|known| {
                let wanted = added.get(&known.name);
                let is_same = wanted
                    .is_some_and(|wanted| wanted.kind() == known.kind && value_of(wanted) == value);
                is_same && added.clear(&known.name).is_some()
            });
            if !stays {
                self.run(sql::ATTRIBUTE_DELETE, params![number, value, key])?;
            }
        }
        self.add_attributes(key, &added)
    }

    fn stored_attributes(&self, key: i64) -> Step<Vec<(i64, Value)>> {
        let mut statement = self.statement(sql::ATTRIBUTES_STORED)?;
        let rows = statement.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The number of this attribute, which is added if it is new.
    fn attribute_number(&mut self, name: &Name, kind: AttributeKind) -> Step<i64> {
        let attribute = AttributeName {
            name: name.clone(),
            kind,
        };
        let attributes = &self.catalog()?.attributes;
        if let Some(number) = attributes.number(&attribute) {
            return Ok(number);
        }
        let number = attributes.next_number();
        let row = params![number, name.as_str(), kind.number()];
        self.run(sql::ATTRIBUTE_NAME_ADD, row)?;
        Ok(self.state.catalog.attributes.add(attribute))
    }
}

/// A value as SQLite stores and compares it.
pub(crate) fn value_of(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Text(text) => Value::Text(text.clone()),
        AttributeValue::Integer(number) | AttributeValue::Time(number) => Value::Integer(*number),
        AttributeValue::Bool(truth) => Value::Integer(int(u64::from(*truth))),
    }
}

/// The value that SQLite stored.
pub(crate) fn attribute_of(kind: u8, value: Value) -> Result<AttributeValue, ProviderError> {
    let read = match (AttributeKind::from_number(kind), value) {
        (Some(AttributeKind::Text), Value::Text(text)) => Some(AttributeValue::Text(text)),
        (Some(AttributeKind::Integer), Value::Integer(number)) => {
            Some(AttributeValue::Integer(number))
        }
        (Some(AttributeKind::Time), Value::Integer(time_ms)) => Some(AttributeValue::Time(time_ms)),
        (Some(AttributeKind::Bool), Value::Integer(0)) => Some(AttributeValue::Bool(false)),
        (Some(AttributeKind::Bool), Value::Integer(1)) => Some(AttributeValue::Bool(true)),
        _ => None,
    };
    read.ok_or_else(|| ProviderError::Damaged {
        reason: format!("the value of an attribute of type {kind}"),
    })
}
