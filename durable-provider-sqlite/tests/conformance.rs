//! Every promise of the storage contract, in a file and in memory.
#![cfg(test)]

use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_testkit::Conformance;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_file_keeps_every_promise() {
    let place = || tempfile::tempdir().unwrap();
    let suite = Conformance::at_places(place, |directory, clock| async move {
        let options = SqliteOptions::default().clock(clock);
        SqliteProvider::open_with(directory.path().join("store.db"), options).unwrap()
    });
    suite.run().await.assert_ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_memory_keeps_every_promise() {
    let suite = Conformance::new(|clock| async {
        let options = SqliteOptions::default().clock(clock);
        SqliteProvider::open_in_memory_with(options).unwrap()
    });
    suite.run().await.assert_ok();
}
