//! Text that is hard on codecs, keys and terminals.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::select;

/// Texts that have broken something somewhere.
///
/// ```
/// use durable_testkit::strategy::NASTY_TEXTS;
///
/// assert!(NASTY_TEXTS.contains(&"null"));
/// ```
pub const NASTY_TEXTS: &[&str] = &[
    " ",
    "\0",
    "a\0b",
    "\n\r\t\u{b}\u{7f}\u{85}",
    "\"quoted\" and \\backslashed\\",
    "'; DROP TABLE history; --",
    "{curly} {slot:7}",
    "a/b/1/Promise(0)",
    "../../etc/passwd",
    "null",
    "\u{feff}begins with a byte order mark",
    "\u{202e}from right to left\u{202c}",
    "e\u{301} is not \u{e9}",
    "\u{200b}\u{200d}\u{2060}",
    "\u{d7ff}\u{e000}\u{fffd}\u{ffff}\u{10ffff}",
    "Straße, İstanbul, ὀδυσσεύς",
    "注文 🛒 👩‍👩‍👧‍👦",
    "\u{1b}[31mred\u{1b}[0m",
];

/// Any text: nasty, random over all of Unicode, long, or none.
///
/// ```
/// use durable_testkit::strategy::any_text;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let text = any_text().new_tree(&mut runner).unwrap().current();
/// assert_eq!(text, text.clone());
/// ```
pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => any_name(),
        1 => (any::<char>(), 0_usize..600)
            .prop_map(|(character, count)| String::from_iter(vec![character; count])),
    ]
}

/// Any text that can be a name: short and not empty.
///
/// ```
/// use durable_testkit::strategy::any_name;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let name = any_name().new_tree(&mut runner).unwrap().current();
/// assert!(!name.is_empty());
/// ```
pub fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => select(NASTY_TEXTS).prop_map(String::from),
        1 => vec(any::<char>(), 1..24).prop_map(String::from_iter),
        1 => "[a-z][a-z0-9-]{0,11}",
    ]
}

/// Any JSON text, nested now and then.
///
/// ```
/// use durable_testkit::strategy::any_payload;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let payload = any_payload().new_tree(&mut runner).unwrap().current();
/// assert!(serde_json::from_str::<serde_json::Value>(&payload).is_ok());
/// ```
pub fn any_payload() -> impl Strategy<Value = String> {
    (any_text(), any::<u64>(), 0_usize..4).prop_map(|(text, number, depth)| {
        let mut json = serde_json::json!({ "text": text, "number": number });
        for _ in 0..depth {
            json = serde_json::json!({ "inner": json.to_string(), "list": [json, null] });
        }
        json.to_string()
    })
}
