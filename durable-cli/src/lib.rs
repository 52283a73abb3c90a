//! What stands behind the `durable` command.
mod operation;
mod table;
mod time;
mod timeline;

pub use operation::{Operation, OperationEnd, OperationOutcome, operations};
pub use timeline::{Mark, Timeline};
