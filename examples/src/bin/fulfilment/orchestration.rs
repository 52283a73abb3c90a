//! The order: plain code, nothing about crashes.

use std::fmt;
use std::time::Duration;

use durable_runtime::{
    Activity, EventName, Failure, Orchestration, OrchestrationContext, RetryPolicy,
};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

pub(crate) const FULFIL: Orchestration<Order, Outcome> = Orchestration::new("fulfil");
pub(crate) const RESERVE: Activity<String, String> = Activity::new("reserve");
pub(crate) const CHARGE: Activity<Order, String> = Activity::new("charge");
pub(crate) const SHIP: Activity<String, String> = Activity::new("ship");
pub(crate) const REFUND: Activity<String, ()> = Activity::new("refund");
pub(crate) const RELEASE: Activity<String, ()> = Activity::new("release");
pub(crate) const APPROVAL: EventName<bool> = EventName::new("approval");
/// What the order says of itself while it waits.
pub(crate) const WAITING: &str = "waiting for approval";

/// How long a customer may change their mind.
const COOLING_OFF: Duration = Duration::from_secs(1);
/// How long an approval is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) items: Vec<String>,
    pub(crate) cents: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Shipped { parcel: String },
    Undone { because: String },
}

pub(crate) async fn fulfil(ctx: OrchestrationContext, order: Order) -> Result<Outcome, Failure> {
    // Fan out: all items at once. A reservation that no order needs lapses by itself.
    let reserving = order.items.iter().map(|item| ctx.activity(RESERVE, item));
    let reserved = try_join_all(reserving).await?;
    let receipt = ctx.activity(CHARGE, &order).await?;
    ctx.sleep(COOLING_OFF).await?;
    match ship(&ctx, &order).await {
        Ok(parcel) => Ok(Outcome::Shipped { parcel }),
        Err(failure) => {
            undo(&ctx, &receipt, &reserved).await?;
            let because = failure.to_string();
            Ok(Outcome::Undone { because })
        }
    }
}

/// Ships what was approved in time.
async fn ship(ctx: &OrchestrationContext, order: &Order) -> Result<String, Failure> {
    ctx.set_custom_status(WAITING)?;
    let is_approved = tokio::select! {
        approval = ctx.external_event(APPROVAL) => approval?,
        waited = ctx.sleep(PATIENCE) => {
            waited?;
            false
        }
    };
    ctx.set_custom_status("approved")?;
    if !is_approved {
        return Err(Failure::application(
            "not_approved",
            "the order was not approved",
        ));
    }
    let twice = RetryPolicy::attempts(2);
    ctx.activity(SHIP, &order.id).retry(twice).await
}

/// The compensation: everything back, the money first.
async fn undo(
    ctx: &OrchestrationContext,
    receipt: &String,
    reserved: &[String],
) -> Result<(), Failure> {
    ctx.activity(REFUND, receipt).await?;
    let releasing = reserved
        .iter()
        .map(|reserved| ctx.activity(RELEASE, reserved));
    try_join_all(releasing).await?;
    Ok(())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped { parcel } => write!(f, "shipped as {parcel}"),
            Self::Undone { because } => write!(f, "undone, because {because}"),
        }
    }
}
