//! Testing with virtual time: a month passes in a moment, nodes die where the test
//! says, and no real activity runs. Put such code into `#[test]` functions.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use durable_core::EventKind;
use durable_examples::ExampleResult;
use durable_runtime::{
    Activity, EventName, Failure, Orchestration, OrchestrationContext, Registry,
};
use durable_testkit::TestEnvironment;

const DAY: Duration = Duration::from_secs(86_400);
const REMIND: Activity<u32, ()> = Activity::new("remind");
const PAID: EventName<u64> = EventName::new("paid");
const INVOICE: Orchestration<u64, String> = Orchestration::new("invoice");

/// Reminds every ten days, and gives up after the third time.
async fn invoice(ctx: OrchestrationContext, cents: u64) -> Result<String, Failure> {
    let mut paid = Box::pin(ctx.external_event(PAID));
    for reminder in 1..=3 {
        tokio::select! {
            paid = &mut paid => return Ok(format!("{} of {cents} cents came", paid?)),
            waited = ctx.sleep(10 * DAY) => waited?,
        }
        ctx.activity(REMIND, &reminder).await?;
    }
    Err(Failure::application("unpaid", "three reminders, no money"))
}

fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(INVOICE, invoice)
        .build()?;
    let environment =
        TestEnvironment::builder(registry).replace_activity(REMIND, |_| async { Ok(()) });

    environment.clone().run(async |env| {
        // The customer pays five days after the first reminder.
        let invoice = env.start(INVOICE, "paid-late", &500).await?;
        env.advance(15 * DAY).await;
        assert_eq!(env.scheduled(REMIND), [1]);
        invoice.raise(PAID, &500).await?;
        println!("paid late: {}", env.wait(&invoice).await?);
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;

    environment.run(async |env| {
        // The customer does not pay, and the node dies right after each reminder was sent.
        env.crash_after(EventKind::ActivityCompleted);
        let began = env.now();
        let invoice = env.start(INVOICE, "unpaid", &500).await?;
        let failure = env
            .wait(&invoice)
            .await
            .err()
            .map(|error| error.to_string());
        println!("never paid: {}", failure.unwrap_or_default());
        assert_eq!(env.scheduled(REMIND), [1, 2, 3], "each reminder once");
        assert_eq!(env.crashes(), 1);
        let days = env.now().duration_since(began)?.as_secs() / 86_400;
        println!("{days} days went by, {} node died", env.crashes());
        Ok::<(), Box<dyn std::error::Error>>(())
    })
}
