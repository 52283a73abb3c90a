//! Answers of scripts, read one value after the other.

use std::str::FromStr;
use std::vec;

use durable_core::InstanceId;
use durable_core::provider::{ClaimedWork, ProviderError, SessionId};
use redis::Value;

use crate::codec::item_of;
use crate::error::unexpected;
use crate::keys::work_key;

/// The rest of an answer.
#[derive(Debug)]
pub(crate) struct Reply(vec::IntoIter<Value>);

impl Reply {
    pub(crate) fn new(value: Value) -> Result<Self, ProviderError> {
        match value {
            Value::Array(values) => Ok(Self(values.into_iter())),
            other => Err(unexpected(format_args!("{} for a list", sort_of(&other)))),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, ProviderError> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            other => Err(unexpected(format_args!(
                "{} for bytes",
                other.as_ref().map_or("nothing", sort_of)
            ))),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, ProviderError> {
        String::from_utf8(self.bytes()?).map_err(unexpected)
    }

    pub(crate) fn number<T: FromStr>(&mut self) -> Result<T, ProviderError> {
        let text = self.text()?;
        text.parse()
            .map_err(|_| unexpected(format_args!("`{text}` for a number")))
    }

    /// A time, or nothing as an empty text. What no clock ever shows is the end of time.
    pub(crate) fn maybe_time(&mut self) -> Result<Option<u64>, ProviderError> {
        let text = self.text()?;
        match text.as_str() {
            "" => Ok(None),
            text if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some(text.parse().unwrap_or(u64::MAX)))
            }
            text => Err(unexpected(format_args!("`{text}` for a time"))),
        }
    }

    pub(crate) fn flag(&mut self) -> Result<bool, ProviderError> {
        Ok(self.bytes()? == b"1")
    }

    /// `+value` or `-`.
    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, ProviderError> {
        let text = self.text()?;
        Ok(text.strip_prefix('+').map(str::to_owned))
    }

    pub(crate) fn list(&mut self) -> Result<Self, ProviderError> {
        match self.0.next() {
            Some(value) => Self::new(value),
            None => Err(unexpected("nothing for a list")),
        }
    }

    /// Work that was claimed by this session, and what of it cannot be read.
    pub(crate) fn claimed(&mut self, session: SessionId) -> Result<Claimed, ProviderError> {
        let mut claimed = Claimed::default();
        while !self.is_empty() {
            let text = self.text()?;
            let key = work_key(&text).ok_or_else(|| unexpected("a work key"))?;
            let (token, attempt, crashes) = (self.number()?, self.number()?, self.number()?);
            let heartbeat = self.optional_text()?.map(Into::into);
            match item_of(format_args!("work item {text}"), &key, &self.bytes()?) {
                Ok(item) => {
                    let mut work = ClaimedWork::new(item, session, token);
                    work.attempt = attempt;
                    work.crashes = crashes;
                    work.heartbeat = heartbeat;
                    claimed.work.push(work);
                }
                Err(error) => claimed.damaged.push((key.instance, error)),
            }
        }
        Ok(claimed)
    }
}

/// Work that a session has claimed.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    pub(crate) work: Vec<ClaimedWork>,
    /// Items that cannot be read stay leased to the session; their instances are to be
    /// stopped.
    pub(crate) damaged: Vec<(InstanceId, ProviderError)>,
}

fn sort_of(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Int(_) => "an integer",
        Value::BulkString(_) => "bytes",
        Value::Array(_) => "a list",
        Value::SimpleString(_) | Value::Okay => "a status",
        _ => "something else",
    }
}
