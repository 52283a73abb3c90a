//! A store with instances in every state, and the binary to look at it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, Client, EventName, Failure, Orchestration, OrchestrationContext,
    Registry, Request, Runtime,
};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const QUICK: Orchestration<u64, u64> = Orchestration::new("quick");
pub(crate) const WAITS: Orchestration<u64, bool> = Orchestration::new("waits");
pub(crate) const FAILS: Orchestration<u64, u64> = Orchestration::new("fails");
pub(crate) const ROUNDS: Orchestration<u64, u64> = Orchestration::new("rounds");
pub(crate) const TIMED: Orchestration<u64, u64> = Orchestration::new("timed");
const DOUBLE: Activity<u64, u64> = Activity::new("double");
const APPROVED: EventName<bool> = EventName::new("approved");
const DAY: Duration = Duration::from_secs(86_400);

async fn quick(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.activity(DOUBLE, &number).await
}

/// Waits for an event, a promise, a child and a timer.
async fn waits(ctx: OrchestrationContext, number: u64) -> Result<bool, Failure> {
    ctx.activity(DOUBLE, &number).await?;
    let promise = ctx.promise::<bool>("paid")?;
    ctx.set_custom_status(&"waiting")?;
    if number > 0 {
        tokio::select! {
            approved = ctx.external_event(APPROVED) => approved,
            paid = promise => paid,
            child = ctx.sub_orchestration(WAITS, &0).id("child-1") => child,
            late = ctx.sleep(DAY) => late.map(|()| false),
        }
    } else {
        ctx.external_event(APPROVED).await
    }
}

async fn fails(_: OrchestrationContext, _: u64) -> Result<u64, Failure> {
    Err(Failure::application("no_luck", "it was not to be"))
}

/// Calls an activity that no node begins and that has a day.
async fn timed(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.set_custom_status(&"called")?;
    let call = ctx.activity(DOUBLE, &number).queue("unserved");
    call.timeout(DAY).await
}

async fn rounds(ctx: OrchestrationContext, left: u64) -> Result<u64, Failure> {
    ctx.activity(DOUBLE, &left).await?;
    match left {
        0 => Ok(0),
        left => ctx.continue_as_new(&(left - 1)).await,
    }
}

pub(crate) const COUNTER: Orchestration<u64, u64> = Orchestration::new("counter");
const ADD: Request<u64, u64> = Request::new("add");

/// Adds what it is told; rejects 0, and keeps the caller of 1 waiting.
async fn counter(ctx: OrchestrationContext, mut sum: u64) -> Result<u64, Failure> {
    loop {
        let add = ctx.request(ADD).await?;
        match add.input() {
            0 => add.reject("nothing is added")?,
            1 => ctx.sleep(DAY).await?,
            number => {
                sum += number;
                add.answer(&sum)?;
            }
        }
    }
}

pub(crate) fn registry() -> Registry {
    Registry::builder()
        .orchestration(COUNTER, counter)
        .orchestration(QUICK, quick)
        .orchestration(WAITS, waits)
        .orchestration(FAILS, fails)
        .orchestration(ROUNDS, rounds)
        .orchestration(TIMED, timed)
        .activity(DOUBLE, |_: ActivityContext, number: u64| async move {
            Ok::<_, Failure>(2 * number)
        })
        .build()
        .unwrap()
}

/// A store in a directory of its own.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// A store in which `quick-1` and `rounds-1` completed, `fails-1` failed,
    /// `waits-1` and its child wait, and no node is left.
    pub(crate) async fn filled() -> Self {
        let place = Self::new();
        let node = place.node().await;
        let client = node.client();
        let quick = client.start(QUICK, "quick-1", &21).await.unwrap();
        assert_eq!(quick.wait().await.unwrap(), 42);
        let rounds = client.start(ROUNDS, "rounds-1", &2).await.unwrap();
        assert_eq!(rounds.wait().await.unwrap(), 0);
        let fails = client.start(FAILS, "fails-1", &0).await.unwrap();
        fails.wait().await.unwrap_err();
        let waits = client.start(WAITS, "waits-1", &1).await.unwrap();
        for waiting in [waits.clone(), client.instance(WAITS, "child-1")] {
            // A child is there a moment after its parent.
            while waiting.record().await.is_err() {
                tokio::task::yield_now().await;
            }
            waiting
                .wait_until(|record| record.custom_status.is_some())
                .await
                .unwrap();
        }
        node.shutdown(Duration::from_secs(5)).await;
        place
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path("store.db")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) async fn node(&self) -> Runtime {
        let store = SqliteProvider::open(self.file()).unwrap();
        Runtime::builder(store, registry()).start().await.unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        let store = SqliteProvider::open(self.file()).unwrap();
        Client::new(std::sync::Arc::new(store))
    }

    /// Runs the binary on the store.
    pub(crate) fn durable(&self, arguments: &[&str]) -> Ran {
        durable_on(&self.file(), arguments)
    }

    /// What the binary says as JSON; it must succeed and be silent otherwise.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.durable(&[&["--json"], arguments].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

/// What a run of the binary came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The output of a run that succeeded and said nothing else.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (0, ""),
            "{}",
            self.stdout
        );
        self.stdout
    }

    /// The complaint of a run that was refused and printed nothing else.
    #[track_caller]
    pub(crate) fn refused(self) -> String {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (1, ""),
            "{}",
            self.stderr
        );
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self.stderr
    }
}

pub(crate) fn durable_on(store: &Path, arguments: &[&str]) -> Ran {
    let store = store.to_str().unwrap();
    durable(&[&["--store", store], arguments].concat())
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_durable"));
    command
        .args(arguments)
        .env_remove("DURABLE_STORE")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

pub(crate) fn durable(arguments: &[&str]) -> Ran {
    let output = command(arguments).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The shape of a value: what is constant for programs that read it. Leaves are the
/// names of their types, a list is the shape of its first element.
pub(crate) fn shape(value: &Value) -> Value {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Array(items) => items.iter().take(1).map(shape).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect(),
    }
}
