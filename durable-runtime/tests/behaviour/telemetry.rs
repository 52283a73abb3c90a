//! Listens to metrics and spans on the thread of a test.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

/// Counts counters and the samples of histograms.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    values: Mutex<BTreeMap<String, Arc<Value>>>,
}

#[derive(Debug, Default)]
struct Value(AtomicU64);

impl Metrics {
    /// The value of a counter, or the number of samples of a histogram; with
    /// labels as `name{label=value}`.
    pub(crate) fn get(&self, name: &str) -> u64 {
        let values = self.values.lock().unwrap();
        values
            .get(name)
            .map_or(0, |value| value.0.load(Ordering::Relaxed))
    }

    fn value(&self, key: &Key) -> Arc<Value> {
        let labels: Vec<String> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        let name = match labels.is_empty() {
            true => key.name().to_string(),
            false => format!("{}{{{}}}", key.name(), labels.join(",")),
        };
        self.values.lock().unwrap().entry(name).or_default().clone()
    }
}

impl CounterFn for Value {
    fn increment(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl HistogramFn for Value {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Recorder for Metrics {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.value(key))
    }
}

/// Remembers spans and events with their fields.
#[derive(Clone, Default)]
pub(crate) struct Spans {
    seen: Arc<Mutex<Vec<Seen>>>,
    changed: Arc<Condvar>,
    next: Arc<AtomicU64>,
}

/// A span or an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    id: u64,
    pub(crate) name: String,
    pub(crate) fields: BTreeMap<String, String>,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

/// Listens while it lives.
pub(crate) struct Listening {
    _this_thread: tracing::subscriber::DefaultGuard,
    /// With a single subscriber in the process, whichever thread comes first decides
    /// for all whether a span is of topic. With two, all are asked.
    _second: tracing::Dispatch,
}

impl Spans {
    /// Listens on this thread.
    pub(crate) fn listen(&self) -> Listening {
        Listening {
            _this_thread: tracing::subscriber::set_default(self.clone()),
            _second: tracing::Dispatch::new(Self::default()),
        }
    }

    /// The spans and events of this name; the name of an event is its message.
    pub(crate) fn named(&self, name: &str) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|seen| seen.name == name)
            .cloned()
            .collect()
    }
}

impl Spans {
    /// Blocks until so many spans or events of this name were seen, and gives them.
    pub(crate) fn wait_for(&self, name: &str, count: usize) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        let is_meant = |seen: &&Seen| seen.name == name;
        let waits = |seen: &mut Vec<Seen>| seen.iter().filter(is_meant).count() < count;
        let bound = Duration::from_secs(60);
        let (seen, timeout) = self.changed.wait_timeout_while(seen, bound, waits).unwrap();
        assert!(!timeout.timed_out(), "only {seen:#?} were seen");
        seen.iter().filter(is_meant).cloned().collect()
    }
}

struct Fields<'a>(&'a mut Seen);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.0.name = text,
            name => drop(self.0.fields.insert(name.to_string(), text)),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl tracing::Subscriber for Spans {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("durable_runtime")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut seen = Seen {
            id,
            name: span.metadata().name().to_string(),
            ..Seen::default()
        };
        span.record(&mut Fields(&mut seen));
        self.seen.lock().unwrap().push(seen);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut all = self.seen.lock().unwrap();
        if let Some(seen) = all.iter_mut().find(|seen| seen.id == span.into_u64()) {
            values.record(&mut Fields(seen));
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut seen = Seen::default();
        event.record(&mut Fields(&mut seen));
        self.seen.lock().unwrap().push(seen);
        self.changed.notify_all();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
