//! An entity: a cart that lives as long as its customer shops, and answers requests.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::fmt;

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Failure, Orchestration, OrchestrationContext, Registry, Request, RequestError,
};
use serde::{Deserialize, Serialize};

const CART: Orchestration<Cart, Vec<String>> = Orchestration::new("cart");
/// Answers with the number of items; rejects what does not fit.
const ADD: Request<String, usize, CartError> = Request::new("add");
/// Answers with the items, and ends the cart.
const CHECK_OUT: Request<(), Vec<String>> = Request::new("check-out");

const MOST_ITEMS: usize = 2;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum CartError {
    Full { most: usize },
    Unknown { item: String },
}

impl fmt::Display for CartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { most } => write!(f, "a cart has room for {most} items"),
            Self::Unknown { item } => write!(f, "the shop does not sell {item}"),
        }
    }
}

impl Cart {
    fn add(&mut self, item: &str) -> Result<usize, CartError> {
        if item == "moon" {
            return Err(CartError::Unknown { item: item.into() });
        }
        if self.items.len() >= MOST_ITEMS {
            return Err(CartError::Full { most: MOST_ITEMS });
        }
        self.items.push(item.into());
        Ok(self.items.len())
    }
}

async fn cart(ctx: OrchestrationContext, mut cart: Cart) -> Result<Vec<String>, Failure> {
    loop {
        durable_runtime::select! {
            add = ctx.request(ADD) => {
                let add = add?;
                match cart.add(add.input()) {
                    Ok(items) => add.answer(&items)?,
                    Err(error) => add.reject(error)?,
                }
            },
            check_out = ctx.request(CHECK_OUT) => {
                check_out?.answer(&cart.items)?;
                return Ok(cart.items);
            },
        }
        // Requests that came meanwhile go along.
        if ctx.should_continue_as_new() {
            return ctx.continue_as_new(&cart).await;
        }
    }
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder().orchestration(CART, cart).build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();
    let cart = client.start(CART, "cart-7", &Cart::default()).await?;

    println!("tea: {} item", cart.request(ADD, &"tea".into()).await?);
    // A caller that lost the answer asks again with the same id: it is added once.
    for _ in 0..2 {
        let cups = cart.request(ADD, &"cups".into()).id("click-2").await?;
        println!("cups: {cups} items");
    }
    for item in ["moon", "teapot"] {
        match cart.request(ADD, &item.into()).await {
            Err(RequestError::Rejected(error)) => println!("{item}: {error}"),
            other => println!("{item}: {other:?}"),
        }
    }
    // A client of another release may send what the cart does not understand.
    let odd = cart.request::<u32, usize, CartError>("add", &7).await;
    if let Err(RequestError::Failed(failure)) = odd {
        println!("7: {}", failure.kind);
    }
    let items = cart.request(CHECK_OUT, &()).await?;
    println!("checked out: {}", items.join(", "));
    println!("the cart returned {} items", cart.wait().await?.len());
    example.stop().await
}
