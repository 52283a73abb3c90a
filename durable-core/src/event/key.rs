//! Events as keys: the outputs of a block are found in the history by looking up, not by
//! comparing everything with everything. What belongs to a key follows from the roles
//! of the fields.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use super::compare::Owner;
use super::define::{Event, EventKind};

/// What tells an event apart from the others of its block.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventKey<'a> {
    likeness: Likeness,
    kind: EventKind,
    parts: Vec<KeyPart<'a>>,
}

/// How alike two events with equal keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// In everything that can be told.
    Exact,
    /// In what replay compares.
    Compared,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart<'a> {
    Text(Cow<'a, str>),
    Number(u64),
}

impl<'a> EventKey<'a> {
    /// Equal for two outputs that are as alike as two can be.
    pub(crate) fn exact(owner: Owner<'_>, event: &'a Event) -> Self {
        Self::of(owner, event, Likeness::Exact)
    }

    /// Equal for two outputs that are the same command in replay.
    pub(crate) fn compared(owner: Owner<'_>, event: &'a Event) -> Self {
        Self::of(owner, event, Likeness::Compared)
    }

    fn of(owner: Owner<'_>, event: &'a Event, likeness: Likeness) -> Self {
        let mut key = Self {
            likeness,
            kind: event.kind(),
            parts: Vec::new(),
        };
        event.add_to_key(&mut key, owner);
        key
    }

    /// Whether what replay does not compare belongs to the key.
    pub(super) fn is_exact(&self) -> bool {
        self.likeness == Likeness::Exact
    }

    /// Adds a text.
    pub(super) fn add_text(&mut self, text: &'a str) {
        self.parts.push(KeyPart::Text(Cow::Borrowed(text)));
    }

    /// Adds a text that replay compares as JSON.
    pub(super) fn add_json(&mut self, text: &'a str) {
        self.parts.push(KeyPart::Text(match self.likeness {
            Likeness::Exact => Cow::Borrowed(text),
            Likeness::Compared => canonical(text),
        }));
    }

    /// Adds a number.
    pub(super) fn add_number(&mut self, number: u64) {
        self.parts.push(KeyPart::Number(number));
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
