//! Attributes as a server keeps them: all of an instance as JSON in its record, and each as a
//! member of the partition's index.
//!
//! A member is `name kind value end id`, in bytes whose order is that of the values: so those
//! of one attribute are together, in their order, and then by id.

use durable_core::{AttributeKind, AttributeValue};

/// What follows a value: less than all that can follow the beginning of a longer text.
const END: [u8; 2] = [0, 0];
/// What stands for the byte 0 in a text.
const ZERO: [u8; 2] = [0, 0xff];

/// An attribute as a member of the index, without the id of the instance.
pub(crate) fn member(name: &str, value: &AttributeValue) -> Vec<u8> {
    let mut member = group(name, value.kind());
    push_value(&mut member, value);
    member.extend(END);
    member
}

/// What the members of an attribute begin with.
pub(crate) fn group(name: &str, kind: AttributeKind) -> Vec<u8> {
    format!("{name} {}", kind.number()).into_bytes()
}

pub(crate) fn push_value(member: &mut Vec<u8>, value: &AttributeValue) {
    match value {
        AttributeValue::Text(text) => push_text(member, text),
        AttributeValue::Integer(number) | AttributeValue::Time(number) => {
            // Negative numbers come first.
            let raised = number.cast_unsigned() ^ (1 << 63);
            member.extend(format!("{raised:016x}").into_bytes());
        }
        AttributeValue::Bool(truth) => member.push(b'0' + u8::from(*truth)),
    }
}

pub(crate) fn push_text(member: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            0 => member.extend(ZERO),
            byte => member.push(byte),
        }
    }
}

/// The id in a member of an attribute with this group.
pub(crate) fn id_of<'a>(group: &[u8], member: &'a [u8]) -> Option<&'a [u8]> {
    let value = member.strip_prefix(group)?;
    let end = value.windows(END.len()).position(|bytes| bytes == END)?;
    value.get(end + END.len()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_in_the_order_of_their_values() {
        let text = |text: &str| AttributeValue::Text(text.into());
        let sorted = [
            vec![
                text(""),
                text("\0"),
                text("\0\0"),
                text("\0a"),
                text("\u{1}"),
                text("a"),
                text("a\0"),
                text("ab"),
                text("b"),
                text("ü"),
            ],
            [i64::MIN, -2, -1, 0, 1, 255, i64::MAX]
                .map(AttributeValue::Integer)
                .to_vec(),
            [false, true].map(AttributeValue::Bool).to_vec(),
        ];
        for values in sorted {
            let mut members: Vec<Vec<u8>> = Vec::new();
            for value in &values {
                for id in ["", "\0", "a", "zz"] {
                    members.push([member("x", value), id.into()].concat());
                }
            }
            assert!(members.is_sorted(), "{values:?}");
        }
    }
}
