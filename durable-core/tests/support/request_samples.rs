//! Entries of requests, for the golden files.

use durable_core::{Event, ExecutionId, Requester};

use super::samples::{Sample, at, declined, sample};

pub(super) fn requester() -> Requester {
    Requester::new("orders/7".into(), ExecutionId::new(2), at(9))
}

pub(super) fn requests() -> Vec<Sample> {
    vec![
        sample(
            "client",
            Event::RequestReceived {
                event_id: at(32),
                name: "add «+»".into(),
                input: r#"{"sku":"é"}"#.into(),
                message_id: "r-1".into(),
                requester: None,
            },
        ),
        sample(
            "orchestration",
            Event::RequestReceived {
                event_id: at(33),
                name: "pay".into(),
                input: "7".into(),
                message_id: "orders/7/2/9".into(),
                requester: Some(requester()),
            },
        ),
        sample(
            "ok",
            Event::RequestAnswered {
                event_id: at(34),
                source_event_id: at(32),
                message_id: "r-1".into(),
                result: Ok("3".into()),
            },
        ),
        sample(
            "err",
            Event::RequestAnswered {
                event_id: at(35),
                source_event_id: at(1),
                message_id: "r-½".into(),
                result: Err(declined()),
            },
        ),
        sample(
            None,
            Event::RequestSent {
                event_id: at(36),
                target: "cart/Łódź".into(),
                name: "add".into(),
                input: r#"["ä"]"#.into(),
            },
        ),
        sample(
            None,
            Event::RequestCompleted {
                event_id: at(37),
                source_event_id: at(36),
                result: "4".into(),
            },
        ),
        sample(
            None,
            Event::RequestFailed {
                event_id: at(38),
                source_event_id: at(36),
                failure: declined(),
            },
        ),
    ]
}
