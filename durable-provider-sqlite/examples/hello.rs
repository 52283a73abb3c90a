//! An orchestration whose process is killed in the middle, and goes on.
//!
//! `cargo run --example hello` runs itself as a child process on a SQLite file. The
//! child dies inside the second activity; the parent opens the same file, and the
//! orchestration ends where it was heading, without greeting Ada again.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use durable_core::provider::IdReuse;
use durable_core::{EventId, ExecutionId};
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry, Runtime,
};

const GREET: Activity<String, String> = Activity::new("greet");
const HELLO: Orchestration<Vec<String>, String> = Orchestration::new("hello");

async fn hello(ctx: OrchestrationContext, names: Vec<String>) -> Result<String, Failure> {
    let mut greetings = Vec::new();
    for name in &names {
        greetings.push(ctx.activity(GREET, name).await?);
        ctx.sleep(Duration::from_millis(100)).await?;
    }
    Ok(greetings.join(" "))
}

fn registry(dies_at: Option<&'static str>) -> Result<Registry, Box<dyn Error>> {
    let greet = move |_: ActivityContext, name: String| async move {
        println!("  greeting {name}");
        if dies_at == Some(name.as_str()) {
            std::process::abort();
        }
        Ok::<_, Failure>(format!("Hello, {name}!"))
    };
    let registry = Registry::builder()
        .orchestration(HELLO, hello)
        .activity(GREET, greet);
    Ok(registry.build()?)
}

/// Runs the orchestration on this file, from the start or from where it was.
async fn run(file: &Path, dies_at: Option<&'static str>) -> Result<(), Box<dyn Error>> {
    let node = Runtime::builder(SqliteProvider::open(file)?, registry(dies_at)?)
        .start()
        .await?;
    let names = ["Ada", "Grace", "Barbara"].map(String::from).to_vec();
    let instance = node
        .client()
        .start(HELLO, "hello-1", &names)
        .reuse(IdReuse::UseRunning)
        .await?;
    println!("{}", instance.wait().await?);
    let history = instance
        .history(ExecutionId::FIRST, EventId::UNASSIGNED, 100)
        .await?;
    for entry in history.entries {
        println!("  {:>2} {}", entry.event_id().get(), entry.event);
    }
    node.shutdown(Duration::from_secs(1)).await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(file) = std::env::args().nth(1) {
        return run(Path::new(&file), Some("Grace")).await;
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("hello.db");
    println!("a first process:");
    let status = Command::new(std::env::current_exe()?).arg(&file).status()?;
    println!("it died ({status}); a second one on the same file:");
    run(&file, None).await
}
