//! A history that is fed in pages: the cursor asks for more before it begins a
//! step that it does not see whole, and never in the middle of one.
//!
//! That pages change nothing else is checked wherever `everywhere` is used.

use durable_core::{Advance, HistoryEntry};

use super::driver::Driver;
use super::events::{completed, raised, returned, scheduled, terminated, value};
use super::past::Past;

/// A cursor to which this test feeds the entries itself.
struct Fed {
    code: Driver,
    entries: std::vec::IntoIter<HistoryEntry>,
}

impl Fed {
    fn from(past: Past) -> Self {
        Self {
            code: Driver::unstarted(Vec::new(), 1),
            entries: past.entries().into_iter(),
        }
    }

    /// Feeds so many entries; the cursor asks for each of them.
    fn needs(&mut self, entries: usize) {
        for entry in self.entries.by_ref().take(entries) {
            assert_eq!(self.code.cursor.advance(), Ok(Advance::NeedsHistory));
            assert!(self.code.cursor.is_replaying());
            self.code.cursor.feed(entry).unwrap();
        }
    }

    fn starts(&mut self) {
        assert!(matches!(
            self.code.cursor.advance(),
            Ok(Advance::Started(_))
        ));
    }

    fn moves(&mut self, to: Advance) {
        assert_eq!(self.code.cursor.advance(), Ok(to));
    }
}

#[test]
fn a_step_begins_when_the_input_after_it_is_there() {
    let mut fed = Fed::from(Past::of([
        scheduled("a", "1"),
        scheduled("b", "1"),
        completed(2, "1"),
        scheduled("c", "1"),
        raised("e", "1", "m1"),
        returned("1"),
    ]));
    // The start, its two outputs, and the next input.
    fed.needs(4);
    fed.starts();
    let a = fed.code.activity("a", "1");
    fed.code.activity("b", "1");
    fed.code.cursor.flush().unwrap();
    fed.needs(2);
    fed.moves(Advance::Input);
    fed.code.takes(a, value("1"));
    fed.code.activity("c", "1");
    fed.code.cursor.flush().unwrap();
    fed.needs(1);
    fed.moves(Advance::Input);
    fed.code.returns("1");
    fed.code.cursor.flush().unwrap();
    assert!(fed.code.cursor.has_ended());
    // The driver has not said yet that there is nothing more.
    fed.moves(Advance::NeedsHistory);
    fed.code.cursor.end_of_history();
    fed.moves(Advance::Ended);
}

#[test]
fn the_last_step_begins_when_it_is_said_to_be_the_last() {
    let mut fed = Fed::from(Past::of([scheduled("a", "1")]));
    fed.needs(2);
    fed.moves(Advance::NeedsHistory);
    fed.code.cursor.end_of_history();
    fed.starts();
    assert!(fed.code.cursor.is_replaying());
    fed.code.activity("a", "1");
    fed.code.cursor.flush().unwrap();
    assert!(!fed.code.cursor.is_replaying());
    fed.moves(Advance::Live);
}

#[test]
fn an_imposed_end_is_seen_with_the_step_before_it() {
    let mut fed = Fed::from(Past::of([scheduled("a", "1"), terminated()]));
    fed.needs(3);
    fed.starts();
    fed.code.activity("a", "1");
    fed.code.cursor.flush().unwrap();
    fed.moves(Advance::NeedsHistory);
    fed.code.cursor.end_of_history();
    fed.moves(Advance::Ended);
}
