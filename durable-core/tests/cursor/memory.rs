//! A live execution keeps what is open, and nothing of what it consumed.

use allocation_counter::measure;
use durable_core::{Delivery, Event, OpKey, OpPoll};

use super::driver::Driver;
use super::events::{completed, ok, raised, resolved};

/// What the allocator may round up or keep in a table that has grown once.
const NOISE_BYTES: i64 = 4_096;

/// Calls the cursor as a runtime does that stores what is appended and forgets it.
struct Runtime {
    code: Driver,
}

impl Runtime {
    fn new() -> Self {
        let mut runtime = Self {
            code: Driver::live(),
        };
        runtime.flush();
        runtime
    }

    fn flush(&mut self) {
        self.code.cursor.flush().unwrap();
        drop(self.code.cursor.take_appended());
        drop(self.code.cursor.take_left_open());
    }

    fn deliver(&mut self, event: Event) {
        let delivery = self.code.cursor.deliver(event, 1_000);
        assert_eq!(delivery, Ok(Delivery::Accepted));
    }

    fn take(&mut self, expected: OpKey) {
        let granted = self.code.cursor.grant().unwrap().unwrap();
        assert_eq!(granted.key, expected);
        match self.code.cursor.poll(expected) {
            OpPoll::Ready(_) | OpPoll::Item(_) => {}
            OpPoll::Execute => self.code.cursor.complete_run(expected, ok("1")),
            OpPoll::Pending => panic!("it was granted"),
        }
        self.flush();
        assert_eq!(self.code.cursor.open_operations(), 0);
    }

    fn scheduled(&self) -> u64 {
        self.code.cursor.last_event_id().get()
    }

    /// A bit of everything, begun and ended.
    fn round(&mut self, number: u64) {
        let activity = self.code.activity("a", "1");
        self.flush();
        self.deliver(completed(self.scheduled(), "1"));
        self.take(activity);

        let external = self.code.external(&format!("e{number}"));
        self.flush();
        let message_id = format!("m{number:020}");
        self.deliver(raised(&format!("e{number}"), "1", &message_id));
        self.take(external);

        let (promise, _) = self.code.promise("p");
        self.code.polls(promise);
        self.flush();
        self.deliver(resolved(self.scheduled(), "1"));
        self.take(promise);

        let run = self.code.run("r");
        self.flush();
        self.take(run);

        let lost = [
            self.code.timer(5_000),
            self.code.child("c", None, "1"),
            self.code.external("never"),
            self.code.promise("never").0,
        ];
        self.code.set("k", &number.to_string());
        self.code.publish("cart", &number.to_string());
        self.flush();
        lost.into_iter().for_each(|future| self.code.drop(future));
        self.flush();
        assert_eq!(self.code.cursor.grant(), Ok(None));
    }
}

#[test]
fn ten_thousand_steps_take_no_more_memory_than_one() {
    let mut runtime = Runtime::new();
    // The ids of the latest thousand messages are kept, and no more.
    (0..1_100).for_each(|number| runtime.round(number));
    let used = measure(|| (1_100..3_600).for_each(|number| runtime.round(number)));
    assert!(used.bytes_current.abs() <= NOISE_BYTES, "{used:?}");
}

#[test]
fn a_wide_join_gives_its_memory_back() {
    const WIDTH: usize = 20_000;
    let mut runtime = Runtime::new();
    runtime.round(0);
    let used = measure(|| {
        let first = runtime.scheduled() + 1;
        let calls: Vec<OpKey> = (0..WIDTH)
            .map(|_| runtime.code.activity("a", "1"))
            .collect();
        runtime.flush();
        assert_eq!(runtime.code.cursor.open_operations(), WIDTH);
        for (source, call) in (first..).zip(calls) {
            runtime.deliver(completed(source, "1"));
            let granted = runtime.code.cursor.grant().unwrap().unwrap();
            assert_eq!(granted.key, call);
            assert!(matches!(runtime.code.cursor.poll(call), OpPoll::Ready(_)));
            runtime.flush();
        }
    });
    assert!(used.bytes_current.abs() <= NOISE_BYTES, "{used:?}");
}

#[test]
fn the_end_gives_everything_back() {
    let mut runtime = Runtime::new();
    let used = measure(|| {
        for number in 0..1_000 {
            runtime.code.activity("a", "1");
            runtime.code.promise("p");
            runtime.code.external(&number.to_string());
        }
        runtime.flush();
        runtime.code.returns("1");
        runtime.flush();
    });
    assert!(runtime.code.cursor.has_ended());
    assert!(used.bytes_current.abs() <= NOISE_BYTES, "{used:?}");
}

#[test]
fn what_waits_gives_back_what_only_a_step_needs_and_goes_on() {
    let mut runtime = Runtime::new();
    let activity = runtime.code.activity("a", "1");
    runtime.flush();
    runtime.deliver(completed(runtime.scheduled(), "1"));
    runtime.take(activity);
    let external = runtime.code.external("e");
    runtime.flush();
    let used = measure(|| runtime.code.cursor.shrink_to_fit());
    assert!(used.bytes_current <= -500, "{used:?}");
    let again = measure(|| runtime.code.cursor.shrink_to_fit());
    assert_eq!(again.bytes_current, 0);

    runtime.deliver(raised("e", "1", "m"));
    runtime.take(external);
    runtime.round(1);
}
