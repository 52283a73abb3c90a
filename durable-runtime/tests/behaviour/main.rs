//! End-to-end behaviour of the runtime on the in-memory provider.
#![cfg(test)]

mod activities;
mod world;
