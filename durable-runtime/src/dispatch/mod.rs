//! The tasks of a node: each claims what is ready, runs it and commits it.

mod activities;
mod cancellations;
mod heartbeat;
mod instances;
mod release_backoff;
mod retention;
mod timers;
mod wait;

pub(crate) use activities::{RunningActivities, serve_activities};
pub(crate) use cancellations::serve_cancellations;
pub(crate) use heartbeat::keep_session;
pub(crate) use instances::{
    Cache, InstanceTasks, Releases, serve_instances, serve_releases, serve_stop_requests,
};
pub(crate) use release_backoff::ReleaseBackoff;
pub(crate) use retention::serve_retention;
pub(crate) use timers::serve_timers;
pub(crate) use wait::Backoff;
