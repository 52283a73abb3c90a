//! The events of a history: every fact that an execution learned or decided.
//!
//! One table defines the [`Event`] enum, its [`EventKind`] with the number that
//! is on disk, its [`EventClass`], the command that it records and the role of every
//! field, so that they cannot drift apart: how events are compared, measured, coded and
//! shown is made from it. What the bytes look like is the codec's business; what order
//! is allowed is the cursor's.

#[macro_use]
mod table;

mod access;
mod compare;
mod define;
mod effect;
mod input;
mod key;
mod parts;
mod role;

pub(crate) use compare::Owner;
pub use define::{Event, EventClass, EventKind};
pub(crate) use effect::EndedOperation;
pub use effect::{Effect, InstanceStart};
pub(crate) use input::{Brings, Completion, Input};
pub(crate) use key::EventKey;
pub use parts::{Carried, DetachedOptions, Parent, UnreadEvent};
