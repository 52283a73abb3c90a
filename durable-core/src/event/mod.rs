//! The events of a history: every fact that an execution learned or decided.
//!
//! One table defines the [`Event`] enum, its [`EventKind`] with the number that
//! is on disk, and its [`EventClass`], so the three cannot drift apart. What the
//! bytes look like is the codec's business; what order is allowed is the
//! cursor's.

mod access;
mod describe;
mod parts;
mod table;

pub use parts::{Carried, Parent, UnreadEvent};
pub use table::{Event, EventClass, EventKind};
