//! The stores alone as contenders: an orchestration is nothing but the commits that this
//! project makes for one, one after the other, with the activities between them.
//!
//! The harness starts, pauses, times and checks them as it does the engines. What needs an
//! engine (events, timers, instances that wait) is refused.

use std::sync::{Mutex, PoisonError};

use bench_harness::{Contender, Problem, Program, Setup, add};

use crate::redis_scripts::Raw;
use crate::sqlite_rows::OneByOne;

/// Engines batch the commits of instances that run at once, these do not: so many write
/// about as much before the measurement as the 50 of an engine.
const WARM_UP: u64 = 5;

/// The rows of this project, written to SQLite by rusqlite.
pub(crate) struct Sqlite(Mutex<OneByOne>);

/// The scripts of this project, called by a client of Redis.
pub(crate) struct Redis(tokio::sync::Mutex<Raw>);

impl Contender for Sqlite {
    const WARM_UP: u64 = WARM_UP;

    async fn open(_: &Setup) -> Result<Self, Problem> {
        Ok(Self(Mutex::new(OneByOne::open())))
    }

    async fn call(&self, program: Program, _: &str, input: u64) -> Result<u64, Problem> {
        let (steps, mut number) = activities(program, input)?;
        let mut raw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raw.orchestration(steps.try_into()?, || number = add(number));
        Ok(number)
    }

    async fn start(&self, _: Program, _: &str, _: u64) -> Result<(), Problem> {
        Err(no_engine())
    }

    async fn wait(&self, _: Program, _: &str) -> Result<u64, Problem> {
        Err(no_engine())
    }

    async fn raise(&self, _: Program, _: &str) -> Result<(), Problem> {
        Err(no_engine())
    }
}

impl Contender for Redis {
    const WARM_UP: u64 = WARM_UP;

    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let raw = Raw::open(&setup.server).await;
        Ok(Self(tokio::sync::Mutex::new(raw)))
    }

    async fn call(&self, program: Program, _: &str, input: u64) -> Result<u64, Problem> {
        let (steps, mut number) = activities(program, input)?;
        let mut raw = self.0.lock().await;
        raw.orchestration(steps, || number = add(number)).await;
        Ok(number)
    }

    async fn start(&self, _: Program, _: &str, _: u64) -> Result<(), Problem> {
        Err(no_engine())
    }

    async fn wait(&self, _: Program, _: &str) -> Result<u64, Problem> {
        Err(no_engine())
    }

    async fn raise(&self, _: Program, _: &str) -> Result<(), Problem> {
        Err(no_engine())
    }
}

/// How many activities a program has, and what the first is given.
fn activities(program: Program, input: u64) -> Result<(u64, u64), Problem> {
    match program {
        Program::Chain => Ok((input, 0)),
        Program::One => Ok((1, input)),
        _ => Err(no_engine()),
    }
}

fn no_engine() -> Problem {
    "this needs an engine".into()
}
