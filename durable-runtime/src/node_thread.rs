//! The thread of a node: its heartbeats and its watchdog, apart from the threads that run
//! user code.
//!
//! User code that blocks, or that never yields, holds worker threads of the caller's tokio
//! runtime. The session of the node must not depend on those.

use std::thread;
use std::time::Instant;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// Starts a thread with a tokio runtime of its own that lives until `stop`, and gives a handle
/// on that runtime.
///
/// There is none where tokio's clock is paused: on any other thread time would go on, and
/// virtual time would depend on real time. A process that cannot have another thread goes
/// without one too.
pub(crate) fn start(stop: CancellationToken) -> Option<Handle> {
    if is_time_paused() {
        return None;
    }
    match spawn(stop) {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            tracing::warn!(%error, "heartbeats have no thread of their own: user code that blocks can end the session");
            None
        }
    }
}

fn spawn(stop: CancellationToken) -> std::io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    // What it logs goes where the caller's thread logs.
    let logs = tracing::dispatcher::get_default(Clone::clone);
    thread::Builder::new()
        .name("durable-node".into())
        .spawn(move || {
            let serve = || runtime.block_on(stop.cancelled());
            tracing::dispatcher::with_default(&logs, serve);
        })?;
    Ok(handle)
}

/// Whether tokio's clock is paused in the runtime that calls. Only the thread of that runtime
/// moves a paused clock, and that thread is here.
fn is_time_paused() -> bool {
    let before = tokio::time::Instant::now();
    let began = Instant::now();
    while Instant::now() == began {
        std::hint::spin_loop();
    }
    tokio::time::Instant::now() == before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_is_noticed_before_and_after_it_moved() {
        assert!(is_time_paused());
        tokio::time::advance(std::time::Duration::from_nanos(50)).await;
        assert!(is_time_paused());
        tokio::time::resume();
        assert!(!is_time_paused());
    }

    #[tokio::test]
    async fn a_clock_that_runs_is_not_taken_for_a_paused_one() {
        assert!(!is_time_paused());
    }

    #[tokio::test]
    async fn the_thread_ends_when_it_is_told_to() {
        let stop = CancellationToken::new();
        let runtime = start(stop.clone()).unwrap();
        let thread = runtime.spawn(async { thread::current().id() });
        assert_ne!(thread.await.unwrap(), thread::current().id());
        let waits = runtime.spawn(std::future::pending::<()>());
        stop.cancel();
        assert!(waits.await.unwrap_err().is_cancelled());
    }
}
