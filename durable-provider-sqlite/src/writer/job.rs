//! A request: what it does within the transaction, and where its answer goes.

use std::fmt;

use durable_core::provider::ProviderError;
use tokio::sync::oneshot;

use crate::error::{Fault, Step};
use crate::store::Store;

/// What the changes of a request must outlive once it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outlives {
    /// The death of the process: the changes are leases, and a power cut ends all
    /// sessions.
    Process,
    /// A power cut, as far as the store's durability goes.
    PowerCut,
}

/// A request that the writer can run without knowing what it answers.
pub(crate) trait Job: Send {
    /// What its changes must outlive.
    fn outlives(&self) -> Outlives;

    /// Does the step, anew if it was done before and rolled back. An error means
    /// that nothing of it may stay.
    fn run(&mut self, store: &mut Store<'_, '_>) -> Result<(), Fault>;

    /// Answers that the step was refused; nothing of it stayed.
    fn refuse(&mut self, error: ProviderError);

    /// Sends the answer, or this error to a request that was not refused for itself.
    fn answer(self: Box<Self>, error: Option<&ProviderError>);
}

pub(crate) type BoxedJob = Box<dyn Job>;

impl fmt::Debug for dyn Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

/// A request and where its answer will be.
pub(crate) fn job<T: Send + 'static>(
    outlives: Outlives,
    step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
) -> (BoxedJob, oneshot::Receiver<Result<T, ProviderError>>) {
    let (reply, answer) = oneshot::channel();
    let call = Call {
        outlives,
        step,
        result: None,
        reply,
    };
    (Box::new(call), answer)
}

struct Call<F, T> {
    outlives: Outlives,
    step: F,
    result: Option<Result<T, ProviderError>>,
    reply: oneshot::Sender<Result<T, ProviderError>>,
}

impl<F, T> Job for Call<F, T>
where
    F: FnMut(&mut Store<'_, '_>) -> Step<T> + Send,
    T: Send,
{
    fn outlives(&self) -> Outlives {
        self.outlives
    }

    fn run(&mut self, store: &mut Store<'_, '_>) -> Result<(), Fault> {
        self.result = Some(Ok((self.step)(store)?));
        Ok(())
    }

    fn refuse(&mut self, error: ProviderError) {
        self.result = Some(Err(error));
    }

    fn answer(self: Box<Self>, error: Option<&ProviderError>) {
        let result = match (self.result, error) {
            (Some(Ok(_)) | None, Some(error)) => Err(error.clone()),
            (Some(result), _) => result,
            (None, None) => Err(ProviderError::Unavailable {
                reason: "the request was not run".into(),
            }),
        };
        // The caller may have stopped waiting.
        let _ = self.reply.send(result);
    }
}
