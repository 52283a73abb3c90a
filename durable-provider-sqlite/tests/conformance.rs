//! Every promise of the storage contract, in a file and in memory.
#![cfg(test)]

use durable_provider_sqlite::SqliteProvider;
use durable_testkit::Conformance;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_file_keeps_every_promise() {
    let place = || tempfile::tempdir().unwrap();
    let suite = Conformance::at_places(place, |directory| async move {
        SqliteProvider::open(directory.path().join("store.db")).unwrap()
    });
    suite.run().await.assert_ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_memory_keeps_every_promise() {
    let suite = Conformance::new(|| async { SqliteProvider::open_in_memory().unwrap() });
    suite.run().await.assert_ok();
}
