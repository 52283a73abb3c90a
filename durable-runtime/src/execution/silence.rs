//! Silence for replays: a `tracing` subscriber that hears nothing.
//!
//! `Dispatch::none()` would not do: a place in the code that logs for the first time
//! under it is remembered by `tracing` as one that never logs, and stays silent in
//! live runs too. This subscriber is known to `tracing` beside the others, so each
//! place is asked about anew.

use std::sync::LazyLock;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber};

static SILENCE: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Silence));

/// Runs code without its `tracing` output.
pub(super) fn silenced<T>(code: impl FnOnce() -> T) -> T {
    tracing::dispatcher::with_default(&SILENCE, code)
}

struct Silence;

impl Subscriber for Silence {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::never()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::OFF)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
