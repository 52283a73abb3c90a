//! The checks, one module for each promise.

mod append_only;
mod attributes;
mod code;
mod commit_atomicity;
mod commit_once;
mod crash_points;
mod durability;
mod finding;
mod inbox;
mod lifecycle;
mod limits;
mod open_work;
mod ownership;
mod paging;
mod pruning;
mod receipts;
mod sessions;
mod start_options;
mod starting;
mod time;
mod timers;
mod validity;
mod wakeups;
mod watching;
mod work;
mod work_items;
mod work_leases;
mod work_settling;

use super::check::Check;

/// Every check there is, in the order of the promises.
pub(super) const ALL: &[&[Check]] = &[
    commit_atomicity::CHECKS,
    commit_once::CHECKS,
    validity::CHECKS,
    ownership::CHECKS,
    sessions::CHECKS,
    append_only::CHECKS,
    inbox::CHECKS,
    receipts::CHECKS,
    wakeups::CHECKS,
    work::CHECKS,
    work_items::CHECKS,
    work_settling::CHECKS,
    work_leases::CHECKS,
    timers::CHECKS,
    open_work::CHECKS,
    durability::CHECKS,
    crash_points::CHECKS,
    finding::CHECKS,
    watching::CHECKS,
    paging::CHECKS,
    code::CHECKS,
    time::CHECKS,
    starting::CHECKS,
    start_options::CHECKS,
    lifecycle::CHECKS,
    pruning::CHECKS,
    attributes::CHECKS,
    limits::CHECKS,
];
