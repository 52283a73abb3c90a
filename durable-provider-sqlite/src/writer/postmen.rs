//! Who empties the postboxes: one task in each tokio runtime that asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime::{Handle, Id, RuntimeFlavor};

use super::bell::{Ear, bell};
use super::mail::Postbox;

/// The postboxes of the runtimes that asked for something.
#[derive(Debug, Default)]
pub(crate) struct Postmen {
    /// Those whose postmen are gone are gone, too.
    postboxes: Mutex<HashMap<Id, Weak<Postbox>>>,
}

impl Postmen {
    /// The postbox of the runtime whose task asks.
    ///
    /// None outside of tasks, and in a runtime without other workers to wake. None also
    /// where a panic ends the process: nothing but a panic tells that a runtime has no I/O.
    /// It ends the postman, and the writer delivers everything itself.
    pub(crate) fn here(&self) -> Option<Arc<Postbox>> {
        tokio::task::try_id()?;
        let runtime = Handle::try_current().ok()?;
        if cfg!(not(panic = "unwind")) || runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return None;
        }
        let mut postboxes = self
            .postboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(postbox) = postboxes.get(&runtime.id()) {
            return postbox.upgrade();
        }
        let (bell, ear) = bell().ok()?;
        let postbox = Arc::new(Postbox::new(bell));
        let round = Round(Arc::clone(&postbox));
        runtime.spawn(round.walk(ear));
        postboxes.insert(runtime.id(), Arc::downgrade(&postbox));
        Some(postbox)
    }
}

impl Drop for Postmen {
    fn drop(&mut self) {
        let postboxes = self.postboxes.get_mut();
        let postboxes = postboxes.unwrap_or_else(PoisonError::into_inner);
        for postbox in postboxes.values().filter_map(Weak::upgrade) {
            postbox.close();
        }
    }
}

/// What a postman does until the store is closed or his runtime ends.
struct Round(Arc<Postbox>);

impl Round {
    async fn walk(self, ear: Ear) {
        let Ok(ear) = ear.listen() else {
            return;
        };
        self.0.attend();
        while !self.0.is_closed() && ear.hear().await.is_ok() {
            self.0.empty();
        }
    }
}

impl Drop for Round {
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
    use super::super::mail::{Letter, Mail};
    use super::*;
    use crate::error::Fault;
    use crate::store::Store;

    /// A request whose answer says which thread brought it.
    struct Witness(Sender<ThreadId>);

    impl Job for Witness {
        fn now_ms(&self) -> Option<u64> {
            None
        }

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

    fn postbox_of(postmen: &Arc<Postmen>, runtime: &Runtime) -> Option<Arc<Postbox>> {
        let postmen = Arc::clone(postmen);
        let task = runtime.spawn(async move { postmen.here() });
        runtime.block_on(task).unwrap()
    }

    fn send(mail: &mut Mail, postbox: &Arc<Postbox>) -> Receiver<ThreadId> {
        let (witness, seen) = channel();
        let letter = Letter::new(Box::new(Witness(witness)), None);
        mail.send([(letter, Some(Arc::clone(postbox)))]);
        seen
    }

    /// Sends letters until a postman brings one, as he does once he has begun.
    fn until_attended(mail: &mut Mail, postbox: &Arc<Postbox>) {
        while send(mail, postbox).recv().unwrap() == thread::current().id() {
            thread::yield_now();
        }
    }

    /// A runtime with a postman at work.
    fn attended(workers: usize) -> (Arc<Postmen>, Runtime, Mail, Arc<Postbox>) {
        let (postmen, runtime) = (Arc::<Postmen>::default(), runtime(workers));
        let postbox = postbox_of(&postmen, &runtime).unwrap();
        let mut mail = Mail::default();
        until_attended(&mut mail, &postbox);
        (postmen, runtime, mail, postbox)
    }

    #[test]
    fn every_runtime_has_one_postbox() {
        let (postmen, first, _, postbox) = attended(2);
        let second = runtime(2);
        let again = postbox_of(&postmen, &first).unwrap();
        assert!(Arc::ptr_eq(&postbox, &again));
        let other = postbox_of(&postmen, &second).unwrap();
        assert!(!Arc::ptr_eq(&postbox, &other));
    }

    #[test]
    fn who_wakes_no_other_worker_has_no_postbox() {
        let postmen = Postmen::default();
        assert!(postmen.here().is_none(), "without a runtime");
        let root = runtime(2).block_on(async { postmen.here() });
        assert!(root.is_none(), "outside of tasks");
        let alone = Builder::new_current_thread().build().unwrap();
        let task = alone.spawn(async move { postmen.here() });
        assert!(alone.block_on(task).unwrap().is_none(), "a single worker");
    }

    #[test]
    fn a_worker_that_blocks_does_not_keep_back_what_others_wait_for() {
        let (_postmen, runtime, mut mail, postbox) = attended(1);
        let ((begun, has_begun), (end, may_end)) = (channel(), channel::<()>());
        let blocking = runtime.spawn(async move {
            begun.send(()).unwrap();
            may_end.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let seen = send(&mut mail, &postbox);
        while let Some(patience) = mail.patience() {
            thread::park_timeout(patience);
        }
        assert_eq!(seen.recv(), Ok(thread::current().id()));
        end.send(()).unwrap();
        runtime.block_on(blocking).unwrap();
        until_attended(&mut mail, &postbox);
    }

    #[test]
    fn a_runtime_that_ends_keeps_nothing_back() {
        let (_postmen, runtime, mut mail, postbox) = attended(1);
        drop(runtime);
        let seen = send(&mut mail, &postbox);
        assert_eq!(seen.recv(), Ok(thread::current().id()));
        assert_eq!(mail.patience(), None);
    }

    #[test]
    fn a_writer_that_ends_keeps_nothing_back() {
        let (_postmen, _runtime, mut mail, postbox) = attended(1);
        let seen = [(); 3].map(|()| send(&mut mail, &postbox));
        drop(mail);
        assert!(seen.iter().all(|seen| seen.recv().is_ok()));
    }

    #[test]
    fn postmen_end_with_the_store() {
        let (postmen, runtime, _, postbox) = attended(2);
        drop(postmen);
        while runtime.metrics().num_alive_tasks() > 0 {
            thread::yield_now();
        }
        assert_eq!(Arc::strong_count(&postbox), 1, "nobody holds it any more");
    }
}
