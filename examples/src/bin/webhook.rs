//! A promise that a webhook keeps: the orchestration gives its token to a payment
//! service, and waits; the service calls back over HTTP whenever it likes.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use durable_examples::{ExampleNode, ExampleResult, http_post};
use durable_runtime::{
    Activity, ActivityContext, Client, ClientError, Failure, Orchestration, OrchestrationContext,
    PromiseToken, Registry,
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedSender};

const REQUEST_PAYMENT: Activity<PromiseToken, ()> = Activity::new("request payment");
const CHECKOUT: Orchestration<u64, String> = Orchestration::new("checkout");

#[derive(Debug, Serialize, Deserialize)]
struct Payment {
    by: String,
    cents: u64,
}

async fn checkout(ctx: OrchestrationContext, cents: u64) -> Result<String, Failure> {
    let paid = ctx.promise::<Payment>("paid")?;
    ctx.activity(REQUEST_PAYMENT, paid.token()).await?;
    let payment = paid.await?;
    match payment.cents >= cents {
        true => Ok(format!("{} paid {} cents", payment.by, payment.cents)),
        false => Err(Failure::application("too_little", "the rest is missing")),
    }
}

/// The webhook: a caller that knows the token may resolve the promise. A real one checks a
/// signature too.
async fn paid(
    State(client): State<Client>,
    Path(token): Path<String>,
    Json(payment): Json<Payment>,
) -> StatusCode {
    let Ok(token) = token.parse::<PromiseToken>() else {
        return StatusCode::BAD_REQUEST;
    };
    match client.resolve_promise(&token, &payment).await {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(ClientError::NotFound { .. } | ClientError::Ended { .. }) => StatusCode::NOT_FOUND,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn registry(
    requests: UnboundedSender<PromiseToken>,
) -> Result<Registry, Box<dyn std::error::Error>> {
    let request_payment = move |_: ActivityContext, token: PromiseToken| {
        let requests = requests.clone();
        async move {
            // Sent twice after a crash, it is resolved once.
            let gone = |_| Failure::application("gone", "the payment service is gone");
            requests.send(token).map_err(gone)
        }
    };
    let registry = Registry::builder()
        .orchestration(CHECKOUT, checkout)
        .activity(REQUEST_PAYMENT, request_payment);
    Ok(registry.build()?)
}

#[tokio::main]
async fn main() -> ExampleResult {
    let (requests, mut requested) = mpsc::unbounded_channel();
    let example = ExampleNode::start(registry(requests)?).await?;
    let client = example.node.client();
    let router = Router::new()
        .route("/paid/{*token}", post(paid))
        .with_state(client.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move { axum::serve(listener, router).await });

    let checkout = client.start(CHECKOUT, "checkout-1", &4_990).await?;
    // The payment service gets the token, and calls back.
    let Some(token) = requested.recv().await else {
        return Err("no payment was requested".into());
    };
    println!("the token is {token}");
    let path = format!("/paid/{token}");
    let body = "{\"by\":\"Ada\",\"cents\":4990}";
    println!(
        "the webhook answers {}",
        http_post(address, &path, body).await?
    );
    println!("{}", checkout.wait().await?);
    let unknown = "/paid/checkout-9/1/Promise(0)";
    println!(
        "an unknown token gets {}",
        http_post(address, unknown, body).await?
    );
    server.abort();
    example.stop().await
}
