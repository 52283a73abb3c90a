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
use crate::options::SqliteOptions;
use crate::wake::Board;

/// What the thread is sent.
enum Order {
    Run(BoxedJob),
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
    pub(crate) fn send(&self, job: BoxedJob) {
        if let Err(mpsc::SendError(Order::Run(job))) = self.orders.send(Order::Run(job)) {
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
    loop {
        let first = if board.has_waiters() {
            orders.recv_timeout(options.poll_bound)
        } else {
            orders.recv().map_err(RecvTimeoutError::from)
        };
        let mut group = Vec::new();
        let mut is_last = false;
        match first {
            Ok(Order::Run(job)) => group.push(job),
            Ok(Order::Look) => {}
            Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                core.look_around();
                continue;
            }
        }
        while group.len() < options.max_group {
            match orders.try_recv() {
                Ok(Order::Run(job)) => group.push(job),
                Ok(Order::Look) => {}
                Ok(Order::Stop) => {
                    is_last = true;
                    break;
                }
                Err(_) => break,
            }
        }
        if !group.is_empty() {
            core.run(group);
        }
        if is_last {
            return;
        }
    }
}
