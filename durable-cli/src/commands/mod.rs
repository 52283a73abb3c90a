//! The commands, one file each or one file for those that are alike.

mod check;
mod describe;
mod export;
mod history;
mod import;
mod list;
mod nodes;
mod poisoned;
mod prune;
mod purge;
mod show;
mod start;
mod stats;
mod steer;
mod stream;
mod timeline;
mod view;
mod views;
mod watch;

pub(crate) use check::check;
pub(crate) use export::export;
pub(crate) use history::history;
pub(crate) use import::import;
pub(crate) use list::list;
pub(crate) use nodes::nodes;
pub(crate) use poisoned::poisoned;
pub(crate) use prune::prune;
pub(crate) use purge::purge;
pub(crate) use show::show;
pub(crate) use start::{raise, reject, resolve, start};
pub(crate) use stats::stats;
pub(crate) use steer::{cancel, resume, suspend, terminate};
pub(crate) use stream::stream;
pub(crate) use timeline::timeline;
pub(crate) use views::view;
pub(crate) use watch::watch;
