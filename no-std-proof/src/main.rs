//! Proof that `durable-core` needs no `std`: this binary has none, links and runs.
//!
//! It brings its own panic handler. `std` has one too and a program can have only
//! one, so a stray `std` in `durable-core`, or in a feature that it enables in a
//! dependency, fails the build with a duplicate `panic_impl`. `cargo xtask no-std`
//! builds it, runs it and expects exit code 0.
//!
//! It tests nothing else: behaviour is tested in `durable-core` itself.

#![no_std]
#![no_main]

mod platform;

use durable_core as _;

/// The entry point that the C runtime calls.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    match run() {
        Ok(()) => 0,
        Err(reason) => {
            platform::complain(format_args!("no-std-proof: {reason}\n"));
            1
        }
    }
}

/// What is run; an error is the sentence to print.
fn run() -> Result<(), &'static str> {
    allocate()
}

/// The core allocates: so must this.
fn allocate() -> Result<(), &'static str> {
    extern crate alloc;

    let text = alloc::format!("{} events", 3);
    if text == "3 events" {
        Ok(())
    } else {
        Err("the allocator returned bad memory")
    }
}
