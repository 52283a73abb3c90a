//! The tasks of a node: what is ready is fetched, run and committed.

mod activity;
mod attempt;
mod cache;
mod commit;
mod foreign;
mod hand_backs;
mod heartbeat;
mod holders;
mod holding;
mod instances;
mod load;
mod outcome;
mod releases;
mod running;
mod steps;
mod stopping;
mod timers;
mod verify;
mod wait;

pub(crate) use activity::serve_activities;
pub(crate) use cache::Cache;
pub(crate) use foreign::serve_foreign_wakes;
pub(crate) use hand_backs::HandBacks;
pub(crate) use heartbeat::keep_session;
pub(crate) use holders::Holders;
pub(crate) use instances::serve_instances;
pub(crate) use releases::{Releases, serve_releases};
pub(crate) use running::Running;
pub(crate) use timers::serve_timers;
pub(crate) use wait::Backoff;
