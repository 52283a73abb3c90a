//! End-to-end behaviour of the runtime on the in-memory provider, in virtual time.
#![cfg(test)]

mod activities;
mod activity_cancellation;
mod activity_placement;
mod activity_timeouts;
mod blocking;
mod cancelling;
mod children;
mod client;
mod codec_errors;
mod continuing;
mod crashes;
mod economy;
mod events;
mod extremes;
mod faulty;
mod journey;
mod nodes;
mod observability;
mod open_work;
mod overtaking;
mod payload_codec;
mod promises;
mod races;
mod registering;
mod retention;
mod scenarios;
mod shutdown;
mod statuses;
mod stops;
mod storage;
mod telemetry;
mod timers;
mod versions;
mod waiting;
mod world;
