//! Activities: the dispatcher that claims work, the attempts that run it, and the
//! decision whether a failed attempt is retried.

mod attempt;
mod dispatcher;
mod retry;
mod running;

pub(super) use dispatcher::{begin, settle};
pub(super) use retry::total_timeout;

pub(crate) use dispatcher::serve_activities;
pub(crate) use running::RunningActivities;
