//! The conductor: whenever nothing happens by itself, it chooses what happens next.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_runtime::Clock;

use super::gate::{Gate, Passage};
use super::watch::Watched;

/// How the conductor chooses: what is prescribed first, then at random or always
/// the first.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) prescribed: Vec<usize>,
    pub(super) then: Then,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Then {
    TheFirst,
    AtRandom(u64),
}

/// One choice that was made.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) index: usize,
    pub(super) what: String,
}

impl Choices {
    /// The next choice among so many, the n-th in all.
    fn choose(&mut self, nth: usize, among: usize) -> usize {
        let drawn = match &mut self.then {
            Then::TheFirst => 0,
            Then::AtRandom(state) => usize::try_from(draw(state) % 1_000_003).unwrap_or(0),
        };
        self.prescribed.get(nth).copied().unwrap_or(drawn) % among
    }
}

/// SplitMix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Lets one thing after the other through the gate, for as long as it is polled.
pub(super) async fn conduct(watched: Arc<Watched>, gate: Arc<Gate>, mut choices: Choices) {
    let mut made = 0;
    loop {
        watched.settle().await;
        let timers = watched.store.snapshot().timers;
        let passages = gate.state().passages(&timers);
        if passages.is_empty() {
            watched.news.notified().await;
            continue;
        }
        let index = choices.choose(made, passages.len());
        let Some(passage) = passages.get(index) else {
            continue;
        };
        made += 1;
        let what = passage.to_string();
        watched.state().chosen.push(Chosen { index, what });
        let_through(&watched, &gate, passage).await;
    }
}

async fn let_through(watched: &Watched, gate: &Gate, passage: &Passage) {
    match passage {
        Passage::Work(key, _) => {
            gate.state().pass_work(key);
            gate.work.notify_one();
        }
        Passage::Timer(timer) => {
            let wait_ms = timer.fire_at_ms.saturating_sub(watched.clock.now_ms());
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            gate.state().pass_timer();
            gate.timers.notify_one();
        }
        Passage::Event(index, ..) => {
            let message = gate.state().pass_event(*index);
            if let Some(message) = message {
                let sent = watched.store.send(vec![message], watched.clock.now_ms());
                // The store in memory refuses only what is too large, and that was
                // checked before it came here.
                let _ = sent.await;
            }
        }
    }
}
