//! What stands behind the `durable` command: reading a store of durable
//! orchestrations, and controlling its instances.
//!
//! Most of it is the command itself, [`run`]. Two parts are of use to programs too:
//! [`operations`] and [`open_requests`], which derive from a history what an execution did,
//! what it waits for and what it owes, and [`Timeline`], which draws that as text, as wide as the terminal
//! ([`terminal_columns`]) or otherwise, or as SVG.
//!
//! The crate reads and writes stores only through the storage contract and the
//! runtime's client; it runs no orchestration code.

mod args;
mod command;
mod commands;
mod error;
mod filter;
mod importing;
mod json;
mod operation;
mod output;
mod read;
mod store;
mod table;
mod time;
mod timeline;

pub use command::run;
pub use operation::{
    OpenRequest, Operation, OperationEnd, OperationOutcome, open_requests, operations,
};
pub use output::terminal_columns;
pub use timeline::{Mark, Timeline};
