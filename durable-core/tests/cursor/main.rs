//! The cursor from outside: what it appends, what it accepts again, what it
//! refuses, and that it does nothing else.
#![cfg(test)]

mod driver;
mod events;
mod past;
mod program;
mod shown;
#[path = "../support/mod.rs"]
mod support;
mod world;

mod cancel;
mod changed;
mod concurrent;
mod deadlines;
mod display;
mod drops;
mod endings;
mod entries;
mod externals;
mod grants;
mod hostile;
mod ids;
mod ledger;
mod looks;
mod matrix;
mod memory;
mod misuse;
mod pages;
mod patches;
mod promises;
mod properties;
mod readers;
mod runs;
mod sources;
mod state;
mod traces;
