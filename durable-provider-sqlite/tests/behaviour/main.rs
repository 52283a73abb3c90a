//! The store as nodes and clients see it: on real files, through crashes, with damaged disks
//! and rows.
#![cfg(test)]

#[cfg(unix)]
mod crash;
#[cfg(target_os = "linux")]
mod disk;
mod faults;
mod inline_work;
mod opening;
mod processes;
mod programs;
mod replies;
mod retention;
mod runtime;
#[cfg(unix)]
mod sharing;
mod support;
mod virtual_time;
mod written_rows;
