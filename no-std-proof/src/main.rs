//! Proof that `durable-core` needs no `std`: this binary has none, links and runs.
//!
//! It brings its own panic handler. `std` has one too and a program can have only
//! one, so a stray `std` in `durable-core`, or in a feature that it enables in a
//! dependency, fails the build with a duplicate `panic_impl`. `cargo xtask no-std`
//! builds it, runs it and expects exit code 0.
//!
//! What it runs is the crate's whole way: a history is made by a live cursor, encoded,
//! decoded and replayed. Behaviour in detail is tested in `durable-core` itself.

#![no_std]
#![no_main]

extern crate alloc;

mod orchestration;
mod platform;

/// The entry point that the C runtime calls.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    match orchestration::record_and_replay() {
        Ok(()) => 0,
        Err(reason) => {
            platform::complain(format_args!("no-std-proof: {reason}\n"));
            1
        }
    }
}
