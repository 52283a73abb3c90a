//! Combinators, payloads, determinism and random programs: what runs live replays
//! exactly.
#![cfg(test)]

mod dice;
mod recorder;
mod scenario;
mod world;

mod addresses;
mod between;
mod branches;
mod drops;
mod foreign;
mod handmade;
mod helpers;
mod joins;
mod nested;
mod payloads;
mod program;
mod programs;
mod runs;
mod selects;
mod silence;
mod values;
