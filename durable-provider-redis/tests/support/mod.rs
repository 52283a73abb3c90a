//! What the tests stand on: servers of their own.

pub(crate) mod server;

pub(crate) use server::{Server, store_options};
