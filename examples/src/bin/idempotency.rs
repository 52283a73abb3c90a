//! Effects that look exactly-once: an activity that dies after its effect runs again,
//! and the idempotency key tells the other side that it is the same call.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry, RetryPolicy,
};

const CHARGE: Activity<u64, u64> = Activity::new("charge");
const PAY: Orchestration<u64, u64> = Orchestration::new("pay");

/// The bank: it keeps what was charged under which key, as banks do.
#[derive(Clone, Default)]
struct Bank {
    charges: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Bank {
    /// Charges once per key; says whether it did.
    fn charge(&self, key: &str, cents: u64) -> bool {
        let mut charges = self.charges.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !charges.contains_key(key);
        charges.entry(key.to_owned()).or_insert(cents);
        is_new
    }

    fn total(&self) -> u64 {
        let charges = self.charges.lock().unwrap_or_else(PoisonError::into_inner);
        charges.values().sum()
    }
}

async fn pay(ctx: OrchestrationContext, cents: u64) -> Result<u64, Failure> {
    let patiently = RetryPolicy::attempts(5).first_backoff(Duration::from_millis(10));
    // Two calls are two keys; two attempts of a call are one.
    let first = ctx.activity(CHARGE, &cents).retry(patiently).await?;
    let second = ctx.activity(CHARGE, &cents).retry(patiently).await?;
    Ok(first + second)
}

#[tokio::main]
async fn main() -> ExampleResult {
    let bank = Bank::default();
    let at_the_bank = bank.clone();
    let charge = move |ctx: ActivityContext, cents: u64| {
        let bank = at_the_bank.clone();
        async move {
            let (key, attempt) = (ctx.idempotency_key(), ctx.attempt());
            let is_new = bank.charge(&key, cents);
            println!(
                "attempt {attempt} of {key}: {}",
                if is_new { "charged" } else { "known" }
            );
            match attempt {
                // The line breaks after the money has moved.
                1 => Err(Failure::application("line", "no answer from the bank")),
                _ => Ok(cents),
            }
        }
    };
    let registry = Registry::builder()
        .orchestration(PAY, pay)
        .activity(CHARGE, charge)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let pay = example.node.client().start(PAY, "pay-1", &100).await?;
    println!("the orchestration saw {} cents", pay.wait().await?);
    println!("the bank moved {} cents", bank.total());
    example.stop().await
}
