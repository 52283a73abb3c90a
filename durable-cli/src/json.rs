//! JSON in and out: arguments that people type, payloads as the values they are.

use std::fmt;
use std::io::Read as _;
use std::str::FromStr;

use durable_core::Name;
use serde_json::Value;

/// A JSON argument: the text itself, `@file`, or `-` for standard input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonArg(pub(crate) Value);

/// Why a JSON argument is none.
#[derive(Debug)]
pub(crate) enum InvalidJson {
    Unreadable(std::io::Error),
    Malformed {
        text: String,
        error: serde_json::Error,
    },
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            Self::Malformed { text, error } => {
                write!(f, "it is not JSON: {error}")?;
                let is_word = text
                    .chars()
                    .all(|c| c.is_alphanumeric() || " -_.".contains(c));
                match is_word && !text.is_empty() {
                    true => write!(f, "; a text is written in quotes: '\"{text}\"'"),
                    false => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for InvalidJson {}

/// An event on the command line: `name=json`.
#[derive(Debug, Clone)]
pub(crate) struct EventArg {
    pub(crate) name: Name,
    pub(crate) data: Value,
}

impl FromStr for EventArg {
    type Err = String;

    fn from_str(argument: &str) -> Result<Self, String> {
        let (name, data) = argument
            .split_once('=')
            .ok_or("an event is written NAME=JSON")?;
        let JsonArg(data) = data
            .parse()
            .map_err(|error: InvalidJson| error.to_string())?;
        let name = Name::from(name);
        Ok(Self { name, data })
    }
}

impl FromStr for JsonArg {
    type Err = InvalidJson;

    fn from_str(argument: &str) -> Result<Self, InvalidJson> {
        let text = match argument.strip_prefix('@') {
            Some(path) => std::fs::read_to_string(path).map_err(InvalidJson::Unreadable)?,
            None if argument == "-" => {
                let mut text = String::new();
                std::io::stdin()
                    .read_to_string(&mut text)
                    .map_err(InvalidJson::Unreadable)?;
                text
            }
            None => argument.to_owned(),
        };
        serde_json::from_str(&text)
            .map(Self)
            .map_err(|error| InvalidJson::Malformed { text, error })
    }
}

/// A payload as the value that it is; one that is not JSON, as a text.
pub(crate) fn value_of(payload: &str) -> Value {
    serde_json::from_str(payload).unwrap_or_else(|_| Value::from(payload))
}
