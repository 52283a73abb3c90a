//! Every promise of the storage contract, on a server of its own.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;

use durable_testkit::Conformance;
use support::server::{Server, store_options};

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_server_keeps_every_promise() {
    let server = Arc::new(Server::start());
    let suite = Conformance::at_places(store_options, move |options, clock| {
        let server = Arc::clone(&server);
        async move { server.open_at((*options).clone(), clock).await }
    });
    suite.run().await.assert_ok();
}
