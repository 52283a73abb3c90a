//! Every promise of the storage contract by the server's own clock, as stores are used.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;

use durable_provider_redis::ClockSource;
use durable_testkit::{Clock, Conformance};
use support::server::{Server, store_options};

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_server_keeps_every_promise_by_its_own_clock() {
    let server = Arc::new(Server::start());
    let options = || store_options().clock(ClockSource::Server);
    let suite = Conformance::at_places(options, move |options| {
        let server = Arc::clone(&server);
        async move { server.open((*options).clone()).await }
    });
    suite.clock(Clock::WALL).run().await.assert_ok();
}
