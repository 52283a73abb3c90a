//! Values as text, so that a failed assertion shows what payloads say: their `Debug`
//! shows their length alone.

use durable_core::{OpPoll, Outcome};

pub(crate) use super::support::text::json;

/// What polling an operation gave.
pub(crate) fn polled(poll: &OpPoll) -> String {
    match poll {
        OpPoll::Ready(Outcome::Value(value)) => format!("Ready(Value({}))", value.as_str()),
        OpPoll::Ready(Outcome::Failed(failure)) => format!("Ready(Failed({}))", json(failure)),
        OpPoll::Item(item) => format!("Item({})", item.as_str()),
        other => format!("{other:?}"),
    }
}
