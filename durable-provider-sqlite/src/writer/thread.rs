//! The thread that drives the writer.
//!
//! It blocks on the first request and takes along whatever else has arrived: no request
//! waits for others, and under load the others come by themselves. While a caller waits for
//! a change, the thread also polls once in a while whether another process made one.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use durable_core::provider::ProviderError;

use super::group_commit::GroupCommit;
use super::health::{WriterHealth, writer_panicked};
use super::job::BoxedJob;
use super::reply::{Reply, ReplyQueue, ReplyRouter};
use crate::options::SqliteOptions;
use crate::wake::Wakeups;

/// What the thread is sent.
enum Order {
    /// A request, and the queue for its reply.
    Run(BoxedJob, Option<Arc<ReplyQueue>>),
    /// A caller begins to wait for a change.
    Poll,
    /// The store is closed.
    Stop,
}

/// A handle on the thread; dropping it ends the thread after its current group.
#[derive(Debug)]
pub(crate) struct Writer {
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn spawn(
        group_commit: GroupCommit,
        options: &Arc<SqliteOptions>,
        wakeups: Arc<Wakeups>,
        health: &Arc<WriterHealth>,
    ) -> Result<Self, ProviderError> {
        let (orders, received) = mpsc::channel();
        let (watch, options) = (health.watch(), Arc::clone(options));
        let thread = std::thread::Builder::new()
            .name("durable-sqlite-writer".into())
            .spawn(move || {
                serve(group_commit, &options, &wakeups, &received);
                watch.finish();
            })
            .map_err(|error| ProviderError::Unavailable {
                reason: format!("the writer's thread cannot be started: {error}"),
            })?;
        Ok(Self {
            orders,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Sends a request to the thread. Its reply comes when it is on disk.
    pub(crate) fn send(&self, job: BoxedJob, queue: Option<Arc<ReplyQueue>>) {
        let order = Order::Run(job, queue);
        if let Err(mpsc::SendError(Order::Run(job, _))) = self.orders.send(order) {
            // The thread serves until this handle is dropped, unless it panics.
            job.answer(Some(&writer_panicked()));
        }
    }

    /// Has the thread poll other processes while a caller waits for a change.
    pub(crate) fn poll(&self) {
        // A caller of a thread that panicked is refused elsewhere.
        let _ = self.orders.send(Order::Poll);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It can only fail by panicking, and then its connection is closed too.
            let _ = thread.join();
        }
    }
}

fn serve(
    mut group_commit: GroupCommit,
    options: &SqliteOptions,
    wakeups: &Wakeups,
    orders: &Receiver<Order>,
) {
    let mut router = ReplyRouter::default();
    loop {
        let first = match next(options, wakeups, orders, &mut router) {
            Ok(first) => first,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                group_commit.poll_other_processes();
                continue;
            }
        };
        let mut group = Group::default();
        let mut is_last = !group.take(first);
        while !is_last && group.jobs.len() < options.max_group {
            match orders.try_recv() {
                Ok(order) => is_last = !group.take(order),
                Err(_) => break,
            }
        }
        if !group.jobs.is_empty() {
            let error = group_commit.run(&mut group.jobs).err();
            router.send(group.replies(error.as_ref()));
            group_commit.after_group();
        }
        if is_last {
            return;
        }
    }
}

/// Waits for something to do; without a timeout, unless a caller waits for a change.
fn next(
    options: &SqliteOptions,
    wakeups: &Wakeups,
    orders: &Receiver<Order>,
    router: &mut ReplyRouter,
) -> Result<Order, RecvTimeoutError> {
    while let Some(timeout) = router.fallback_timeout() {
        match orders.recv_timeout(timeout) {
            Err(RecvTimeoutError::Timeout) => {}
            order => return order,
        }
    }
    if wakeups.has_waiters() {
        orders.recv_timeout(options.poll_interval)
    } else {
        orders.recv().map_err(RecvTimeoutError::from)
    }
}

/// Requests that share a transaction.
#[derive(Debug, Default)]
struct Group {
    jobs: Vec<BoxedJob>,
    queues: Vec<Option<Arc<ReplyQueue>>>,
}

impl Group {
    /// Takes an order along; answers whether more may follow.
    fn take(&mut self, order: Order) -> bool {
        match order {
            Order::Run(job, queue) => {
                self.jobs.push(job);
                self.queues.push(queue);
            }
            Order::Poll => {}
            Order::Stop => return false,
        }
        true
    }

    /// The replies, and the queues for them.
    fn replies(
        self,
        error: Option<&ProviderError>,
    ) -> impl Iterator<Item = (Reply, Option<Arc<ReplyQueue>>)> {
        let replies = self.jobs.into_iter().map(move |job| Reply::new(job, error));
        replies.zip(self.queues)
    }
}
