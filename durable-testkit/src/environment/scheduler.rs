//! The scheduler: whenever nothing happens by itself, it chooses what happens next.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::Provider;

use super::gate::{Gate, Passage};
use super::observed_store::{ObservedStore, TriggeredAction};
use super::trigger::AtEvent;
use crate::random::Random;

/// One choice in so many is a crash, if there may be one.
const CALM: u64 = 4;

/// How the scheduler chooses: what is prescribed first, then at random or always
/// the first.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) prescribed: Vec<usize>,
    pub(super) then: Then,
    /// How many nodes may die.
    pub(super) crashes: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Then {
    TheFirst,
    AtRandom(Random),
}

/// One choice that was made.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) index: usize,
    pub(super) what: String,
}

impl Choices {
    /// The next choice among these, the n-th in all.
    fn choose(&mut self, nth: usize, among: &[Passage]) -> usize {
        let drawn = match &mut self.then {
            Then::TheFirst => 0,
            Then::AtRandom(random) => draw(random, among),
        };
        self.prescribed.get(nth).copied().unwrap_or(drawn) % among.len()
    }
}

/// Crashes stand last, and are drawn less often than the rest, so that they do not
/// all come at the beginning.
fn draw(random: &mut Random, among: &[Passage]) -> usize {
    let calm = among.iter().take_while(|passage| !passage.is_crash());
    let calm = calm.count();
    let is_calm = calm == among.len() || random.below(CALM) > 0;
    let (first, count) = match is_calm {
        true => (0, calm),
        false => (calm, among.len() - calm),
    };
    first + usize::try_from(random.below(count as u64)).unwrap_or(0)
}

/// Lets one thing after the other through the gate, for as long as it is polled.
pub(super) async fn run_scheduler(
    observed: Arc<ObservedStore>,
    gate: Arc<Gate>,
    mut choices: Choices,
) {
    let mut made = 0;
    loop {
        observed.settle().await;
        let timers = observed.store.snapshot().timers;
        let passages = gate.state().passages(&timers, choices.crashes > 0);
        if passages.is_empty() {
            observed.news.notified().await;
            continue;
        }
        let index = choices.choose(made, &passages);
        let Some(passage) = passages.get(index) else {
            continue;
        };
        made += 1;
        choices.crashes -= usize::from(passage.is_crash());
        let what = passage.to_string();
        observed.state().chosen.push(Chosen { index, what });
        let_through(&observed, &gate, passage).await;
    }
}

async fn let_through(observed: &ObservedStore, gate: &Gate, passage: &Passage) {
    match passage {
        Passage::Work(key, _) => {
            gate.state().pass_work(key);
            gate.work.notify_one();
        }
        Passage::WorkInVain(key, _) => {
            let trigger = AtEvent::result_of(key);
            observed.when(trigger, TriggeredAction::CrashBefore);
            gate.state().pass_work(key);
            gate.work.notify_one();
        }
        Passage::Crash => {
            // The store in memory refuses to close no session.
            let _ = observed.crash().await;
        }
        Passage::Timer(timer) => {
            let wait_ms = timer.due_ms.saturating_sub(observed.store.now_ms());
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            gate.state().pass_timer();
            gate.timers.notify_one();
        }
        Passage::Event(index, ..) => {
            let message = gate.state().pass_event(*index);
            if let Some(message) = message {
                let sent = observed.store.send(message);
                // The store in memory refuses only what is too large, and that was
                // checked before it came here.
                let _ = sent.await;
            }
        }
    }
}
