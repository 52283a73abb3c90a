//! How many rows a step of an orchestration writes: with a payload codec as many as without.

use std::collections::BTreeMap;

use async_trait::async_trait;
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, PayloadCodec,
    PayloadCodecError, Registry, Runtime,
};

use crate::support::Place;

const ADD: Activity<u64, u64> = Activity::new("add");
/// Adds one, as often as it is told.
const STEPS: Orchestration<u64, u64> = Orchestration::new("steps");

/// All tables but `meta` and `session`, which heartbeats write.
const TABLES: [&str; 13] = [
    "answer",
    "attribute",
    "attribute_name",
    "instance",
    "record",
    "earlier_start",
    "past_execution",
    "purged",
    "history",
    "inbox",
    "work",
    "poisoned",
    "timer",
];

/// Rows that were written, by table and kind of change.
type WrittenRows = BTreeMap<(String, String), i64>;

/// A toy, and no encryption: another result each time, later.
struct Reversing;

#[async_trait]
impl PayloadCodec for Reversing {
    async fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
        tokio::task::yield_now().await;
        Ok(plain.iter().rev().copied().collect())
    }

    async fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
        self.encode(coded).await
    }
}

async fn steps(ctx: OrchestrationContext, steps: u64) -> Result<u64, Failure> {
    let mut number = 0;
    for _ in 0..steps {
        number = ctx.activity(ADD, &number).await?;
    }
    Ok(number)
}

async fn add(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    Ok(number + 1)
}

/// Has the file count every row that is written from now on.
fn count_writes(place: &Place) {
    let raw = place.raw();
    let counter = "CREATE TABLE written (name TEXT NOT NULL, change TEXT NOT NULL) STRICT";
    raw.execute_batch(counter).unwrap();
    for table in TABLES {
        for change in ["INSERT", "UPDATE", "DELETE"] {
            let trigger = format!(
                "CREATE TRIGGER written_{table}_{change} AFTER {change} ON {table} BEGIN \
                 INSERT INTO written VALUES ('{table}', '{change}'); END"
            );
            raw.execute_batch(&trigger).unwrap();
        }
    }
}

fn written(place: &Place) -> WrittenRows {
    let raw = place.raw();
    let count = "SELECT name, change, count(*) FROM written GROUP BY name, change";
    let mut statement = raw.prepare(count).unwrap();
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// What an orchestration of so many steps writes.
async fn written_by(steps_taken: u64, has_codec: bool) -> WrittenRows {
    let place = Place::new();
    let provider = place.open();
    count_writes(&place);
    let registry = Registry::builder()
        .activity(ADD, add)
        .orchestration(STEPS, steps);
    let mut builder = Runtime::builder(provider, registry.build().unwrap());
    if has_codec {
        builder = builder.payload_codec(Reversing);
    }
    let node = builder.start().await.unwrap();
    let instance = node.client().start(STEPS, "a", &steps_taken).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), steps_taken);
    written(&place)
}

#[tokio::test]
async fn a_step_writes_as_many_rows_with_a_payload_codec_as_without() {
    const FEW: u64 = 3;
    const MANY: u64 = 23;
    for has_codec in [false, true] {
        let few = written_by(FEW, has_codec).await;
        let mut many = written_by(MANY, has_codec).await;
        for (row, count) in few {
            *many.entry(row).or_default() -= count;
        }
        many.retain(|_, count| *count != 0);
        let steps = (MANY - FEW) as i64;
        let rows = |name: &str, change: &str, count| ((name.into(), change.into()), count);
        let expected = [
            // An activity completed, and the next scheduled.
            rows("history", "INSERT", 2 * steps),
            rows("instance", "UPDATE", steps),
        ];
        assert_eq!(many, WrittenRows::from(expected), "codec: {has_codec}");
    }
}
