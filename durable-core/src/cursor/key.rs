//! Outputs as keys: a block finds its place in the history by looking up, not by
//! comparing everything with everything.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use super::compare::{Owner, is_derived};
use crate::event::{Event, EventKind};
use crate::id::EventId;
use crate::text::{InstanceId, Payload};

/// What tells an output apart from the others of its block.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'a> {
    kind: EventKind,
    texts: [Cow<'a, str>; 3],
    numbers: [u64; 2],
}

/// How alike two outputs with equal keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// In everything that can be told.
    Exact,
    /// In what replay compares.
    Compared,
}

impl<'a> Key<'a> {
    /// Equal for two outputs that are as alike as two can be.
    pub(super) fn exact(owner: Owner<'_>, event: &'a Event) -> Self {
        Self::of(owner, event, Likeness::Exact)
    }

    /// Equal for two outputs that are the same command in replay. What a terminal
    /// carries is not in it: a block has only one.
    pub(super) fn compared(owner: Owner<'_>, event: &'a Event) -> Self {
        Self::of(owner, event, Likeness::Compared)
    }

    fn of(owner: Owner<'_>, event: &'a Event, likeness: Likeness) -> Self {
        let is_exact = likeness == Likeness::Exact;
        let json = |text: &'a Payload| match likeness {
            Likeness::Exact => Cow::Borrowed(text.as_str()),
            Likeness::Compared => canonical(text),
        };
        let uncompared = |text: &'a Payload| if is_exact { text.as_str() } else { "" };
        let (texts, numbers): ([&str; 2], [u64; 2]) = match event {
            Event::ActivityScheduled { name, input, .. } => {
                return Self::new(event, [name.as_str(), ""], json(input), [0, 0]);
            }
            Event::SubOrchestrationScheduled {
                event_id,
                name,
                instance,
                input,
                ..
            }
            | Event::OrchestrationChained {
                event_id,
                name,
                instance,
                input,
                ..
            } => {
                let instance = explicit(owner, instance, *event_id);
                return Self::new(event, [name.as_str(), instance], json(input), [0, 0]);
            }
            Event::ExternalSubscribed { name, .. } | Event::OperationCompleted { name, .. } => {
                ([name, ""], [0, 0])
            }
            Event::StateSet { key, value, .. } => ([key, uncompared(value)], [0, 0]),
            Event::StateCleared { key, .. } => ([key, ""], [0, 0]),
            Event::PromiseCreated { name, number, .. } => ([name, ""], [*number, 0]),
            Event::ExternalEventSent {
                target, name, data, ..
            } => {
                let data = Cow::Borrowed(uncompared(data));
                return Self::new(event, [target.as_str(), name.as_str()], data, [0, 0]);
            }
            Event::PromiseResolutionSent { target, .. } => (
                [&target.instance, ""],
                [target.execution_id.get(), target.number],
            ),
            Event::CustomStatusSet { status, .. } => ([uncompared(status), ""], [0, 0]),
            Event::PatchMarked { patch_id, .. } => ([patch_id, ""], [0, 0]),
            Event::TimerCreated { fire_at_ms, .. } if is_exact => (["", ""], [*fire_at_ms, 0]),
            _ => {
                let source = event.source_event_id().map_or(0, EventId::get);
                (["", ""], [source, 0])
            }
        };
        Self::new(event, texts, Cow::Borrowed(""), numbers)
    }

    fn new(event: &Event, texts: [&'a str; 2], payload: Cow<'a, str>, numbers: [u64; 2]) -> Self {
        let [first, second] = texts.map(Cow::Borrowed);
        Self {
            kind: event.kind(),
            texts: [first, second, payload],
            numbers,
        }
    }
}

/// A derived id counts as none, as in an output that has no position yet.
fn explicit<'a>(owner: Owner<'_>, instance: &'a InstanceId, at: EventId) -> &'a str {
    if is_derived(owner, instance, at) {
        ""
    } else {
        instance
    }
}

/// One text for all texts that are equal as JSON; other text as it is.
fn canonical(text: &str) -> Cow<'_, str> {
    match serde_json::from_str(text) {
        Ok(value) => {
            let mut canonical = String::new();
            write_sorted(&value, &mut canonical);
            Cow::Owned(canonical)
        }
        Err(_) => Cow::Borrowed(text),
    }
}

/// Whether the map keeps its order is a feature of `serde_json` that any crate of
/// a build can switch on, so the keys are sorted here.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                write_sorted(item, out);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            for (index, (key, field)) in sorted.into_iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_sorted(field, out);
            }
            out.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn equal_json_has_one_text_and_unequal_has_two() {
        let a = r#"{"b":[1, {"y":null,"x":"ä\n"}], "a":{}, "c":[]}"#;
        let b = r#"{ "a":{},"c":[],"b":[1,{"x":"\u00e4\n","y":null}]}"#;
        assert_eq!(canonical(a), canonical(b));
        assert_eq!(
            canonical(a),
            r#"{"a":{},"b":[1,{"x":"ä\n","y":null}],"c":[]}"#
        );
        for other in [r#"{"a":1}"#, r#"{"a":"1"}"#, "[]", "{}", "1", "1.0", "null"] {
            assert_ne!(canonical(a), canonical(other));
        }
        assert_ne!(canonical("1"), canonical("1.0"));
    }

    #[test]
    fn text_that_is_no_json_stands_for_itself() {
        assert_eq!(canonical("{a: 1 }"), "{a: 1 }");
    }
}
