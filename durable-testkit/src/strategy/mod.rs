//! Strategies for property tests: text, events, histories and whole orchestrations.
//!
//! [`any_event`] and [`any_entry`] know the types only, for codecs and stores;
//! [`valid_history`] gives histories that a run can have written; [`any_program`]
//! gives orchestrations that really run, and so histories that really replay.
//!
//! ```
//! use durable_testkit::strategy::valid_history;
//! use proptest::prelude::*;
//!
//! proptest! {
//!     # #![proptest_config(ProptestConfig { failure_persistence: None, cases: 16, ..Default::default() })]
//!     # /*
//!     #[test]
//!     # */
//!     fn a_valid_history_survives_its_json(history in valid_history()) {
//!         let json = serde_json::to_string(&history).unwrap();
//!         prop_assert_eq!(serde_json::from_str::<durable_core::History>(&json).unwrap(), history);
//!     }
//! }
//! # a_valid_history_survives_its_json();
//! ```

mod event;
mod history;
mod program;
mod text;

pub use event::{any_entry, any_event, any_event_of, any_failure, any_number};
pub use history::valid_history;
pub use program::{PROGRAM, Program, ProgramStep, any_program, program_registry};
pub use text::{NASTY_TEXTS, any_name, any_payload, any_text};
