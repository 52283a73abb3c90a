//! The real `durable` binary on real SQLite files.
#![cfg(test)]

mod bad_input;
mod moving;
mod reading;
mod redis;
mod steering;
mod support;
mod watching;
