//! Page tokens: where a list goes on.
//!
//! A token is text that a caller keeps and hands back: letters, digits, `-` and `_`. It holds
//! the query, with times resolved, and the place after which the next page begins, behind a
//! checksum: a token that was cut or mistyped is refused, and so is one of another list. It
//! is no secret and no permission.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crc::{CRC_32_ISCSI, Crc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Filter;
use super::query::InstanceQuery;
use crate::provider::ProviderError;
use crate::text::InstanceId;

const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
const VERSION: u8 = 1;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A place in a list, as the store that made it orders instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PagePosition {
    /// The time by which the list is ordered; 0 if it is not ordered by time.
    pub time_ms: u64,
    /// A number of the store's own, which orders instances of one time.
    pub number: u64,
    /// The instance; empty if the store needs no id.
    pub instance: String,
}

impl PagePosition {
    /// A place that the time and a number of the store name.
    pub const fn numbered(time_ms: u64, number: u64) -> Self {
        Self {
            time_ms,
            number,
            instance: String::new(),
        }
    }

    /// A place that the time and the id of an instance name.
    pub fn of_instance(time_ms: u64, instance: &InstanceId) -> Self {
        Self {
            time_ms,
            number: 0,
            instance: instance.to_string(),
        }
    }
}

/// Where a list goes on: what [`InstancePage::next`](crate::provider::InstancePage::next) says
/// and the next call is given.
///
/// ```
/// use durable_core::filter::{InstanceQuery, PagePosition, PageToken};
///
/// let query = InstanceQuery::parse("status = failed", 0)?;
/// let token = PageToken::after(&query, PagePosition::numbered(7, 3));
/// let text = token.to_string();
/// let read: PageToken = text.parse().unwrap();
/// assert_eq!(read.query(), &query);
/// assert!(text[1..].parse::<PageToken>().is_err());
/// # Ok::<(), durable_core::filter::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToken(Box<Content>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    query: InstanceQuery,
    position: PagePosition,
}

impl PageToken {
    /// The longest token, in bytes of its text.
    pub const MAX_BYTES: usize = 2 * Filter::MAX_BYTES;

    /// The rest of this list after this place. Stores make tokens; callers keep them.
    pub fn after(query: &InstanceQuery, position: PagePosition) -> Self {
        Self(Box::new(Content {
            query: query.clone(),
            position,
        }))
    }

    /// The query whose list it continues.
    pub const fn query(&self) -> &InstanceQuery {
        &self.0.query
    }

    /// The place after which the list goes on, if it is of this query.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] if the token belongs to another query.
    pub fn position_in(&self, query: &InstanceQuery) -> Result<&PagePosition, ProviderError> {
        match self.0.query == *query {
            true => Ok(&self.0.position),
            false => Err(ProviderError::Invalid {
                reason: format!(
                    "the page token belongs to `{}` and not to `{query}`",
                    self.0.query
                ),
            }),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let Content { query, position } = &*self.0;
        let mut bytes = alloc::vec![VERSION];
        bytes.extend(position.time_ms.to_be_bytes());
        bytes.extend(position.number.to_be_bytes());
        let query = query.to_string();
        let length = u32::try_from(query.len()).unwrap_or(u32::MAX);
        bytes.extend(length.to_be_bytes());
        bytes.extend(query.as_bytes());
        bytes.extend(position.instance.as_bytes());
        bytes.extend(CHECKSUM.checksum(&bytes).to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (rest, checksum) = bytes.split_last_chunk()?;
        if CHECKSUM.checksum(rest) != u32::from_be_bytes(*checksum) {
            return None;
        }
        let (version, rest) = rest.split_first()?;
        let (time_ms, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (query, instance) = rest.split_at_checked(length)?;
        let text = core::str::from_utf8(query).ok()?;
        let query = InstanceQuery::parse(text, 0).ok()?;
        let is_canonical = *version == VERSION && query.to_string() == text;
        let position = PagePosition {
            time_ms: u64::from_be_bytes(*time_ms),
            number: u64::from_be_bytes(*number),
            instance: core::str::from_utf8(instance).ok()?.to_string(),
        };
        is_canonical.then(|| Self(Box::new(Content { query, position })))
    }
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for chunk in self.to_bytes().chunks(3) {
            let mut three = [0; 3];
            three[..chunk.len()].copy_from_slice(chunk);
            let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
            for digit in 0..=chunk.len() {
                let value = (bits >> (18 - 6 * digit)) & 0x3f;
                f.write_char(char::from(DIGITS[value as usize]))?;
            }
        }
        Ok(())
    }
}

impl FromStr for PageToken {
    type Err = InvalidPageToken;

    fn from_str(text: &str) -> Result<Self, InvalidPageToken> {
        if text.len() > Self::MAX_BYTES {
            return Err(InvalidPageToken);
        }
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
        for chunk in text.as_bytes().chunks(4) {
            let mut bits = 0_u32;
            for digit in chunk {
                let value = DIGITS.iter().position(|known| known == digit);
                let value = value.and_then(|value| u32::try_from(value).ok());
                bits = bits << 6 | value.ok_or(InvalidPageToken)?;
            }
            bits <<= 6 * (4 - chunk.len());
            let three = bits.to_be_bytes();
            bytes.extend(&three[1..chunk.len()]);
        }
        let token = Self::from_bytes(&bytes).ok_or(InvalidPageToken)?;
        // A token has one text: no digits beyond its bytes.
        match token.to_string() == text {
            true => Ok(token),
            false => Err(InvalidPageToken),
        }
    }
}

impl Serialize for PageToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PageToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The text is no page token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPageToken;

impl fmt::Display for InvalidPageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no page token, or a part of one")
    }
}

impl core::error::Error for InvalidPageToken {}
