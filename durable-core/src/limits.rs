//! How large names and payloads may be. The code that accepts them from a user checks
//! them here before anything is written, so nothing too large is ever half stored.

use core::fmt;

use crate::attribute::{AttributeNameFault, AttributeValue, Attributes, attribute_name_fault};
use crate::failure::{Failure, FailureKind};
use crate::text::Name;
use crate::view::is_reserved_view;

/// The largest names and payloads that are accepted.
///
/// ```
/// use durable_core::{LimitError, Limits};
///
/// let limits = Limits::default();
/// assert!(limits.check_name("activity", "charge").is_ok());
/// assert!(matches!(
///     limits.check_name("activity", ""),
///     Err(LimitError::EmptyName { what: "activity" })
/// ));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest name, instance id, key, version or message id, in bytes. Default: 1,024.
    pub max_name_bytes: usize,
    /// The longest payload, in bytes. Default: 4 MiB.
    pub max_payload_bytes: usize,
    /// How many views an instance has at most, beside its custom status. Default: 64.
    pub max_views: usize,
    /// How many items of a stream are kept: the latest ones. Default: 10,000.
    pub max_stream_items: u64,
    /// How many bytes of a stream are kept: of the values of its latest items, but always the
    /// last one. Default: 4 MiB.
    pub max_stream_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

impl Limits {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            max_name_bytes: 1024,
            max_payload_bytes: 4 * 1024 * 1024,
            max_views: 64,
            max_stream_items: 10_000,
            max_stream_bytes: 4 * 1024 * 1024,
        }
    }

    /// Accepts names of so many bytes.
    #[must_use]
    pub const fn max_name_bytes(self, bytes: usize) -> Self {
        Self {
            max_name_bytes: bytes,
            ..self
        }
    }

    /// Accepts payloads of so many bytes.
    #[must_use]
    pub const fn max_payload_bytes(self, bytes: usize) -> Self {
        Self {
            max_payload_bytes: bytes,
            ..self
        }
    }

    /// Lets an instance have so many views beside its custom status.
    #[must_use]
    pub const fn max_views(self, views: usize) -> Self {
        Self {
            max_views: views,
            ..self
        }
    }

    /// Keeps so many items of a stream.
    #[must_use]
    pub const fn max_stream_items(self, items: u64) -> Self {
        Self {
            max_stream_items: items,
            ..self
        }
    }

    /// Keeps so many bytes of a stream.
    #[must_use]
    pub const fn max_stream_bytes(self, bytes: u64) -> Self {
        Self {
            max_stream_bytes: bytes,
            ..self
        }
    }

    /// Checks a name; `what` says in the error whose name it is.
    ///
    /// # Errors
    ///
    /// [`LimitError::EmptyName`] or [`LimitError::NameTooLong`].
    pub fn check_name(&self, what: &'static str, name: &str) -> Result<(), LimitError> {
        if name.is_empty() {
            return Err(LimitError::EmptyName { what });
        }
        if name.len() > self.max_name_bytes {
            return Err(LimitError::NameTooLong {
                what,
                bytes: name.len(),
                max_bytes: self.max_name_bytes,
            });
        }
        Ok(())
    }

    /// Checks a payload; `what` says in the error what it is for.
    ///
    /// # Errors
    ///
    /// [`LimitError::PayloadTooLarge`].
    pub fn check_payload(&self, what: &'static str, payload: &str) -> Result<(), LimitError> {
        if payload.len() > self.max_payload_bytes {
            return Err(LimitError::PayloadTooLarge {
                what,
                bytes: payload.len(),
                max_bytes: self.max_payload_bytes,
            });
        }
        Ok(())
    }

    /// Checks the name of a view that is not the engine's own.
    ///
    /// # Errors
    ///
    /// [`LimitError::EmptyName`], [`LimitError::NameTooLong`] or
    /// [`LimitError::ReservedViewName`].
    pub fn check_view_name(&self, name: &str) -> Result<(), LimitError> {
        self.check_name("view", name)?;
        match is_reserved_view(name) {
            true => Err(LimitError::ReservedViewName),
            false => Ok(()),
        }
    }

    /// Checks how many views an instance has, by their names. Reserved ones are not counted.
    ///
    /// # Errors
    ///
    /// [`LimitError::TooManyViews`].
    pub fn check_view_count<'a>(
        &self,
        names: impl IntoIterator<Item = &'a Name>,
    ) -> Result<(), LimitError> {
        let own = names.into_iter().filter(|name| !is_reserved_view(name));
        match own.count() > self.max_views {
            true => Err(LimitError::TooManyViews {
                max: self.max_views,
            }),
            false => Ok(()),
        }
    }

    /// Checks the attributes of an instance: their number, names and values.
    ///
    /// # Errors
    ///
    /// [`LimitError::TooManyAttributes`], [`LimitError::InvalidAttributeName`] or
    /// [`LimitError::AttributeTooLong`].
    pub fn check_attributes(&self, attributes: &Attributes) -> Result<(), LimitError> {
        if attributes.len() > Attributes::MAX {
            return Err(LimitError::TooManyAttributes);
        }
        for (name, value) in attributes.iter() {
            self.check_attribute_name(name)?;
            self.check_attribute_value(value)?;
        }
        Ok(())
    }

    /// Checks the name of an attribute. It is the same in every store, whatever the limits.
    ///
    /// # Errors
    ///
    /// [`LimitError::InvalidAttributeName`].
    pub fn check_attribute_name(&self, name: &str) -> Result<(), LimitError> {
        match attribute_name_fault(name) {
            Some(fault) => Err(LimitError::InvalidAttributeName { fault }),
            None => Ok(()),
        }
    }

    /// Checks the value of an attribute. It is the same in every store, whatever the limits.
    ///
    /// # Errors
    ///
    /// [`LimitError::AttributeTooLong`].
    pub fn check_attribute_value(&self, value: &AttributeValue) -> Result<(), LimitError> {
        match value {
            AttributeValue::Text(text) if text.len() > Attributes::MAX_TEXT_BYTES => {
                Err(LimitError::AttributeTooLong { bytes: text.len() })
            }
            AttributeValue::Text(_)
            | AttributeValue::Integer(_)
            | AttributeValue::Time(_)
            | AttributeValue::Bool(_) => Ok(()),
        }
    }

    /// Checks a failure: its kind, its message and its details.
    ///
    /// # Errors
    ///
    /// The first name or payload that is refused.
    pub fn check_failure(&self, failure: &Failure) -> Result<(), LimitError> {
        if let FailureKind::Application(kind) = &failure.kind {
            self.check_name("failure kind", kind)?;
        }
        self.check_payload("failure message", &failure.message)?;
        let details = failure.details.as_ref();
        details.map_or(Ok(()), |details| {
            self.check_payload("failure details", details)
        })
    }
}

