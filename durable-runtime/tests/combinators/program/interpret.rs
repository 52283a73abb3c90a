//! Executes programs through the public API.

use std::future::{Future, pending, poll_fn};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use durable_runtime::{
    Activity, ActivityContext, Attribute, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder,
};
use futures::future::{BoxFuture, Fuse, join_all, select_all};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{Join, Node, Program, Select, What};

/// Executes a program.
pub(crate) const PROGRAM: Orchestration<Task, Vec<String>> = Orchestration::new("program");
const STEP: Activity<Step, String> = Activity::new("step");

/// A program with a number that tells it apart from others of the same parent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: u32,
    pub(crate) program: Program,
}

/// What an activity is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    id: String,
    delay_ms: u64,
    fails: bool,
}

/// Everything that a node needs to execute programs.
pub(crate) fn registry() -> RegistryBuilder {
    Registry::builder()
        .orchestration(PROGRAM, execute)
        .activity(STEP, step)
}

async fn step(_: ActivityContext, step: Step) -> Result<String, Failure> {
    tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
    match step.fails {
        true => Err(Failure::application("step", step.id).not_retryable()),
        false => Ok(step.id),
    }
}

async fn execute(ctx: OrchestrationContext, task: Task) -> Result<Vec<String>, Failure> {
    let machine = Machine {
        ctx,
        task,
        log: Arc::default(),
        lock: Arc::default(),
    };
    let result = machine.node(&machine.task.program.root).await;
    machine.say(&result);
    if machine.task.program.fails {
        return Err(Failure::application("program", result));
    }
    let log = machine.log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(log.clone())
}

/// One execution of a program.
struct Machine {
    ctx: OrchestrationContext,
    task: Task,
    /// What it saw, in its order.
    log: Arc<Mutex<Vec<String>>>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

fn word(result: Result<impl ToString, Failure>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(failure) => format!("!{}", failure.kind),
    }
}

impl Machine {
    fn say(&self, text: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(text.into());
    }

    fn node<'a>(&'a self, node: &'a Node) -> BoxFuture<'a, String> {
        self.execute(node).boxed()
    }

    async fn execute(&self, node: &Node) -> String {
        let (ctx, id) = (&self.ctx, node.id);
        let done = match &node.what {
            What::Work { delay_ms, fails } => self.work(id, *delay_ms, *fails).await,
            What::Sleep { delay_ms } => word(self.sleep(id, *delay_ms).await.map(|()| "slept")),
            What::Event { name, patience_ms } => {
                tokio::select! {
                    event = ctx.external_event::<u64>(&**name) => word(event),
                    late = self.sleep(id, *patience_ms) => word(late.map(|()| "late")),
                }
            }
            What::Take { name } => self.take(name).await,
            What::Read {
                name,
                count,
                patience_ms,
            } => self.read(id, name, *count, *patience_ms).await,
            What::Promise {
                resolves,
                patience_ms,
            } => self.promise(id, *resolves, *patience_ms).await,
            What::Run { wait_ms, fails } => self.run(id, *wait_ms, *fails).await,
            What::Child { program } => {
                let program = (**program).clone();
                let child = ctx.sub_orchestration(PROGRAM, &Task { id, program });
                word(child.await.map(|log| log.join(",")))
            }
            What::Detach { program } => return self.detach(id, program).await,
            What::State { key, value } => return self.state(*key, *value),
            What::Status { value } => return self.status(*value),
            What::Attribute { value } => return self.attribute(*value),
            What::Send { name } => {
                let sent = ctx
                    .send_event(ctx.instance_id(), &**name, &u64::from(id))
                    .detach();
                return word(sent.map(|()| "sent"));
            }
            What::SendAndWait { name, absent } => {
                let target = match absent {
                    true => "never-was".into(),
                    false => ctx.instance_id(),
                };
                let sent = ctx.send_event(target, &**name, &u64::from(id)).await;
                word(sent.map(|()| "delivered"))
            }
            What::Patch { patch, new, old } => {
                if ctx.patched(format!("patch{patch}")).await {
                    return self.node(new).await;
                }
                return self.node(old).await;
            }
            What::Look => self.look(id).await,
            What::OnCancel {
                cancelled,
                otherwise,
            } => {
                self.work(id, 0, false).await;
                if ctx.is_cancelled() {
                    return self.node(cancelled).await;
                }
                return self.node(otherwise).await;
            }
            What::Again => return self.again().await,
            What::Sequence(all) => {
                let mut results = Vec::new();
                for node in all {
                    results.push(self.node(node).await);
                }
                return results.join(";");
            }
            What::Repeat { times, body } => {
                let mut results = Vec::new();
                for _ in 0..*times {
                    results.push(self.node(body).await);
                }
                return results.join(";");
            }
            What::Join { how, all } => return self.join(*how, all).await,
            What::Select { how, any } => {
                let mut branches = Vec::new();
                for node in any {
                    branches.push(self.after_work(node));
                }
                select(*how, branches).await
            }
            What::Race { any, then } => self.race(any, then).await,
            What::Park { begun, meanwhile } => {
                let mut begun = self.node(begun);
                let seen = futures::poll!(&mut begun);
                self.node(meanwhile).await;
                return match seen {
                    Poll::Ready(done) => done,
                    Poll::Pending => begun.await,
                };
            }
            What::Abandon { begun, meanwhile } => {
                let mut begun = self.node(begun);
                let seen = futures::poll!(&mut begun);
                let done = self.node(meanwhile).await;
                return format!("{done}/{}", seen.is_pending());
            }
            What::Locked { body } => {
                self.work(id, 0, false).await;
                let _locked = self.lock.lock().await;
                self.node(body).await
            }
        };
        let done = format!("{id}:{done}");
        self.say(&done);
        done
    }

