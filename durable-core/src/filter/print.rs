//! The canonical text of filters: it parses to the same filter.

use core::fmt;

use super::value::{quoted, shown};
use super::{Field, Filter, Node, StatusSet, Test};
use crate::attribute::AttributeValue;

/// How tightly the surroundings of a filter bind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, Binding::Or)
    }
}

impl Filter {
    fn print(&self, f: &mut fmt::Formatter<'_>, around: Binding) -> fmt::Result {
        match &self.node {
            Node::All => f.write_str("true"),
            Node::Nothing => f.write_str("false"),
            Node::Status(statuses) => print_statuses(f, *statuses, ""),
            Node::Test(field, test) => print_test(f, field, test),
            Node::Not(part) => match &part.node {
                Node::Status(statuses) => print_statuses(f, *statuses, "not "),
                Node::Test(field, Test::In(values)) => print_in(f, field, values, "not "),
                Node::All
                | Node::Nothing
                | Node::Test(..)
                | Node::Not(_)
                | Node::And(_)
                | Node::Or(_) => {
                    f.write_str("not ")?;
                    part.print(f, Binding::Not)
                }
            },
            Node::And(parts) => print_parts(f, parts, " and ", Binding::And, around),
            Node::Or(parts) => print_parts(f, parts, " or ", Binding::Or, around),
        }
    }
}

fn print_parts(
    f: &mut fmt::Formatter<'_>,
    parts: &[Filter],
    joint: &str,
    binding: Binding,
    around: Binding,
) -> fmt::Result {
    let needs_parentheses = around > binding;
    if needs_parentheses {
        f.write_str("(")?;
    }
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            f.write_str(joint)?;
        }
        part.print(f, binding)?;
    }
    match needs_parentheses {
        true => f.write_str(")"),
        false => Ok(()),
    }
}

fn print_statuses(f: &mut fmt::Formatter<'_>, statuses: StatusSet, not: &str) -> fmt::Result {
    let mut iter = statuses.iter();
    if let (Some(only), None) = (iter.next(), iter.next()) {
        let operator = if not.is_empty() { "=" } else { "!=" };
        return write!(f, "status {operator} {only}");
    }
    write!(f, "status {not}in (")?;
    for (number, status) in statuses.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        write!(f, "{comma}{status}")?;
    }
    f.write_str(")")
}

fn print_in(
    f: &mut fmt::Formatter<'_>,
    field: &Field,
    values: &[AttributeValue],
    not: &str,
) -> fmt::Result {
    if let [only] = values {
        let operator = if not.is_empty() { "=" } else { "!=" };
        return write!(f, "{field} {operator} {}", shown(only));
    }
    write!(f, "{field} {not}in (")?;
    for (number, value) in values.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        write!(f, "{comma}{}", shown(value))?;
    }
    f.write_str(")")
}

fn print_test(f: &mut fmt::Formatter<'_>, field: &Field, test: &Test) -> fmt::Result {
    match test {
        Test::In(values) => print_in(f, field, values, ""),
        Test::Less(value) => write!(f, "{field} < {}", shown(value)),
        Test::AtMost(value) => write!(f, "{field} <= {}", shown(value)),
        Test::Greater(value) => write!(f, "{field} > {}", shown(value)),
        Test::AtLeast(value) => write!(f, "{field} >= {}", shown(value)),
        Test::Between(from, to) => {
            write!(f, "{field} between {} and {}", shown(from), shown(to))
        }
        Test::StartsWith(prefix) => write!(f, "{field} starts with {}", quoted(prefix)),
        Test::Exists => write!(f, "has {field}"),
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Version => "version",
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Parent => "parent",
            Self::Attribute(name) => name,
        })
    }
}
