//! Values as a filter writes them, and texts as it quotes them.

use core::fmt;

use super::time::TimeText;
use crate::attribute::AttributeValue;

/// A value as a filter writes it.
pub(super) const fn shown(value: &AttributeValue) -> Shown<'_> {
    Shown(value)
}

/// See [`shown`].
pub(super) struct Shown<'a>(&'a AttributeValue);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AttributeValue::Text(text) => quoted(text).fmt(f),
            AttributeValue::Integer(number) => number.fmt(f),
            AttributeValue::Time(time_ms) => TimeText(*time_ms).fmt(f),
            AttributeValue::Bool(truth) => truth.fmt(f),
        }
    }
}

/// A text in quotes.
pub(super) const fn quoted(text: &str) -> Quoted<'_> {
    Quoted(text)
}

/// See [`quoted`].
pub(super) struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                control if control.is_control() => write!(f, "\\u{{{:x}}}", u32::from(control))?,
                plain => f.write_char(plain)?,
            }
        }
        f.write_char('"')
    }
}
