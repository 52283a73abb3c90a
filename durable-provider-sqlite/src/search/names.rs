//! The numbers of the attributes that a filter names.

use std::collections::HashMap;

use durable_core::AttributeKind;
use durable_core::filter::{Field, Filter, Node};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Step;
use crate::sql;

/// The numbers of attributes by name and type; what has none, no instance has.
#[derive(Debug, Default)]
pub(super) struct AttributeNumbers(HashMap<(String, AttributeKind), i64>);

impl AttributeNumbers {
    pub(super) fn read(connection: &Connection, filter: &Filter) -> Step<Self> {
        let mut numbers = Self::default();
        numbers.learn(connection, filter)?;
        Ok(numbers)
    }

    fn learn(&mut self, connection: &Connection, filter: &Filter) -> Step<()> {
        match filter.node() {
            Node::Test(Field::Attribute(name), _) => {
                let mut statement = connection.prepare_cached(sql::ATTRIBUTE_NUMBER)?;
                for kind in AttributeKind::ALL {
                    let row = params![name.as_str(), kind.number()];
                    let number = statement.query_row(row, |row| row.get(0)).optional()?;
                    if let Some(number) = number {
                        self.0.insert((name.to_string(), kind), number);
                    }
                }
                Ok(())
            }
            Node::Not(part) => self.learn(connection, part),
            Node::And(parts) | Node::Or(parts) => parts
                .iter()
                .try_for_each(|part| self.learn(connection, part)),
            Node::All | Node::Nothing | Node::Status(_) | Node::Test(..) => Ok(()),
        }
    }

    pub(super) fn number(&self, name: &str, kind: AttributeKind) -> Option<i64> {
        self.0.get(&(name.to_owned(), kind)).copied()
    }
}
