//! Attributes: a few typed values by which instances are found.
//!
//! They are stored in the clear, as names are, and indexed by every store, so they are few and
//! small: [`Limits`](crate::Limits) checks what the constants of [`Attributes`] say. Nothing
//! here knows how a store keeps them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::provider::ProviderError;
use crate::text::Name;

/// The value of an attribute.
///
/// Values of one type are ordered, texts by their bytes; a value is never equal to, before or
/// after one of another type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A time, in milliseconds since the Unix epoch; negative before it.
    Time(i64),
    /// Yes or no.
    Bool(bool),
}

impl AttributeValue {
    /// Its type.
    pub const fn kind(&self) -> AttributeKind {
        match self {
            Self::Text(_) => AttributeKind::Text,
            Self::Integer(_) => AttributeKind::Integer,
            Self::Time(_) => AttributeKind::Time,
            Self::Bool(_) => AttributeKind::Bool,
        }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

/// The type of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttributeKind {
    /// A text.
    Text,
    /// An integer.
    Integer,
    /// A time.
    Time,
    /// Yes or no.
    Bool,
}

impl AttributeKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Integer, Self::Time, Self::Bool];

    /// A number for it that never changes: what stores keep.
    pub const fn number(self) -> u8 {
        match self {
            Self::Text => 1,
            Self::Integer => 2,
            Self::Time => 3,
            Self::Bool => 4,
        }
    }

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

impl fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Time => "time",
            Self::Bool => "bool",
        })
    }
}

/// The attributes of an instance, by name.
///
/// ```
/// use durable_core::{AttributeValue, Attributes};
///
/// let mut attributes = Attributes::new();
/// attributes.set("customer", "c-17");
/// attributes.set("amount", 12_i64);
/// assert_eq!(attributes.get("amount"), Some(&AttributeValue::Integer(12)));
/// assert_eq!(attributes.len(), 2);
/// assert_eq!(Attributes::from_json(&attributes.to_json()?)?, attributes);
/// # Ok::<(), durable_core::provider::ProviderError>(())
/// ```
///
/// Most instances have none, and they stand in many places: an empty one is a single word.
#[derive(Clone, PartialEq, Eq, Default)]
#[expect(clippy::box_collection, reason = "an empty one is to be small")]
pub struct Attributes(Option<Box<BTreeMap<Name, AttributeValue>>>);

impl Attributes {
    /// An instance has at most so many.
    pub const MAX: usize = 16;
    /// The longest name, in bytes.
    pub const MAX_NAME_BYTES: usize = 64;
    /// The longest text, in bytes.
    pub const MAX_TEXT_BYTES: usize = 256;

    /// None.
    pub const fn new() -> Self {
        Self(None)
    }

    /// The value of this one.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.as_ref()?.get(name)
    }

    /// Sets one; answers with the value that it had.
    pub fn set(
        &mut self,
        name: impl Into<Name>,
        value: impl Into<AttributeValue>,
    ) -> Option<AttributeValue> {
        let attributes = self.0.get_or_insert_default();
        attributes.insert(name.into(), value.into())
    }

    /// Removes one; answers with the value that it had.
    pub fn clear(&mut self, name: &str) -> Option<AttributeValue> {
        let attributes = self.0.as_mut()?;
        let cleared = attributes.remove(name);
        if attributes.is_empty() {
            self.0 = None;
        }
        cleared
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |attributes| attributes.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// As JSON, in which a store can keep them.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] if they cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, ProviderError> {
        serde_json::to_string(self).map_err(|error| ProviderError::Invalid {
            reason: format!("attributes cannot be encoded: {error}"),
        })
    }

    /// From JSON that [`to_json`](Self::to_json) wrote, in this version or an earlier one.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Damaged`] if it is something else.
    pub fn from_json(json: &str) -> Result<Self, ProviderError> {
        serde_json::from_str(json).map_err(|error| ProviderError::Damaged {
            reason: format!("attributes: {error}"),
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &AttributeValue)> {
        self.0.iter().flat_map(|attributes| attributes.iter())
    }
}

impl FromIterator<(Name, AttributeValue)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (Name, AttributeValue)>>(attributes: I) -> Self {
        let attributes: BTreeMap<_, _> = attributes.into_iter().collect();
        Self((!attributes.is_empty()).then(|| Box::new(attributes)))
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let attributes = BTreeMap::deserialize(deserializer)?;
        Ok(attributes.into_iter().collect())
    }
}

/// Words that a filter reads as something else than an attribute.
const RESERVED: [&str; 22] = [
    "id", "name", "version", "status", "created", "changed", "parent", "and", "or", "not", "in",
    "between", "starts", "with", "has", "order", "by", "asc", "desc", "true", "false", "now",
];

/// Why this is no name of an attribute, if it is none: a filter names attributes as they are.
///
/// It can be asked at compile time.
pub const fn attribute_name_fault(name: &str) -> Option<AttributeNameFault> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > Attributes::MAX_NAME_BYTES {
        return Some(AttributeNameFault::Length);
    }
    if !bytes[0].is_ascii_alphabetic() {
        return Some(AttributeNameFault::FirstCharacter);
    }
    let mut at = 1;
    while at < bytes.len() {
        if !(bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'-' | b'.')) {
            return Some(AttributeNameFault::Character);
        }
        at += 1;
    }
    let mut word = 0;
    while word < RESERVED.len() {
        if is_same_word(bytes, RESERVED[word].as_bytes()) {
            return Some(AttributeNameFault::Reserved);
        }
        word += 1;
    }
    None
}

const fn is_same_word(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if !a[at].eq_ignore_ascii_case(&b[at]) {
            return false;
        }
        at += 1;
    }
    true
}

/// Why a text is no name of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeNameFault {
    /// It is empty, or longer than [`Attributes::MAX_NAME_BYTES`].
    Length,
    /// It does not begin with a letter of the Latin alphabet.
    FirstCharacter,
    /// It has something else than letters of the Latin alphabet, digits, `_`, `-` and `.`.
    Character,
    /// It is a field or a word of the filter language.
    Reserved,
}

impl fmt::Display for AttributeNameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "it must have 1 to {} bytes", Attributes::MAX_NAME_BYTES),
            Self::FirstCharacter => f.write_str("it must begin with a letter (a to z)"),
            Self::Character => {
                f.write_str("it may have letters (a to z), digits, `_`, `-` and `.`")
            }
            Self::Reserved => f.write_str("it is a word of the filter language"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_that_a_filter_can_read() {
        for good in ["a", "customer", "Region-2", "order.total", "x_1"] {
            assert_eq!(attribute_name_fault(good), None, "{good}");
        }
        let long = "a".repeat(Attributes::MAX_NAME_BYTES + 1);
        for (bad, fault) in [
            ("", AttributeNameFault::Length),
            (long.as_str(), AttributeNameFault::Length),
            ("1st", AttributeNameFault::FirstCharacter),
            ("größe", AttributeNameFault::Character),
            ("a b", AttributeNameFault::Character),
            ("Status", AttributeNameFault::Reserved),
            ("and", AttributeNameFault::Reserved),
        ] {
            assert_eq!(attribute_name_fault(bad), Some(fault), "{bad}");
        }
        assert_eq!(attribute_name_fault(&long[1..]), None);
    }

    #[test]
    fn a_kind_has_its_number() {
        for kind in AttributeKind::ALL {
            assert_eq!(AttributeKind::from_number(kind.number()), Some(kind));
        }
        assert_eq!(AttributeKind::from_number(0), None);
    }
}
