//! The header `traceparent`: read strictly, written as it was read.
#![cfg(test)]

use durable_core::{ActivityOptions, InvalidTraceParent, TraceParent};
use proptest::prelude::*;

const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn read(text: &str) -> Result<TraceParent, InvalidTraceParent> {
    text.parse()
}

#[test]
fn a_header_is_read_and_written() {
    let parent = read(HEADER).unwrap();
    assert_eq!(parent.trace_id(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!(parent.span_id(), 0x00f0_67aa_0ba9_02b7);
    assert_eq!(parent.flags(), 1);
    assert!(parent.is_sampled());
    assert_eq!(parent.to_string(), HEADER);
    assert_eq!(format!("{parent:?}"), format!("TraceParent({HEADER})"));
    assert!(!read(&HEADER.replace("-01", "-fe")).unwrap().is_sampled());
}

#[test]
fn a_header_of_a_later_version_is_read_as_far_as_it_is_known() {
    for later in ["-01", "-01-", "-01-what follows"] {
        let text = HEADER.replacen("00", "01", 1).replace("-01", later);
        let text = format!("cc{}", &text[2..]);
        assert_eq!(read(&text), read(HEADER), "{text}");
    }
}

#[test]
fn what_is_no_header_is_refused() {
    let no_headers = [
        "",
        "-",
        "00",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        // Something after it, in version 00.
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
        // No such version.
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        // Ids that mean none.
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        // Digits of another kind.
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        "00-4bf92f3577b34da6a3ce929d0e0e47é-00f067aa0ba902b7-01",
    ];
    for text in no_headers {
        assert_eq!(read(text), Err(InvalidTraceParent), "{text}");
        let json = serde_json::to_string(text).unwrap();
        assert!(
            serde_json::from_str::<TraceParent>(&json).is_err(),
            "{text}"
        );
    }
    assert_eq!(TraceParent::new(0, 1, 0), None);
    assert_eq!(TraceParent::new(1, 0, 0), None);
}

#[test]
fn one_that_is_absent_takes_one_word_and_no_json() {
    assert_eq!(size_of::<Option<TraceParent>>(), size_of::<usize>());
    let json = serde_json::to_string(&ActivityOptions::default()).unwrap();
    assert!(!json.contains("trace"), "{json}");
}

proptest! {
    #[test]
    fn every_position_is_read_as_it_was_written(
        trace_id in 1..=u128::MAX,
        span_id in 1..=u64::MAX,
        flags in any::<u8>(),
    ) {
        let parent = TraceParent::new(trace_id, span_id, flags).unwrap();
        prop_assert_eq!(read(&parent.to_string()), Ok(parent.clone()));
        let json = serde_json::to_string(&parent).unwrap();
        prop_assert_eq!(serde_json::from_str::<TraceParent>(&json).unwrap(), parent);
    }

    #[test]
    fn no_text_is_read_as_something_that_is_written_differently(text in "00-[0-9a-fA-F]{31,33}-[0-9a-f]{15,17}-[0-9a-f]{1,3}") {
        if let Ok(parent) = read(&text) {
            prop_assert_eq!(parent.to_string(), text);
        }
    }
}
