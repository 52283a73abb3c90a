//! Every promise of the storage contract on a cluster of three primaries, and what only a
//! split store has to show.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;

use durable_provider_redis::RedisOptions;
use durable_testkit::Conformance;
use support::cluster::Cluster;
use support::server::store_options;

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_keeps_every_promise() {
    let cluster = Arc::new(Cluster::start(3));
    let options = || RedisOptions {
        partitions: Some(12),
        ..store_options()
    };
    let suite = Conformance::at_places(options, move |options| {
        let cluster = Arc::clone(&cluster);
        async move { cluster.open((*options).clone()).await }
    });
    suite.partitioned().run().await.assert_ok();
}
