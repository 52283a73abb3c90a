//! Why a text is no filter, with the place and a hint.

use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Range;

use crate::attribute::AttributeNameFault;

/// How much of a line is shown, in characters.
const SHOWN: usize = 100;

/// A text is no filter.
///
/// ```
/// use durable_core::filter::Filter;
///
/// let error = Filter::parse("status = faild and customer = c-17", 0).unwrap_err();
/// assert_eq!(error.span(), 9..14);
/// assert_eq!(
///     error.to_string(),
///     "`faild` is no status\n\
///      \n  status = faild and customer = c-17\
///      \n           ^^^^^\n\
///      hint: did you mean `failed`?"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    fault: FilterFault,
    span: Range<usize>,
    hint: Option<String>,
    text: String,
}

/// What is wrong with a text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterFault {
    /// It is longer than [`Filter::MAX_BYTES`](super::Filter::MAX_BYTES).
    TooLong,
    /// It is nested deeper than [`Filter::MAX_DEPTH`](super::Filter::MAX_DEPTH).
    TooDeep,
    /// It compares with more than [`Filter::MAX_VALUES`](super::Filter::MAX_VALUES) values.
    TooManyValues,
    /// A character has no meaning here.
    Character(char),
    /// A text in quotes does not end.
    OpenQuote,
    /// A text in quotes has an unknown escape.
    Escape,
    /// Something else is needed here.
    Expected {
        /// What.
        expected: &'static str,
        /// What is there; empty at the end of the text.
        found: String,
    },
    /// This is no name of an attribute.
    AttributeName {
        /// What is there.
        found: String,
        /// Why not.
        fault: AttributeNameFault,
    },
    /// The field cannot be compared in this way.
    Operator {
        /// The field.
        field: String,
        /// What it can be compared with.
        allowed: &'static str,
    },
    /// This is no status.
    Status(String),
    /// The field is compared with a value of another type.
    ValueType {
        /// The field.
        field: String,
        /// What it needs.
        expected: &'static str,
    },
    /// This is no integer that fits, no time and no span.
    Number(String),
    /// An order has no place here.
    Order,
}

impl FilterError {
    pub(super) fn new(text: &str, span: Range<usize>, fault: FilterFault) -> Self {
        Self {
            fault,
            span,
            hint: None,
            text: text.to_string(),
        }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// What is wrong.
    pub const fn fault(&self) -> &FilterFault {
        &self.fault
    }

    /// Where, in bytes of the text.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// What to try instead.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The line with the fault, and where in it the fault is, in characters.
    fn line(&self) -> (String, Range<usize>) {
        let before = self.text.get(..self.span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[line_start..];
        let line = rest.split('\n').next().unwrap_or_default();
        let start = before[line_start..].chars().count();
        let inside = self.text.get(self.span.clone()).unwrap_or_default();
        let width = inside.chars().take_while(|c| *c != '\n').count().max(1);
        // A long line is shown around the fault.
        let skipped = start.saturating_sub(SHOWN / 2);
        let shown: String = line
            .chars()
            .skip(skipped)
            .take(SHOWN)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let start = start - skipped;
        let end = (start + width).min(SHOWN.max(start + 1));
        (shown, start..end)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, place) = self.line();
        write!(f, "{}\n\n  {line}\n  ", self.fault)?;
        for _ in 0..place.start {
            f.write_str(" ")?;
        }
        for _ in place {
            f.write_str("^")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for FilterError {}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the filter is too long"),
            Self::TooDeep => f.write_str("the filter is nested too deeply"),
            Self::TooManyValues => f.write_str("the filter compares with too many values"),
            Self::Character(character) => write!(f, "unexpected {character:?}"),
            Self::OpenQuote => f.write_str("the text does not end"),
            Self::Escape => f.write_str("unknown escape"),
            Self::Expected { expected, found } if found.is_empty() => {
                write!(f, "expected {expected}, and the filter ends here")
            }
            Self::Expected { expected, found } => write!(f, "expected {expected}, found `{found}`"),
            Self::AttributeName { found, fault } => {
                write!(
                    f,
                    "`{found}` is no field and no name of an attribute: {fault}"
                )
            }
            Self::Operator { field, allowed } => {
                write!(f, "`{field}` can be compared by {allowed}")
            }
            Self::Status(word) => write!(f, "`{word}` is no status"),
            Self::ValueType { field, expected } => write!(f, "`{field}` needs {expected}"),
            Self::Number(text) => write!(f, "`{text}` is no integer and no time"),
            Self::Order => f.write_str("an order has no place here"),
        }
    }
}
