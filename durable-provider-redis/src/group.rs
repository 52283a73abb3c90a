//! Commits of one partition share calls: while a few calls are on their way, further turns
//! wait and go together with the next. An idle store waits for nothing; a busy one does the
//! work that every call costs once for many turns.
//!
//! A turn has its own answer, whatever becomes of the others in its call.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::provider::ProviderError;
use tokio::sync::oneshot;

use crate::keys::Partition;
use crate::reply::Reply;
use crate::script::{self, Args, Call};
use crate::store::Store;

/// How many calls of a partition are on their way at most: one is prepared and read here
/// while the server works on the other.
const CALLS: usize = 2;
/// How many turns share a call at most: others wait while a script runs.
const TURNS: usize = 32;
/// How much they bring along at most, unless one alone is larger.
const BYTES: usize = 256 * 1024;

/// A turn as `commit.lua` takes it.
#[derive(Debug)]
pub(crate) struct PreparedTurn {
    pub(crate) keys: Vec<String>,
    pub(crate) args: Args,
}

/// What a turn is answered.
type TurnAnswer = Result<Reply, ProviderError>;

/// The turns of a partition that wait.
#[derive(Debug, Default)]
pub(crate) struct Group {
    state: Mutex<GroupState>,
}

#[derive(Debug, Default)]
struct GroupState {
    waiting: VecDeque<(PreparedTurn, oneshot::Sender<TurnAnswer>)>,
    calls: usize,
}

impl Group {
    /// Adds a turn; says whether the caller must send what waits.
    fn add(&self, turn: PreparedTurn, answer: oneshot::Sender<TurnAnswer>) -> bool {
        let mut state = self.lock();
        state.waiting.push_back((turn, answer));
        let must_send = state.calls < CALLS;
        state.calls += usize::from(must_send);
        must_send
    }

    /// The next turns to send, in their order. With none the call is over.
    fn next(&self) -> Vec<(PreparedTurn, oneshot::Sender<TurnAnswer>)> {
        let mut state = self.lock();
        let mut bytes = 0;
        let turns = state.waiting.iter().map(|(turn, _)| turn).take(TURNS);
        let fitting = turns.take_while(|turn| {
            bytes += turn.args.bytes();
            bytes <= BYTES
        });
        let count = fitting.count().max(1).min(state.waiting.len());
        let rest = state.waiting.split_off(count);
        let next = mem::replace(&mut state.waiting, rest);
        state.calls -= usize::from(next.is_empty());
        next.into()
    }

    fn lock(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Commits a turn, together with those that wait beside it.
    pub(crate) async fn commit_together(
        self: &Arc<Self>,
        partition: &Partition,
        turn: PreparedTurn,
    ) -> TurnAnswer {
        let (answer, answered) = oneshot::channel();
        if self.groups[partition.number].add(turn, answer) {
            // A task of its own: the caller may go away, and others rely on the call.
            tokio::spawn(send_waiting(Arc::clone(self), partition.number));
        }
        answered.await.unwrap_or_else(|_| {
            Err(ProviderError::Unknown {
                reason: "the store was closed while it was asked".into(),
            })
        })
    }
}

/// Sends what waits until nothing does.
async fn send_waiting(store: Arc<Store>, number: usize) {
    loop {
        let (turns, callers): (Vec<_>, Vec<_>) = store.groups[number].next().into_iter().unzip();
        if turns.is_empty() {
            return;
        }
        let call = together(&store.partitions[number], turns);
        let answers = store.call(&call).await;
        let mut answers = answers.and_then(|(_, mut reply)| reply.list());
        for caller in callers {
            let answer = match &mut answers {
                Ok(reply) => reply.list(),
                Err(error) => Err(error.clone()),
            };
            // The caller may be gone.
            let _ = caller.send(answer);
        }
    }
}

fn together(partition: &Partition, turns: Vec<PreparedTurn>) -> Call<'_> {
    let mut call = Call::new(&script::COMMIT, partition);
    call.args.count(turns.len());
    for turn in turns {
        call.args.count(turn.keys.len()).count(turn.args.len());
        call.args.append(&turn.args);
        call.keys.extend(turn.keys);
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(bytes: usize) -> PreparedTurn {
        let mut args = Args::default();
        args.push(vec![0; bytes]);
        PreparedTurn {
            keys: Vec::new(),
            args,
        }
    }

    fn add(group: &Group, bytes: usize) -> bool {
        group.add(turn(bytes), oneshot::channel().0)
    }

    #[test]
    fn few_calls_take_all_turns_in_their_order() {
        let group = Group::default();
        let must_send: Vec<bool> = (0..100).map(|bytes| add(&group, bytes)).collect();
        assert_eq!(must_send.iter().filter(|must| **must).count(), CALLS);
        let mut taken = Vec::new();
        for _ in 0..CALLS {
            for _ in 0..2 {
                let next = group.next();
                assert!(next.len() <= TURNS);
                taken.extend(next.iter().map(|(turn, _)| turn.args.bytes()));
            }
        }
        assert_eq!(taken, (0..100).collect::<Vec<_>>());
        assert!(group.next().is_empty());
        assert!(add(&group, 0), "a call that is over makes room for another");
    }

    #[test]
    fn large_turns_go_alone() {
        let group = Group::default();
        for bytes in [BYTES + 1, BYTES, 1] {
            add(&group, bytes);
        }
        let sizes: Vec<usize> = (0..4).map(|_| group.next().len()).collect();
        assert_eq!(sizes, [1, 1, 1, 0]);
    }
}
