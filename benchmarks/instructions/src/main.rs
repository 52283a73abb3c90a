//! The replay hot path, small and always the same: `cargo xtask bench instructions`
//! lets callgrind count the instructions of [`counted`] for each part.
//!
//! Instructions do not depend on how busy the machine is, so a count that grows is
//! code that grew. No time is measured here.

mod orchestration;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use durable_core::{decode_entry, encode_entry};

use orchestration::Shape;

/// So many activities has the orchestration.
const ACTIVITIES: usize = 1_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Makes what a part needs; what is left is what is counted.
type Prepare = fn() -> Outcome<Part>;

/// The parts that are counted.
const PARTS: &[(&str, Prepare)] = &[
    ("encode", encode),
    ("decode", decode),
    ("replay-chain", || replay(Shape::Chain)),
    ("replay-join", || replay(Shape::Join)),
    ("live-chain", || live(Shape::Chain)),
    ("live-join", || live(Shape::Join)),
];

/// What is counted.
type Part = Box<dyn FnOnce() -> Outcome<()>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Without an argument the parts are listed.
fn run() -> Outcome<()> {
    let Some(wanted) = std::env::args().nth(1) else {
        PARTS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    };
    let part = PARTS.iter().find(|(name, _)| *name == wanted);
    let (_, prepare) = part.ok_or("there is no such part")?;
    counted(prepare()?)
}

/// Callgrind counts while this runs, and not otherwise.
#[inline(never)]
fn counted(part: Part) -> Outcome<()> {
    black_box(part())
}

fn encode() -> Outcome<Part> {
    let entries = orchestration::record(Shape::Chain, ACTIVITIES)?;
    Ok(Box::new(move || {
        for entry in &entries {
            black_box(encode_entry(entry)?);
        }
        Ok(())
    }))
}

fn decode() -> Outcome<Part> {
    let entries = orchestration::record(Shape::Chain, ACTIVITIES)?;
    let bytes: Result<Vec<_>, _> = entries.iter().map(encode_entry).collect();
    let bytes = bytes?;
    Ok(Box::new(move || {
        for entry in &bytes {
            black_box(decode_entry(entry)?);
        }
        Ok(())
    }))
}

fn replay(shape: Shape) -> Outcome<Part> {
    let entries = orchestration::record(shape, ACTIVITIES)?;
    let requests = orchestration::requests(ACTIVITIES);
    Ok(Box::new(move || {
        orchestration::replay(shape, entries, requests)
    }))
}

fn live(shape: Shape) -> Outcome<Part> {
    Ok(Box::new(move || {
        black_box(orchestration::record(shape, ACTIVITIES)?);
        Ok(())
    }))
}
