//! Futures that are polled when they were woken, those that stand first first.
//!
//! Invariant: no waker is woken or dropped while the lock is held.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::execution::{BranchSegment, within};

/// Futures that are waited for together.
pub(super) struct Children<F> {
    children: Vec<Child<F>>,
    /// Those whose turn it is.
    turn: BTreeSet<usize>,
    woken: Arc<Woken>,
}

struct Child<F> {
    /// `None` when it has ended.
    future: Option<Pin<Box<F>>>,
    waker: Waker,
}

/// Who is to be polled, and who polls them.
#[derive(Debug, Default)]
struct Woken {
    state: Mutex<WokenChildren>,
}

#[derive(Debug, Default)]
struct WokenChildren {
    indices: BTreeSet<usize>,
    parent: Option<Waker>,
}

impl Woken {
    fn lock(&self) -> MutexGuard<'_, WokenChildren> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes one child.
#[derive(Debug)]
struct ChildWaker {
    index: usize,
    woken: Arc<Woken>,
}

impl Wake for ChildWaker {
    fn wake(self: Arc<Self>) {
        let mut state = self.woken.lock();
        state.indices.insert(self.index);
        let parent = state.parent.take();
        drop(state);
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}

impl<F: Future> Children<F> {
    pub(super) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        let woken = Arc::new(Woken::default());
        let children: Vec<Child<F>> = futures
            .into_iter()
            .enumerate()
            .map(|(index, future)| Child {
                future: Some(Box::pin(future)),
                waker: Waker::from(Arc::new(ChildWaker {
                    index,
                    woken: Arc::clone(&woken),
                })),
            })
            .collect();
        Self {
            turn: (0..children.len()).collect(),
            children,
            woken,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// Polls those that were woken, up to the first that ends: its place and output.
    /// One that wakes itself has its turn in the next poll.
    pub(super) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<(usize, F::Output)> {
        let mut state = self.woken.lock();
        let earlier = state.parent.replace(cx.waker().clone());
        if self.turn.is_empty() {
            self.turn = std::mem::take(&mut state.indices);
        }
        drop(state);
        drop(earlier);
        while let Some(index) = self.turn.pop_first() {
            let child = &mut self.children[index];
            if let Poll::Ready(output) = within(BranchSegment::Index(index), || child.poll()) {
                return Poll::Ready((index, output));
            }
        }
        Poll::Pending
    }
}

impl<F: Future> Child<F> {
    fn poll(&mut self) -> Poll<F::Output> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Pending;
        };
        let polled = future.as_mut().poll(&mut Context::from_waker(&self.waker));
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}
