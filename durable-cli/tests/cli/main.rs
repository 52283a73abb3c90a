//! The real `durable` binary on real SQLite files.
#![cfg(test)]

mod bad_input;
mod incident;
mod moving;
mod nodes;
mod poisoned;
mod reading;
mod redis;
mod steering;
mod streams;
mod support;
mod views;
mod watching;
