//! The tasks that deliver replies: one in each tokio runtime that sends requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime::{Handle, Id, RuntimeFlavor};

use super::notify_fd::{UnregisteredListener, notify_fd};
use super::reply::ReplyQueue;

/// The reply queues of the runtimes that sent requests.
#[derive(Debug, Default)]
pub(crate) struct ReplyTasks {
    /// A queue is gone with its task.
    queues: Mutex<HashMap<Id, Weak<ReplyQueue>>>,
}

impl ReplyTasks {
    /// The reply queue of the runtime whose task calls. The runtime must have I/O.
    ///
    /// None outside of tasks, and in a runtime without other workers to wake.
    pub(crate) fn queue_here(&self) -> Option<Arc<ReplyQueue>> {
        tokio::task::try_id()?;
        let runtime = Handle::try_current().ok()?;
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return None;
        }
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(&runtime.id()) {
            return queue.upgrade();
        }
        let (notifier, listener) = notify_fd().ok()?;
        let queue = Arc::new(ReplyQueue::new(notifier));
        let task = ReplyTask(Arc::clone(&queue));
        runtime.spawn(task.drain_loop(listener));
        queues.insert(runtime.id(), Arc::downgrade(&queue));
        Some(queue)
    }
}

impl Drop for ReplyTasks {
    fn drop(&mut self) {
        let queues = self.queues.get_mut();
        let queues = queues.unwrap_or_else(PoisonError::into_inner);
        for queue in queues.values().filter_map(Weak::upgrade) {
            queue.close();
        }
    }
}

/// Delivers replies until the store is closed or the runtime ends.
struct ReplyTask(Arc<ReplyQueue>);

impl ReplyTask {
    async fn drain_loop(self, listener: UnregisteredListener) {
        let Ok(listener) = listener.register() else {
            return;
        };
        self.0.open();
        while !self.0.is_closed() && listener.notified().await.is_ok() {
            self.0.drain();
        }
    }
}

impl Drop for ReplyTask {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{self, ThreadId};

    use durable_core::provider::ProviderError;
    use tokio::runtime::{Builder, Runtime};

    use super::super::job::{Job, Outlives};
    use super::super::reply::{Reply, ReplyRouter};
    use super::*;
    use crate::error::Fault;
    use crate::store::Store;

    /// A request whose reply says which thread delivered it.
    struct Witness(Sender<ThreadId>);

    impl Job for Witness {
        fn outlives(&self) -> Outlives {
            Outlives::PowerCut
        }

        fn run(&mut self, _: &mut Store<'_, '_>) -> Result<(), Fault> {
            Ok(())
        }

        fn refuse(&mut self, _: ProviderError) {}

        fn answer(self: Box<Self>, _: Option<&ProviderError>) {
            self.0.send(thread::current().id()).unwrap();
        }
    }

    fn runtime(workers: usize) -> Runtime {
        Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_io()
            .build()
            .unwrap()
    }

    fn queue_of(tasks: &Arc<ReplyTasks>, runtime: &Runtime) -> Option<Arc<ReplyQueue>> {
        let tasks = Arc::clone(tasks);
        let task = runtime.spawn(async move { tasks.queue_here() });
        runtime.block_on(task).unwrap()
    }

    fn send(router: &mut ReplyRouter, queue: &Arc<ReplyQueue>) -> Receiver<ThreadId> {
        let (witness, seen) = channel();
        let reply = Reply::new(Box::new(Witness(witness)), None);
        router.send([(reply, Some(Arc::clone(queue)))]);
        seen
    }

    /// Sends replies until the reply task delivers one, as it does once it runs.
    fn until_drained(router: &mut ReplyRouter, queue: &Arc<ReplyQueue>) {
        while send(router, queue).recv().unwrap() == thread::current().id() {
            thread::yield_now();
        }
    }

    /// A runtime whose reply task runs.
    fn drained(workers: usize) -> (Arc<ReplyTasks>, Runtime, ReplyRouter, Arc<ReplyQueue>) {
        let (tasks, runtime) = (Arc::<ReplyTasks>::default(), runtime(workers));
        let queue = queue_of(&tasks, &runtime).unwrap();
        let mut router = ReplyRouter::default();
        until_drained(&mut router, &queue);
        (tasks, runtime, router, queue)
    }

    #[test]
    fn every_runtime_has_one_queue() {
        let (tasks, first, _, queue) = drained(2);
        let second = runtime(2);
        let again = queue_of(&tasks, &first).unwrap();
        assert!(Arc::ptr_eq(&queue, &again));
        let other = queue_of(&tasks, &second).unwrap();
        assert!(!Arc::ptr_eq(&queue, &other));
    }

    #[test]
    fn a_caller_that_wakes_no_other_worker_has_no_queue() {
        let tasks = ReplyTasks::default();
        assert!(tasks.queue_here().is_none(), "without a runtime");
        let root = runtime(2).block_on(async { tasks.queue_here() });
        assert!(root.is_none(), "outside of tasks");
        let alone = Builder::new_current_thread().build().unwrap();
        let task = alone.spawn(async move { tasks.queue_here() });
        assert!(alone.block_on(task).unwrap().is_none(), "a single worker");
    }

    #[test]
    fn a_worker_that_blocks_does_not_keep_replies_back() {
        let (_tasks, runtime, mut router, queue) = drained(1);
        let ((begun, has_begun), (end, may_end)) = (channel(), channel::<()>());
        let blocking = runtime.spawn(async move {
            begun.send(()).unwrap();
            may_end.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let seen = send(&mut router, &queue);
        while let Some(timeout) = router.fallback_timeout() {
            thread::park_timeout(timeout);
        }
        assert_eq!(seen.recv(), Ok(thread::current().id()));
        end.send(()).unwrap();
        runtime.block_on(blocking).unwrap();
        until_drained(&mut router, &queue);
    }

    #[test]
    fn a_runtime_that_ends_keeps_nothing_back() {
        let (_tasks, runtime, mut router, queue) = drained(1);
        drop(runtime);
        let seen = send(&mut router, &queue);
        assert_eq!(seen.recv(), Ok(thread::current().id()));
        assert_eq!(router.fallback_timeout(), None);
    }

    #[test]
    fn a_writer_that_ends_keeps_nothing_back() {
        let (_tasks, _runtime, mut router, queue) = drained(1);
        let seen = [(); 3].map(|()| send(&mut router, &queue));
        drop(router);
        assert!(seen.iter().all(|seen| seen.recv().is_ok()));
    }

    #[test]
    fn reply_tasks_end_with_the_store() {
        let (tasks, runtime, _, queue) = drained(2);
        drop(tasks);
        while runtime.metrics().num_alive_tasks() > 0 {
            thread::yield_now();
        }
        assert_eq!(Arc::strong_count(&queue), 1, "the task has ended");
    }
}
