//! The main job: an order whose process is killed in the middle, and goes on.
//!
//! `cargo run -p durable-examples --bin fulfilment` starts an order-fulfilment
//! orchestration on a SQLite file in a child process: items are reserved at once, the
//! card is charged. Right after the money moved, and before it was recorded, the
//! child is killed with SIGKILL. A second node opens the same file and goes on: a
//! timer, an approval, a carrier that fails, and the compensation. It ends by itself
//! within a few seconds and shows what happened when.
//!
//! With a path as its argument the file stays there, for the `durable` command.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

mod ledger;
mod orchestration;
mod screen;
mod shop;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use durable_cli::{Mark, Timeline, terminal_columns};
use durable_core::{EventId, ExecutionId, History};
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{IdReuse, InstanceHandle, Runtime};

use ledger::Ledger;
use orchestration::{APPROVAL, FULFIL, Order, Outcome, WAITING};
use screen::Screen;
use shop::Shop;

/// Says to the child that it is the child, and when the parent began.
const CHILD: &str = "DURABLE_EXAMPLE_CHILD_BEGAN_AT_MS";
const ORDER: &str = "order-1";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).map(PathBuf::from);
    if let (Ok(began), Some(path)) = (std::env::var(CHILD), &path) {
        return live(path, &Screen::of_child(began.parse()?)).await;
    }
    let folder = tempfile::tempdir()?;
    let path = path.unwrap_or_else(|| folder.path().join("orders.db"));
    if path.exists() {
        return Err(format!("`{}` is there already: choose another path", path.display()).into());
    }
    let screen = Screen::of_parent();
    let killed_at_ms = run_and_kill(&path, &screen)?;
    resume(&path, &screen, killed_at_ms).await?;
    if !path.starts_with(folder.path()) {
        let picture = path.with_extension("svg");
        println!(
            "\nThe picture is in {}. Look into the store:",
            picture.display()
        );
        println!(
            "  cargo run -p durable-cli -- --store {} show {ORDER}",
            path.display()
        );
    }
    Ok(())
}

fn node(path: &Path, screen: &Screen) -> Result<durable_runtime::RuntimeBuilder, Box<dyn Error>> {
    let shop = Shop::new(Ledger::beside(path), screen.clone());
    let store = SqliteProvider::open(path)?;
    Ok(Runtime::builder(store, shop.registry()?))
}

fn order() -> Order {
    Order {
        id: ORDER.into(),
        items: ["tea", "teapot", "cups"].map(String::from).to_vec(),
        cents: 4_990,
    }
}

/// The child: starts the order and works on it until it is killed.
async fn live(path: &Path, screen: &Screen) -> Result<(), Box<dyn Error>> {
    let node = node(path, screen)?.start().await?;
    screen.say("a node opens the file and starts the order");
    let started = node.client().start(FULFIL, ORDER, &order()).await?;
    started.wait().await?;
    Ok(())
}

/// Runs the child until it has moved the money, and kills it.
fn run_and_kill(path: &Path, screen: &Screen) -> Result<u64, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(path)
        .env(CHILD, screen.began_at_ms().to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let Some(stdout) = child.stdout.take() else {
        return Err("the child has no output".into());
    };
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        if line.ends_with(shop::MONEY_MOVED) {
            break;
        }
    }
    let killed_at_ms = screen::now_ms();
    child.kill()?;
    let status = child.wait()?;
    screen.say(&format!("kill -9 {}: {status}", child.id()));
    Ok(killed_at_ms)
}

/// Opens the same file and goes on to the end.
async fn resume(path: &Path, screen: &Screen, killed_at_ms: u64) -> Result<(), Box<dyn Error>> {
    let node = node(path, screen)?.start().await?;
    let client = node.client();
    let order = client
        .start(FULFIL, ORDER, &order())
        .reuse(IdReuse::UseRunning)
        .await?;
    let events = order.record().await?.last_event_id;
    screen.say(&format!(
        "another node opens the file: {events} events are there, it goes on"
    ));
    approve_when_asked(&order, screen).await?;
    let outcome = order.wait().await?;
    screen.say(&format!("the order ends: {outcome}"));
    let timeline = timeline(&order, killed_at_ms).await?;
    std::fs::write(path.with_extension("svg"), timeline.to_svg())?;
    println!();
    anstream::print!("{}", timeline.to_text(terminal_columns()));
    println!("\nWhat the world saw, by idempotency key, each once:");
    for line in Ledger::beside(path).lines()? {
        println!("  {line}");
    }
    node.shutdown(Duration::from_secs(1)).await;
    Ok(())
}

async fn approve_when_asked(
    order: &InstanceHandle<Outcome>,
    screen: &Screen,
) -> Result<(), Box<dyn Error>> {
    let asked = serde_json::to_string(WAITING)?;
    order
        .wait_until(|record| {
            record.custom_status.as_deref() == Some(&asked) || record.status.kind().is_ended()
        })
        .await?;
    tokio::time::sleep(Duration::from_millis(400)).await;
    screen.say("a client raises the event `approval`");
    order.raise(APPROVAL, &true).await?;
    Ok(())
}

async fn timeline(
    order: &InstanceHandle<Outcome>,
    killed_at_ms: u64,
) -> Result<Timeline, Box<dyn Error>> {
    let page = order.history(ExecutionId::FIRST, EventId::UNASSIGNED, 1_000);
    let history = History::new(order.id().clone(), ExecutionId::FIRST, page.await?.entries);
    let mark = Mark {
        at_ms: killed_at_ms,
        label: "kill -9".into(),
    };
    Ok(Timeline::of(&history, killed_at_ms).with_mark(mark))
}
