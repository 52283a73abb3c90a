//! Codes and lanes as scripts write them.
//!
//! The code of an instance is its orchestration with its version; the lane of work is its
//! activity with its queue. Both are written `length:length:name…`, so that none is the
//! beginning of another; a length of `-` is no version, or the default queue.

use durable_core::Name;
use durable_core::provider::{Change, RequiredCode, ServedCode};

use crate::script::Args;

/// The code that an instance needs which needs none.
const NO_CODE: &str = "-";

/// A code as scripts write it.
pub(crate) fn code_text(code: &RequiredCode) -> String {
    match code {
        RequiredCode::None => NO_CODE.into(),
        RequiredCode::Orchestration { name, version } => pair_text(name, version.as_deref()),
    }
}

/// A code as a script wrote it.
pub(crate) fn code_of(text: &str) -> Option<RequiredCode> {
    if text == NO_CODE {
        return Some(RequiredCode::None);
    }
    let (name, version) = pair_of(text)?;
    Some(RequiredCode::new(name, version.map(Into::into)))
}

/// What has changed when work in this lane has become ready.
pub(crate) fn work_in_lane(text: &str) -> Option<Change> {
    let (activity, queue) = pair_of(text)?;
    Some(Change::Work {
        queue: queue.map(Name::from),
        activity: activity.into(),
    })
}

/// Appends the fields of a session's hash that say what its node has, with their values: `o:`
/// and a code, `a:` and an activity, or `*` if it runs any code.
pub(crate) fn push_served(args: &mut Args, served: Option<&ServedCode>) {
    let Some(served) = served else {
        args.push("*").push("1");
        return;
    };
    for (name, versions) in &served.orchestrations {
        let versions = versions.iter().cloned().map(Some).chain([None]);
        for version in versions {
            let code = RequiredCode::new(name, version);
            args.push(format!("o:{}", code_text(&code))).push("1");
        }
    }
    for name in &served.activities {
        args.push(format!("a:{name}")).push("1");
    }
}

fn pair_text(name: &str, other: Option<&str>) -> String {
    let length = name.len();
    match other {
        Some(other) => format!("{length}:{}:{name}{other}", other.len()),
        None => format!("{length}:-:{name}"),
    }
}

fn pair_of(text: &str) -> Option<(&str, Option<&str>)> {
    let (length, rest) = text.split_once(':')?;
    let (other_length, rest) = rest.split_once(':')?;
    let (name, other) = rest.split_at_checked(length.parse().ok()?)?;
    match other_length {
        "-" => other.is_empty().then_some((name, None)),
        length => (length.parse() == Ok(other.len())).then_some((name, Some(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 8] = ["a", "", "1:2:ab", ":", "-", "a:b", "ü", "\0"];

    #[test]
    fn codes_and_lanes_survive_and_none_is_the_beginning_of_another() {
        let mut texts = vec![code_text(&RequiredCode::None)];
        for name in NAMES {
            let versions = NAMES.map(Some).into_iter().chain([None]);
            for other in versions {
                let code = RequiredCode::new(name, other.map(Into::into));
                let text = code_text(&code);
                assert_eq!(code_of(&text), Some(code));
                let lane = Change::Work {
                    queue: other.map(Name::from),
                    activity: name.into(),
                };
                assert_eq!(work_in_lane(&text), Some(lane));
                texts.push(text);
            }
        }
        for (place, text) in texts.iter().enumerate() {
            let others = texts.iter().enumerate();
            let mut others = others.filter(|(other, _)| *other != place);
            assert!(others.all(|(_, other)| !other.starts_with(text)), "{text}");
        }
        assert_eq!(code_of("-"), Some(RequiredCode::None));
    }

    #[test]
    fn a_session_has_a_field_for_all_that_its_node_can_run() {
        let fields = |served: Option<&ServedCode>| {
            let mut args = Args::default();
            push_served(&mut args, served);
            let texts = args.iter().map(|bytes| String::from_utf8(bytes.to_vec()));
            texts.collect::<Result<Vec<_>, _>>().unwrap()
        };
        let served = ServedCode::new()
            .orchestration("order", "1.0.0")
            .activity("charge");
        let expected = ["o:5:5:order1.0.0", "1", "o:5:-:order", "1", "a:charge", "1"];
        assert_eq!(fields(Some(&served)), expected);
        assert_eq!(fields(Some(&ServedCode::new())), Vec::<String>::new());
        assert_eq!(fields(None), ["*", "1"]);
    }

    #[test]
    fn torn_texts_are_no_codes() {
        for torn in [
            "", "x", "1:", "1:-:", "1:-:ab", "1:2:ab", "2:-:ü1", "1:-:ü", "9:1:a",
        ] {
            assert_eq!(code_of(torn), None, "{torn}");
        }
        assert_eq!(work_in_lane("-"), None);
    }
}
