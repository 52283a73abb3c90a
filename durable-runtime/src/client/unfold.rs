//! A stream whose items are made one after the other by a step that waits.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

/// The future of one step: an item and what the next step begins with; `None` ends the stream.
pub(super) type Step<S, T> = Pin<Box<dyn Future<Output = Option<(T, S)>> + Send>>;

/// A stream of what the steps make.
pub(super) struct Unfold<S, T> {
    step: fn(S) -> Step<S, T>,
    state: Unfolding<S, T>,
}

enum Unfolding<S, T> {
    /// Before a step that begins with this.
    Idle(S),
    Busy(Step<S, T>),
    Over,
}

impl<S, T> Unfold<S, T> {
    /// Makes items by this step, the first of which begins with this state.
    pub(super) fn new(state: S, step: fn(S) -> Step<S, T>) -> Self {
        Self {
            step,
            state: Unfolding::Idle(state),
        }
    }
}

impl<S: Unpin, T> Stream for Unfold<S, T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match mem::replace(&mut self.state, Unfolding::Over) {
                Unfolding::Idle(state) => self.state = Unfolding::Busy((self.step)(state)),
                Unfolding::Busy(mut step) => match step.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.state = Unfolding::Busy(step);
                        return Poll::Pending;
                    }
                    Poll::Ready(Some((item, state))) => {
                        self.state = Unfolding::Idle(state);
                        return Poll::Ready(Some(item));
                    }
                    Poll::Ready(None) => return Poll::Ready(None),
                },
                Unfolding::Over => return Poll::Ready(None),
            }
        }
    }
}
