//! Filters: which instances are meant, and in which order they are listed.
//!
//! A [`Filter`] is a tree of tests on the fields of an instance and on its attributes. It is
//! built by calls or parsed from text, and [`Filter::matches`] is its one meaning: however a
//! store finds the instances, it finds these. An [`InstanceQuery`] adds an order, and a
//! [`PageToken`] says where in it a list goes on.
//!
//! ```text
//! query  = [filter] ["order" "by" ("created" | "changed" | "id") ["asc" | "desc"]]
//! filter = and {"or" and}
//! and    = not {"and" not}
//! not    = "not" not | "(" filter ")" | "has" field | test | "true" | "false"
//! test   = field ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//!        | field "between" value "and" value
//!        | field ["not"] "in" "(" value {"," value} ")"
//!        | field "starts" "with" text
//! field  = "id" | "name" | "version" | "status" | "created" | "changed" | "parent"
//!        | the name of an attribute
//! value  = "text in quotes" | a-word | 17 | true | false
//!        | 2026-11-18 | 2026-11-18T14:30:00Z | -1h | +7d | now | @1700000000000
//! ```
//!
//! Nothing here reads a clock: times such as `-1h` are resolved against the time that the
//! caller gives when it parses.

mod bounds;
mod build;
mod error;
mod index;
mod lexer;
mod matching;
mod parser;
mod print;
mod query;
mod suggestion;
mod time;
mod token;
mod value;

use alloc::string::String;
use alloc::vec::Vec;

use crate::attribute::{AttributeKind, AttributeValue, attribute_name_fault};
use crate::provider::{ProviderError, StatusKind};
use crate::text::Name;

pub use bounds::{StatusSet, TimeRange};
pub use error::{FilterError, FilterFault};
pub use index::IndexTerm;
pub use query::{Direction, InstanceQuery, Order, OrderBy};
pub use token::{InvalidPageToken, PagePosition, PageToken};

/// Which instances are meant.
///
/// ```
/// use durable_core::filter::{Field, Filter};
/// use durable_core::provider::StatusKind;
///
/// let built = Filter::status(StatusKind::Failed)
///     .and(Filter::attribute("customer", "c-17"))
///     .and(Field::attribute("amount").at_least(100));
/// let text = r#"status = failed and customer = "c-17" and amount >= 100"#;
/// assert_eq!(built.to_string(), text);
/// let now_ms = 1_700_000_000_000;
/// assert_eq!(Filter::parse(text, now_ms)?, built);
/// # Ok::<(), durable_core::filter::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    node: Node,
    depth: usize,
    values: usize,
}

/// What a [`Filter`] consists of.
///
/// A filter is made by its constructors, which keep it in a normal form: no `And` within an
/// `And`, no `Or` within an `Or`, no `Not` within a `Not`, each with at least two parts, and
/// `All` and `Nothing` only alone. A new kind of node is to be found by the compiler in every
/// store, so this and what it consists of are exhaustive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Every instance.
    All,
    /// No instance.
    Nothing,
    /// Instances with one of these statuses.
    Status(StatusSet),
    /// Instances of which a field passes a test.
    Test(Field, Test),
    /// Those that are not meant by this.
    Not(alloc::boxed::Box<Filter>),
    /// Those that are meant by each of these.
    And(Vec<Filter>),
    /// Those that are meant by one of these.
    Or(Vec<Filter>),
}

/// What a filter looks at, besides the status.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Field {
    /// The id of the instance.
    Id,
    /// The orchestration.
    Name,
    /// The version, if the instance has one.
    Version,
    /// When the instance was created.
    Created,
    /// When the instance last changed.
    Changed,
    /// The instance that waits for this one, if there is one.
    Parent,
    /// An attribute, if the instance has it.
    Attribute(Name),
}

/// What is asked of a field. A value of another type than the field has passes no test.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// It is one of these values.
    In(Vec<AttributeValue>),
    /// It is less than this.
    Less(AttributeValue),
    /// It is at most this.
    AtMost(AttributeValue),
    /// It is greater than this.
    Greater(AttributeValue),
    /// It is at least this.
    AtLeast(AttributeValue),
    /// It is at least the first and at most the second.
    Between(AttributeValue, AttributeValue),
    /// It is a text that begins with this.
    StartsWith(String),
    /// It is there.
    Exists,
}

