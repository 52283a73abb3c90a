//! Text that is hard on codecs, keys and terminals.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Texts that have broken something somewhere.
pub(crate) const NASTY: &[&str] = &[
    "",
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

/// Any text: nasty, random over all of Unicode, nested JSON, or long.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(NASTY).prop_map(String::from),
        3 => vec(any::<char>(), 0..24).prop_map(String::from_iter),
        1 => any_json_text(),
        1 => (any::<char>(), 0_usize..600)
            .prop_map(|(character, count)| String::from_iter(vec![character; count])),
    ]
}

/// JSON that holds JSON that holds JSON, each as a string of the next.
pub(crate) fn any_json_text() -> impl Strategy<Value = String> {
    (vec(any::<char>(), 0..12), any::<u64>(), 0_usize..4).prop_map(|(text, number, depth)| {
        let text = String::from_iter(text);
        let mut json = serde_json::json!({ "text": text, "number": number });
        for _ in 0..depth {
            json = serde_json::json!({ "inner": json.to_string(), "list": [json, null] });
        }
        json.to_string()
    })
}

/// A value as JSON: what a failed test shows of payloads, whose `Debug` shows their
/// length alone.
pub(crate) fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string_pretty(value).unwrap()
}
