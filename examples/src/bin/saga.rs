//! A saga: steps that are undone, the last one first, when a later one fails.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, ClientError, Failure, Orchestration, OrchestrationContext, Registry,
};

const BOOK: Activity<String, String> = Activity::new("book");
const CANCEL: Activity<String, ()> = Activity::new("cancel");
const TRIP: Orchestration<Vec<String>, Vec<String>> = Orchestration::new("trip");

/// What was done so far, and is undone if the rest fails.
#[derive(Default)]
struct Saga {
    bookings: Vec<String>,
}

impl Saga {
    async fn book(&mut self, ctx: &OrchestrationContext, what: &String) -> Result<(), Failure> {
        let booking = ctx.activity(BOOK, what).await?;
        self.bookings.push(booking);
        Ok(())
    }

    async fn undo(self, ctx: &OrchestrationContext) -> Result<(), Failure> {
        for booking in self.bookings.iter().rev() {
            ctx.activity(CANCEL, booking).await?;
        }
        Ok(())
    }
}

async fn trip(ctx: OrchestrationContext, wishes: Vec<String>) -> Result<Vec<String>, Failure> {
    let mut saga = Saga::default();
    for wish in &wishes {
        if let Err(failure) = saga.book(&ctx, wish).await {
            saga.undo(&ctx).await?;
            return Err(failure);
        }
    }
    Ok(saga.bookings)
}

async fn book(_: ActivityContext, what: String) -> Result<String, Failure> {
    if what == "moon landing" {
        return Err(Failure::application("sold_out", "no seat left").not_retryable());
    }
    println!("booked {what}");
    Ok(what)
}

async fn cancel(_: ActivityContext, booking: String) -> Result<(), Failure> {
    println!("cancelled {booking}");
    Ok(())
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(TRIP, trip)
        .activity(BOOK, book)
        .activity(CANCEL, cancel)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let wishes = ["flight", "hotel", "moon landing"]
        .map(String::from)
        .to_vec();
    let trip = example.node.client().start(TRIP, "trip-1", &wishes).await?;
    match trip.wait().await {
        Err(ClientError::Failed { failure, .. }) => println!("no trip: {failure}"),
        other => println!("{:?}", other?),
    }
    example.stop().await
}