    /// The node, after some work: no two of them go on at once.
    fn after_work<'a>(&'a self, node: &'a Node) -> BoxFuture<'a, String> {
        async {
            let id = format!("before {}", node.id);
            let step = Step {
                id,
                delay_ms: 0,
                fails: false,
            };
            let first = word(self.ctx.activity(STEP, &step).await);
            format!("{first}>{}", self.node(node).await)
        }
        .boxed()
    }

    async fn work(&self, id: u32, delay_ms: u64, fails: bool) -> String {
        let id = id.to_string();
        word(
            self.ctx
                .activity(
                    STEP,
                    &Step {
                        id,
                        delay_ms,
                        fails,
                    },
                )
                .await,
        )
    }

    /// No two timers that start together are of the same length.
    async fn sleep(&self, id: u32, delay_ms: u64) -> Result<(), Failure> {
        let duration = Duration::from_millis(delay_ms * 100 + u64::from(id));
        self.ctx.sleep(duration).await
    }

    async fn read(&self, id: u32, name: &str, count: u8, patience_ms: u64) -> String {
        let mut events = self.ctx.external_events::<u64>(name);
        let mut read = Vec::new();
        for _ in 0..count {
            let event = tokio::select! {
                event = events.next() => event,
                late = self.sleep(id, patience_ms) => Some(late.map(|()| 0)),
            };
            let Some(event) = event else {
                break;
            };
            read.push(word(event));
        }
        read.join("+")
    }

    async fn take(&self, name: &str) -> String {
        let mut taken = Vec::new();
        loop {
            match self.ctx.try_external_event::<u64>(name).await.transpose() {
                Some(event) => taken.push(word(event)),
                None => return taken.join("+"),
            }
        }
    }

    async fn promise(&self, id: u32, resolves: bool, patience_ms: u64) -> String {
        self.work(id, 0, false).await;
        let promise = match self.ctx.promise::<u64>(format!("promise{id}")) {
            Ok(promise) => promise,
            Err(failure) => return word(Err::<u64, _>(failure)),
        };
        let token = promise.token().clone();
        let sent = match resolves {
            true => self.ctx.resolve_promise(token, &u64::from(id)),
            false => self
                .ctx
                .reject_promise(token, Failure::application("rejected", "no")),
        };
        let settled = tokio::select! {
            settled = promise => word(settled),
            late = self.sleep(id, patience_ms) => word(late.map(|()| "late")),
        };
        format!("{}{settled}", sent.is_ok())
    }

