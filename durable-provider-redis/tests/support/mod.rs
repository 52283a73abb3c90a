//! What the tests stand on: servers of their own, code to run, and an audit.

pub(crate) mod cluster;
pub(crate) mod code;
pub(crate) mod log;
pub(crate) mod migration;
pub(crate) mod proxy;
pub(crate) mod server;
pub(crate) mod tls;
