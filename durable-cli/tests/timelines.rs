//! Whatever the history, a timeline is drawn, fits, and is well-formed.
#![cfg(test)]

use std::time::Duration;

use durable_cli::{Mark, Timeline};
use durable_core::{EarlierAttempts, Event, EventId, ExecutionId, History};
use durable_testkit::{HistoryBuilder, strategy};
use proptest::prelude::*;

/// A picture without its colours.
fn plain(timeline: &Timeline, columns: usize) -> String {
    anstream::adapter::strip_str(&timeline.to_text(columns)).to_string()
}

#[test]
fn a_picture_is_what_it_is_meant_to_be() {
    let history = HistoryBuilder::new("order-7")
        .at_ms(10_000)
        .started("order", &7)
        .activity("reserve", &7)
        .activity("charge", &7)
        .later(Duration::from_secs(2))
        .completed(2, &7)
        .timer(Duration::from_secs(60))
        .later(Duration::from_secs(2))
        .failed(3, durable_core::Failure::application("declined", "no"))
        .awaiting("approval")
        .build()
        .unwrap();
    let timeline = Timeline::of(&history, 20_000).with_mark(Mark {
        at_ms: 15_000,
        label: "deploy".into(),
    });
    let expected = "\
order-7 · order 1.0.0 · execution 1 · running for 10 s
                 0 ms                    5 s
2 reserve        ██████████              ┊                         2 s
3 charge         ███████████████████✗    ┊                         declined
5 timer 1 min             ───────────────────────────────────────▶ open
7 event approval                    ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▶ open
┊ 5 s: deploy
";
    assert_eq!(plain(&timeline, 76), expected);
    let svg = timeline.to_svg();
    for part in [
        "activity failed",
        "timer open",
        "listens open",
        "mark-label",
        "deploy",
    ] {
        assert!(svg.contains(part), "{part} in\n{svg}");
    }
}

#[test]
fn retries_and_crashes_stand_beside_their_calls() {
    let mut history = HistoryBuilder::new("order-7")
        .at_ms(0)
        .started("order", &7)
        .activity("reserve", &7)
        .activity("charge", &7)
        .activity("ship", &7)
        .later(Duration::from_secs(2))
        .completed(2, &7)
        .failed(3, durable_core::Failure::application("declined", "no"))
        .build()
        .unwrap();
    for entry in &mut history.entries {
        match &mut entry.event {
            Event::ActivityCompleted {
                earlier_attempts, ..
            } => *earlier_attempts = EarlierAttempts::new(2, 1),
            Event::ActivityFailed {
                earlier_attempts, ..
            } => *earlier_attempts = EarlierAttempts::new(0, 2),
            _ => {}
        }
    }
    let timeline = Timeline::of(&history, 4_000)
        .with_attempts(EventId::new(4), EarlierAttempts::new(1, 0))
        .with_attempts(EventId::new(2), EarlierAttempts::new(9, 9))
        .with_attempts(EventId::new(99), EarlierAttempts::new(9, 9));
    let expected = "\
order-7 · order 1.0.0 · execution 1 · running for 4 s
          0 ms     2 s
2 reserve ██████████           2 s, 2 retries, 1 crash
3 charge  █████████✗           declined, 2 crashes
4 ship    ███████████████████▶ open, 1 retry
";
    assert_eq!(plain(&timeline, 54), expected);
    let svg = timeline.to_svg();
    for note in [
        "2 s, 2 retries, 1 crash",
        "declined, 2 crashes",
        "open, 1 retry",
    ] {
        assert!(svg.contains(note), "{note} in\n{svg}");
    }
}

#[test]
fn waits_that_repeat_share_a_row() {
    let mut history = HistoryBuilder::new("poll-1").at_ms(0).started("poll", &7);
    for round in 0..4 {
        // Each round has an activity of a second and a timer of as long: events 2 to 5, 6 to 9, …
        let scheduled = 2 + 4 * round;
        history = history
            .activity("look", &7)
            .later(Duration::from_secs(1))
            .completed(scheduled, &7)
            .timer(Duration::from_secs(1))
            .later(Duration::from_secs(1))
            .fired(scheduled + 2);
    }
    let history = history.build().unwrap();
    let timeline = Timeline::of(&history, 8_000);
    let expected = "\
poll-1 · poll 1.0.0 · execution 1 · running for 8 s
                0 ms                   5 s
 2 look         █████                                   1 s
 4 timer 1 s ×4     ──────    ──────   ──────    ────── 1 s
 6 look                  ██████                         1 s
10 look                            █████                1 s
14 look                                     ██████      1 s
";
    assert_eq!(plain(&timeline, 60), expected);
    let timers = timeline
        .to_svg()
        .matches("class=\"timer succeeded\"")
        .count();
    assert_eq!(timers, 4);
}

#[test]
fn a_history_without_events_is_drawn_too() {
    let history = History::new("order-7".into(), ExecutionId::FIRST, Vec::new());
    let timeline = Timeline::of(&history, 7);
    assert!(plain(&timeline, 80).contains("nothing was asked for yet"));
    assert!(timeline.to_svg().ends_with("</svg>\n"));
}

fn is_well_formed(svg: &str) -> bool {
    let opened = svg.matches('<').count();
    let closed = svg.matches('>').count();
    opened == closed && svg.starts_with("<svg ") && svg.ends_with("</svg>\n")
}

proptest! {
    #[test]
    fn any_valid_history_is_drawn(
        history in strategy::valid_history(),
        now_ms in any::<u64>(),
        columns in 0_usize..300,
    ) {
        let timeline = Timeline::of(&history, now_ms);
        let text = plain(&timeline, columns);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        prop_assert!(is_well_formed(&timeline.to_svg()));
    }

    #[test]
    fn even_a_history_that_cannot_be_is_drawn(
        entries in proptest::collection::vec(strategy::any_entry(), 0..20),
        now_ms in any::<u64>(),
    ) {
        let history = History::new("order-7".into(), ExecutionId::FIRST, entries);
        let timeline = Timeline::of(&history, now_ms);
        prop_assert!(!plain(&timeline, 100).is_empty());
        prop_assert!(is_well_formed(&timeline.to_svg()));
    }
}