/// A name or a payload was refused; nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// A name must not be empty.
    EmptyName {
        /// Whose name it is.
        what: &'static str,
    },
    /// A name is too long.
    NameTooLong {
        /// Whose name it is.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The longest that is accepted.
        max_bytes: usize,
    },
    /// A payload is too large.
    PayloadTooLarge {
        /// What it is for.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The longest that is accepted.
        max_bytes: usize,
    },
    /// The engine alone publishes the view: names that begin with `durable.` are its own.
    ReservedViewName,
    /// An instance has at most so many views.
    TooManyViews {
        /// How many.
        max: usize,
    },
    /// An instance has at most [`Attributes::MAX`] attributes.
    TooManyAttributes,
    /// A filter could not name the attribute.
    InvalidAttributeName {
        /// Why not.
        fault: AttributeNameFault,
    },
    /// The text of an attribute has at most [`Attributes::MAX_TEXT_BYTES`] bytes.
    AttributeTooLong {
        /// Its length.
        bytes: usize,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyName { what } => write!(f, "the name of the {what} is empty"),
            Self::NameTooLong {
                what,
                bytes,
                max_bytes,
            } => write!(
                f,
                "the name of the {what} has {bytes} bytes; at most {max_bytes} are allowed"
            ),
            Self::PayloadTooLarge {
                what,
                bytes,
                max_bytes,
            } => write!(
                f,
                "the {what} has {bytes} bytes; at most {max_bytes} are allowed: \
                 store it elsewhere and pass a reference, or raise the limit"
            ),
            Self::ReservedViewName => {
                f.write_str("names of views that begin with `durable.` are reserved")
            }
            Self::TooManyViews { max } => write!(
                f,
                "an instance has at most {max} views: clear one first, or raise the limit"
            ),
            Self::TooManyAttributes => {
                write!(f, "an instance has at most {} attributes", Attributes::MAX)
            }
            Self::InvalidAttributeName { fault } => {
                write!(f, "the name of the attribute is refused: {fault}")
            }
            Self::AttributeTooLong { bytes } => write!(
                f,
                "the text of the attribute has {bytes} bytes; at most {} are allowed",
                Attributes::MAX_TEXT_BYTES
            ),
        }
    }
}

impl core::error::Error for LimitError {}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    #[test]
    fn the_limit_itself_is_allowed_and_one_more_is_not() {
        let limits = Limits::new().max_name_bytes(3).max_payload_bytes(5);
        assert_eq!(limits.check_name("queue", "abc"), Ok(()));
        assert_eq!(
            limits.check_name("queue", "abcd"),
            Err(LimitError::NameTooLong {
                what: "queue",
                bytes: 4,
                max_bytes: 3
            })
        );
        assert_eq!(limits.check_payload("input", "12345"), Ok(()));
        assert_eq!(limits.check_payload("input", ""), Ok(()));
        let error = limits.check_payload("input", "123456").unwrap_err();
        assert_eq!(
            error,
            LimitError::PayloadTooLarge {
                what: "input",
                bytes: 6,
                max_bytes: 5
            }
        );
        let sentence: String = alloc::format!("{error}");
        assert!(
            sentence.starts_with("the input has 6 bytes; at most 5 are allowed"),
            "{sentence}"
        );
    }
}
