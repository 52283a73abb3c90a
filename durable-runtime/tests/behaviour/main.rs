//! End-to-end behaviour of the runtime on the in-memory provider, in virtual time.
#![cfg(test)]

mod activities;
mod activity_cancellation;
mod activity_placement;
mod cancelling;
mod children;
mod continuing;
mod crashes;
mod events;
mod faulty;
mod journey;
mod nodes;
mod promises;
mod stops;
mod storage;
mod timers;
mod versions;
mod world;
