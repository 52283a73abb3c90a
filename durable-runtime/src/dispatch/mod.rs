//! The tasks of a node: what is ready is fetched, run and committed.

mod activity;
mod commit;
mod heartbeat;
mod holding;
mod instances;
mod load;
mod outcome;
mod releases;
mod timers;
mod verify;
mod wait;

pub(crate) use activity::serve_activities;
pub(crate) use heartbeat::keep_session;
pub(crate) use instances::{serve_foreign_wakes, serve_instances};
pub(crate) use releases::serve_releases;
pub(crate) use timers::serve_timers;
