//! Inside an existing axum service: the node runs beside the routes, and both stop in
//! good order. Requests end, activities may finish, the node gives the leases of the rest back;
//! the next process goes on with it.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use durable_examples::{ExampleNode, ExampleResult, http_get, http_post};
use durable_runtime::{
    Activity, ActivityContext, Client, ClientError, Failure, Orchestration, OrchestrationContext,
    Registry,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const THUMBNAIL: Activity<String, String> = Activity::new("thumbnail");
const UPLOAD: Orchestration<String, String> = Orchestration::new("upload");

async fn upload(ctx: OrchestrationContext, picture: String) -> Result<String, Failure> {
    ctx.activity(THUMBNAIL, &picture).await
}

async fn thumbnail(_: ActivityContext, picture: String) -> Result<String, Failure> {
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(format!("{picture}-small"))
}

/// Starts an upload; asking twice starts it once.
async fn start_upload(
    State(client): State<Client>,
    Path(id): Path<String>,
    Json(picture): Json<String>,
) -> Result<StatusCode, StatusCode> {
    match client.start(UPLOAD, id, &picture).await {
        Ok(_) | Err(ClientError::Taken { .. }) => Ok(StatusCode::ACCEPTED),
        Err(ClientError::Refused(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// Where an upload stands.
async fn show_upload(
    State(client): State<Client>,
    Path(id): Path<String>,
) -> Result<Json<Value>, StatusCode> {
    match client.instance(UPLOAD, id).record().await {
        Ok(record) => Ok(Json(json!({
            "id": record.instance,
            "status": record.status.kind().to_string(),
        }))),
        Err(ClientError::NotFound { .. }) => Err(StatusCode::NOT_FOUND),
        Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

fn routes(client: Client) -> Router {
    Router::new()
        .route("/uploads/{id}", post(start_upload))
        .route("/uploads/{id}", get(show_upload))
        .with_state(client)
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(UPLOAD, upload)
        .activity(THUMBNAIL, thumbnail)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // A service takes `tokio::signal::ctrl_c()` here.
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = axum::serve(listener, routes(client.clone())).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = tokio::spawn(async move { serving.await });

    for _ in 0..2 {
        let answer = http_post(address, "/uploads/cat", "\"cat.png\"").await?;
        println!("POST /uploads/cat: {answer}");
    }
    println!("made {}", client.instance(UPLOAD, "cat").wait().await?);
    println!(
        "GET /uploads/cat: {}",
        http_get(address, "/uploads/cat").await?
    );
    println!(
        "GET /uploads/dog: {}",
        http_get(address, "/uploads/dog").await?
    );

    // First the routes, so that nothing new comes; then the node.
    let _ = stop.send(());
    server.await??;
    println!("the routes have stopped");
    example.stop().await?;
    println!("the node has stopped");
    Ok(())
}
