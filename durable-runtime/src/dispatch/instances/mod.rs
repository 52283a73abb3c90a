//! Instances: the dispatcher that claims those that are ready, and the task that owns
//! each claimed instance while its turns run.
//!
//! | file | what it does |
//! |---|---|
//! | `dispatcher.rs` | claims ready instances and starts their tasks |
//! | `instance_task.rs` | one claimed instance, from its claim to its release |
//! | `instance_tasks.rs` | which instance has a task on this node, and how to reach it |
//! | `incoming.rs`, `interpret.rs` | what reaches an instance, and what it means |
//! | `turn/` | a turn: steps, what they gather for the commit |
//! | `commit.rs` | sends a commit until its outcome is known |
//! | `stop.rs` | ends the turn of an instance that cannot go on |
//! | `load.rs`, `cache.rs` | brings an execution into memory, and keeps it there |
//! | `verify.rs` | replays what was committed |
//! | `releases.rs` | gives leases back |
//! | `stop_requests.rs` | stops instances whose own turns cannot |

mod cache;
mod commit;
mod dispatcher;
mod incoming;
mod instance_task;
mod instance_tasks;
mod interpret;
mod load;
mod releases;
mod stop;
mod stop_requests;
mod turn;
mod verify;

pub(crate) use cache::Cache;
pub(crate) use dispatcher::serve_instances;
pub(crate) use incoming::{Incoming, LocalResult, OwedAnswer};
pub(crate) use instance_tasks::InstanceTasks;
pub(crate) use releases::{Releases, serve_releases};
pub(crate) use stop_requests::serve_stop_requests;
