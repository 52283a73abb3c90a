//! The statements of a search: what they select, and what they are bound to.

use durable_core::filter::{Filter, InstanceQuery, Node, OrderBy, PagePosition};
use rusqlite::{Connection, Statement};

use super::condition::{Bindings, ConditionWriter, Tables};
use super::names::AttributeNumbers;
use super::source::Source;
use crate::error::Step;
use crate::number::limit;

/// A statement and the values that it is bound to.
#[derive(Debug)]
pub(super) struct BoundStatement {
    pub(super) text: String,
    pub(super) bindings: Bindings,
}

impl BoundStatement {
    /// Each shape of a filter has statements of its own, so they are not kept.
    pub(super) fn prepare<'c>(&self, connection: &'c Connection) -> Step<Statement<'c>> {
        let mut statement = connection.prepare(&self.text)?;
        for (number, value) in (1..).zip(self.bindings.values()) {
            statement.raw_bind_parameter(number, value)?;
        }
        Ok(statement)
    }
}

/// Counts the rows of a source, up to one more than this.
pub(super) fn count(source: &Source, most: usize) -> BoundStatement {
    let mut bindings = Bindings::default();
    let from = source.from(Tables::default(), &mut bindings);
    let most = bindings.bind(limit(most.saturating_add(1)));
    let text = format!("SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT {most})");
    BoundStatement { text, bindings }
}

/// Reads the rows of a source that a query means, in no order: key, time and id, as far as
/// the order of the query needs them.
pub(super) fn matching(
    source: &Source,
    query: &InstanceQuery,
    numbers: &AttributeNumbers,
) -> BoundStatement {
    let mut bindings = Bindings::default();
    let tested = tested(source, query, numbers);
    let from = source.from(tables(&tested, query.order.by), &mut bindings);
    let condition = condition(source, &tested, numbers, &mut bindings);
    let columns = columns(source, query.order.by);
    // Tests of attributes stay subqueries: SQLite would else make a join of them, in an order of
    // its own.
    let text =
        format!("SELECT {columns}, 1 FROM {from} AND CASE WHEN {condition} THEN 1 ELSE 0 END");
    BoundStatement { text, bindings }
}

/// Reads the rows of a source in its order after a place: key, time, id, and whether the query
/// means the instance.
pub(super) fn walk(
    source: &Source,
    query: &InstanceQuery,
    numbers: &AttributeNumbers,
    after: Option<&PagePosition>,
) -> BoundStatement {
    let mut bindings = Bindings::default();
    let direction = query.order.direction;
    let tested = tested(source, query, numbers);
    let (source, after) = match after {
        Some(position) => source.after(position, direction, &mut bindings),
        None => (source.clone(), String::new()),
    };
    let from = source.from(tables(&tested, query.order.by), &mut bindings);
    let condition = condition(&source, &tested, numbers, &mut bindings);
    let columns = columns(&source, query.order.by);
    let ordered = source.ordered(direction);
    let text = format!("SELECT {columns}, {condition} FROM {from}{after}{ordered}");
    BoundStatement { text, bindings }
}

/// The parts of the filter that not all rows of a source pass anyway.
fn tested(source: &Source, query: &InstanceQuery, numbers: &AttributeNumbers) -> Filter {
    let is_passed = |part: &Filter| match part.node() {
        Node::Test(field, test) => {
            let sources = Source::of(field, test, numbers);
            sources.is_some_and(|sources| sources.contains(source))
        }
        Node::Status(statuses) => {
            matches!(source, Source::Stopped(status, _) if statuses.contains(*status))
        }
        Node::All | Node::Nothing | Node::Not(_) | Node::And(_) | Node::Or(_) => false,
    };
    let parts = query.filter.conjuncts().iter();
    let parts = parts.filter(|part| !is_passed(part)).cloned();
    parts.fold(Filter::all(), Filter::and)
}

fn tables(tested: &Filter, by: OrderBy) -> Tables {
    let tables = Tables::of(tested);
    match by {
        OrderBy::Changed => tables.with_instance(),
        OrderBy::Id => tables.with_record(),
        OrderBy::Created => tables,
    }
}

fn condition(
    source: &Source,
    tested: &Filter,
    numbers: &AttributeNumbers,
    bindings: &mut Bindings,
) -> String {
    let mut writer = ConditionWriter {
        numbers,
        bindings,
        key: source.key(),
    };
    writer.condition(tested)
}

fn columns(source: &Source, by: OrderBy) -> String {
    let key = source.key();
    match by {
        OrderBy::Changed => format!("{key}, i.updated_at_ms, ''"),
        OrderBy::Id => format!("{key}, 0, r.id"),
        OrderBy::Created => format!("{key}, 0, ''"),
    }
}