    async fn run(&self, id: u32, wait_ms: Option<u64>, fails: bool) -> String {
        let effect = async {
            if let Some(wait_ms) = wait_ms {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
            match fails {
                true => Err(Failure::application("effect", "failed")),
                false => Ok(id),
            }
        };
        word(self.ctx.run(format!("run{id}"), effect).await)
    }

    /// The work before it makes the id that it starts a known one.
    async fn detach(&self, id: u32, program: &Program) -> String {
        self.work(id, 0, false).await;
        let instance = format!("{}-{}", self.ctx.instance_id(), self.ctx.uuid());
        let program = program.clone();
        let started = self
            .ctx
            .start_detached(PROGRAM, instance, &Task { id, program });
        word(started.map(|()| "detached"))
    }

    fn state(&self, key: u8, value: Option<u64>) -> String {
        let key = format!("key{key}");
        word(match value {
            Some(value) => self.ctx.set_state(key, &value).map(|()| "set"),
            None => self.ctx.clear_state(key).map(|()| "cleared"),
        })
    }

    fn attribute(&self, value: Option<i64>) -> String {
        const ATTRIBUTE: Attribute<i64> = Attribute::new("number");
        word(match value {
            Some(value) => {
                let set = self.ctx.set_attribute(ATTRIBUTE, value);
                set.map(|()| "attribute")
            }
            None => self.ctx.clear_attribute(ATTRIBUTE).map(|()| "no attribute"),
        })
    }

    fn status(&self, value: Option<u64>) -> String {
        word(match value {
            Some(value) => self.ctx.set_custom_status(&value).map(|()| "status"),
            None => self.ctx.clear_custom_status().map(|()| "no status"),
        })
    }

    async fn look(&self, id: u32) -> String {
        let ctx = &self.ctx;
        let before = self.work(id, 0, false).await;
        let state = (0..3).map(|key| ctx.state::<u64>(format!("key{key}")));
        let state: Vec<String> = state
            .map(|value| word(value.map(|v| format!("{v:?}"))))
            .collect();
        format!(
            "{before} {} {} {:?} {} {state:?} {:?}",
            ctx.random(),
            ctx.uuid(),
            ctx.now(),
            ctx.history_len(),
            ctx.cancel_reason(),
        )
    }

    async fn again(&self) -> String {
        let mut task = self.task.clone();
        if task.program.rounds == 0 {
            return "no more".into();
        }
        task.program.rounds -= 1;
        word(self.ctx.continue_as_new::<_, String>(&task).await)
    }

    async fn join(&self, how: Join, all: &[Node]) -> String {
        let mut futures = Vec::new();
        for node in all {
            futures.push(self.node(node));
        }
        let results: Vec<String> = match how {
            Join::Tokio => {
                let [a, b, c] = three(futures);
                let (a, b, c) = tokio::join!(
                    a.unwrap_or_else(|| async { String::new() }.boxed()),
                    b.unwrap_or_else(|| async { String::new() }.boxed()),
                    c.unwrap_or_else(|| async { String::new() }.boxed()),
                );
                vec![a, b, c]
            }
            Join::All => join_all(futures).await,
            Join::Unordered => {
                let open: FuturesUnordered<_> = futures.into_iter().collect();
                open.collect().await
            }
            Join::Buffered => stream::iter(futures).buffer_unordered(2).collect().await,
        };
        format!("[{}]", results.join(","))
    }

    async fn race(&self, any: &[Node], then: &Node) -> String {
        let mut open = FuturesUnordered::new();
        for node in any {
            open.push(self.after_work(node));
        }
        let mut results = Vec::new();
        while let Some(done) = open.next().await {
            results.push(done);
            results.push(self.node(then).await);
        }
        format!("({})", results.join(","))
    }
}

/// The first three; there are no more.
fn three<T>(all: Vec<T>) -> [Option<T>; 3] {
    let mut all = all.into_iter();
    [all.next(), all.next(), all.next()]
}

async fn select(how: Select, any: Vec<BoxFuture<'_, String>>) -> String {
    match how {
        Select::Tokio => {
            let [a, b, c] = three(any);
            let never = || pending().boxed();
            let (has_b, has_c) = (b.is_some(), c.is_some());
            tokio::select! {
                done = a.unwrap_or_else(never) => done,
                done = b.unwrap_or_else(never), if has_b => done,
                done = c.unwrap_or_else(never), if has_c => done,
            }
        }
        Select::Futures => {
            let [mut a, mut b, mut c] =
                three(any).map(|future| future.map_or_else(Fuse::terminated, FutureExt::fuse));
            futures::select! {
                done = a => done,
                done = b => done,
                done = c => done,
            }
        }
        Select::All => {
            let (done, index, _) = select_all(any).await;
            format!("{index}={done}")
        }
        Select::Turns => turns(any).await,
    }
}

/// Polls one per poll, and all of them before it waits.
fn turns(mut any: Vec<BoxFuture<'_, String>>) -> impl Future<Output = String> {
    let (mut next, mut left) = (0, any.len());
    poll_fn(move |cx| {
        next = (next + 1) % any.len();
        if let Poll::Ready(done) = any[next].poll_unpin(cx) {
            return Poll::Ready(done);
        }
        left -= 1;
        if left > 0 {
            cx.waker().wake_by_ref();
        } else {
            left = any.len();
        }
        Poll::Pending
    })
}