impl Filter {
    /// The longest text of a filter or a query, in bytes.
    pub const MAX_BYTES: usize = 8 * 1024;
    /// How deep filters may be nested.
    pub const MAX_DEPTH: usize = 24;
    /// How many values a filter may compare with.
    pub const MAX_VALUES: usize = 256;

    /// What it consists of.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Whether every instance is meant.
    pub const fn is_all(&self) -> bool {
        matches!(self.node, Node::All)
    }

    /// The filters of which each must hold: its parts if it is an `and`, else itself.
    pub fn conjuncts(&self) -> &[Self] {
        match &self.node {
            Node::And(parts) => parts,
            Node::All
            | Node::Nothing
            | Node::Status(_)
            | Node::Test(..)
            | Node::Not(_)
            | Node::Or(_) => core::slice::from_ref(self),
        }
    }

    /// Checks a filter that was built by calls: its size, the names of attributes and the
    /// types of values. What was parsed passes.
    ///
    /// Every provider asks it first.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] with the first fault.
    pub fn check(&self) -> Result<(), ProviderError> {
        let invalid = |reason: &str| {
            let reason = alloc::format!("the filter is refused: {reason}");
            Err(ProviderError::Invalid { reason })
        };
        if self.depth > Self::MAX_DEPTH {
            return invalid("it is nested too deeply");
        }
        if self.values > Self::MAX_VALUES {
            return invalid("it compares with too many values");
        }
        if let Some(reason) = self.fault() {
            return invalid(&reason);
        }
        if alloc::format!("{self}").len() > Self::MAX_BYTES {
            return invalid("its text is too long");
        }
        Ok(())
    }

    fn fault(&self) -> Option<String> {
        match &self.node {
            Node::All | Node::Nothing | Node::Status(_) => None,
            Node::Test(field, test) => field.fault(test),
            Node::Not(part) => part.fault(),
            Node::And(parts) | Node::Or(parts) => parts.iter().find_map(Self::fault),
        }
    }
}

impl Field {
    /// The attribute with this name.
    pub fn attribute(name: impl Into<Name>) -> Self {
        Self::Attribute(name.into())
    }

    /// The type of its values; `None` if they may be of any.
    pub const fn kind(&self) -> Option<AttributeKind> {
        match self {
            Self::Id | Self::Name | Self::Version | Self::Parent => Some(AttributeKind::Text),
            Self::Created | Self::Changed => Some(AttributeKind::Time),
            Self::Attribute(_) => None,
        }
    }

    /// Why this test cannot be asked of it, if it cannot.
    fn fault(&self, test: &Test) -> Option<String> {
        if let Self::Attribute(name) = self
            && let Some(fault) = attribute_name_fault(name)
        {
            return Some(alloc::format!(
                "`{name}` is no name of an attribute: {fault}"
            ));
        }
        let kind = self.kind()?;
        let is_fitting = match test {
            Test::StartsWith(_) => kind == AttributeKind::Text,
            Test::Exists => true,
            Test::In(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::Between(..) => test.values().all(|value| value.kind() == kind),
        };
        (!is_fitting).then(|| alloc::format!("`{self}` is compared with a value that is no {kind}"))
    }
}

impl Test {
    /// The values that are compared with.
    pub fn values(&self) -> impl Iterator<Item = &AttributeValue> {
        let (several, first, second): (&[AttributeValue], _, _) = match self {
            Self::In(values) => (values, None, None),
            Self::Less(value)
            | Self::AtMost(value)
            | Self::Greater(value)
            | Self::AtLeast(value) => (&[], Some(value), None),
            Self::Between(from, to) => (&[], Some(from), Some(to)),
            Self::StartsWith(_) | Self::Exists => (&[], None, None),
        };
        several.iter().chain(first).chain(second)
    }

    /// How many values it counts for in [`Filter::MAX_VALUES`].
    fn weight(&self) -> usize {
        self.values().count().max(1)
    }
}

impl From<StatusKind> for Filter {
    fn from(status: StatusKind) -> Self {
        Self::status(status)
    }
}
