//! The activities: what touches the world. Each effect goes through the ledger with
//! its idempotency key, so that an attempt which was killed in between does not do it
//! twice.

use std::time::Duration;

use durable_runtime::{ActivityContext, Failure, Registry, RegistryError};

use crate::ledger::Ledger;
use crate::orchestration::{CHARGE, FULFIL, Order, REFUND, RELEASE, RESERVE, SHIP, fulfil};
use crate::screen::Screen;

/// The child is killed when it has said this.
pub(crate) const MONEY_MOVED: &str = "the money has moved, nothing is recorded yet";

/// What the activities work with.
#[derive(Clone)]
pub(crate) struct Shop {
    ledger: Ledger,
    screen: Screen,
}

impl Shop {
    pub(crate) fn new(ledger: Ledger, screen: Screen) -> Self {
        Self { ledger, screen }
    }

    pub(crate) fn registry(self) -> Result<Registry, RegistryError> {
        let [reserving, charging, shipping, refunding, releasing] = [(); 5].map(|()| self.clone());
        Registry::builder()
            .orchestration(FULFIL, fulfil)
            .activity(RESERVE, move |ctx, item: String| {
                let shop = reserving.clone();
                async move { shop.reserve(ctx, item).await }
            })
            .activity(CHARGE, move |ctx, order: Order| {
                let shop = charging.clone();
                async move { shop.charge(ctx, order).await }
            })
            .activity(SHIP, move |ctx, order: String| {
                let shop = shipping.clone();
                async move { shop.ship(&ctx, &order).await }
            })
            .activity(REFUND, move |ctx, receipt: String| {
                let shop = refunding.clone();
                async move { shop.undo(ctx, "refund", receipt).await }
            })
            .activity(RELEASE, move |ctx, item: String| {
                let shop = releasing.clone();
                async move { shop.undo(ctx, "release", item).await }
            })
            .build()
    }

    async fn reserve(&self, ctx: ActivityContext, item: String) -> Result<String, Failure> {
        let length = u64::try_from(item.len()).unwrap_or_default();
        work(Duration::from_millis(100 * length)).await;
        self.ledger
            .enter(&ctx.idempotency_key(), &format!("reserve {item}"))?;
        self.screen.say(&format!("reserved {item}"));
        Ok(item)
    }

    async fn charge(&self, ctx: ActivityContext, order: Order) -> Result<String, Failure> {
        work(Duration::from_millis(200)).await;
        let Order { cents, .. } = order;
        let what = format!("charge {}.{:02} EUR", cents / 100, cents % 100);
        let is_new = self.ledger.enter(&ctx.idempotency_key(), &what)?;
        if is_new && self.screen.is_child() {
            self.screen.say(MONEY_MOVED);
            // The bank's answer takes its time, and the process does not live to see it.
            work(Duration::from_secs(30)).await;
        } else if !is_new {
            self.screen
                .say("charge runs again; its key is known: no second charge");
        }
        Ok(format!("receipt of {}", ctx.idempotency_key()))
    }

    async fn ship(&self, ctx: &ActivityContext, order: &str) -> Result<String, Failure> {
        work(Duration::from_millis(250)).await;
        let attempt = ctx.attempt();
        self.screen
            .say(&format!("the carrier refuses {order} (attempt {attempt})"));
        Err(Failure::application("carrier", "the parcel is too fragile"))
    }

    async fn undo(&self, ctx: ActivityContext, what: &str, of: String) -> Result<(), Failure> {
        work(Duration::from_millis(250)).await;
        self.ledger
            .enter(&ctx.idempotency_key(), &format!("{what} {of}"))?;
        self.screen.say(&format!("compensation: {what} {of}"));
        Ok(())
    }
}

/// Effects take their time.
async fn work(time: Duration) {
    tokio::time::sleep(time).await;
}
