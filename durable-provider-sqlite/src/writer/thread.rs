//! The thread that drives the writer.
//!
//! It blocks on the first request and takes along whatever else has arrived: nobody
//! waits for company, and under load the company comes by itself. While somebody
//! waits for news it also looks once in a while whether another process brought some.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use durable_core::provider::ProviderError;

use super::core::Core;
use super::job::BoxedJob;
use super::mail::{Letter, Mail, Postbox};
use crate::options::SqliteOptions;
use crate::wake::Board;

/// What the thread is sent.
enum Order {
    /// A request, and where its answer is to be left.
    Run(BoxedJob, Option<Arc<Postbox>>),
    /// Somebody waits for news.
    Look,
    /// Nobody will send anything any more.
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
        core: Core,
        options: SqliteOptions,
        board: Arc<Board>,
    ) -> Result<Self, ProviderError> {
        let (orders, received) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("durable-sqlite-writer".into())
            .spawn(move || serve(core, &options, &board, &received))
            .map_err(|error| ProviderError::Unavailable {
                reason: format!("the writer's thread cannot be started: {error}"),
            })?;
        Ok(Self {
            orders,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Hands a request to the thread. Its answer comes when it is on disk.
    pub(crate) fn send(&self, job: BoxedJob, postbox: Option<Arc<Postbox>>) {
        let order = Order::Run(job, postbox);
        if let Err(mpsc::SendError(Order::Run(job, _))) = self.orders.send(order) {
            job.answer(Some(&ProviderError::Unavailable {
                reason: "the writer has ended".into(),
            }));
        }
    }

    /// Somebody begins to wait for news.
    pub(crate) fn look(&self) {
        // Without a thread there is no news.
        let _ = self.orders.send(Order::Look);
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

fn serve(mut core: Core, options: &SqliteOptions, board: &Board, orders: &Receiver<Order>) {
    let mut mail = Mail::default();
    loop {
        let first = match next(options, board, orders, &mut mail) {
            Ok(first) => first,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                core.look_around();
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
            let error = core.run(&mut group.jobs).err();
            mail.send(group.letters(error.as_ref()));
            core.tidy_up();
        }
        if is_last {
            return;
        }
    }
}

/// Waits for something to do; for ever, unless somebody waits for news.
fn next(
    options: &SqliteOptions,
    board: &Board,
    orders: &Receiver<Order>,
    mail: &mut Mail,
) -> Result<Order, RecvTimeoutError> {
    while let Some(patience) = mail.patience() {
        match orders.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) => {}
            order => return order,
        }
    }
    if board.has_waiters() {
        orders.recv_timeout(options.poll_interval)
    } else {
        orders.recv().map_err(RecvTimeoutError::from)
    }
}

/// Requests that share a transaction.
#[derive(Debug, Default)]
struct Group {
    jobs: Vec<BoxedJob>,
    postboxes: Vec<Option<Arc<Postbox>>>,
}

impl Group {
    /// Takes an order along; no if it is the last.
    fn take(&mut self, order: Order) -> bool {
        match order {
            Order::Run(job, postbox) => {
                self.jobs.push(job);
                self.postboxes.push(postbox);
            }
            Order::Look => {}
            Order::Stop => return false,
        }
        true
    }

    /// The answers, and where to leave them.
    fn letters(
        self,
        error: Option<&ProviderError>,
    ) -> impl Iterator<Item = (Letter, Option<Arc<Postbox>>)> {
        let letters = self
            .jobs
            .into_iter()
            .map(move |job| Letter::new(job, error));
        letters.zip(self.postboxes)
    }
}
