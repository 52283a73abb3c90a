//! An orchestration of many activities, driven through the cursor: live, and again over
//! what it recorded. A chain, where each waits for the one before it, or a join.

use durable_core::{
    ActivityOptions, Advance, Command, Cursor, EarlierAttempts, Ending, Event, EventId,
    ExecutionId, HistoryEntry, OpKey, OpPoll,
};

use crate::Outcome;

/// A step to the next activity of a join that completes; prime to how many there are.
const STRIDE: usize = 389;

/// How the activities depend on one another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Chain,
    Join,
}

/// What the code asks for: a name, and some fifty bytes of input each.
pub(crate) fn requests(count: usize) -> Vec<Command> {
    let request = |number| Command::Activity {
        name: "charge".into(),
        input: format!(r#"{{"order":{number},"amount":4999,"currency":"EUR"}}"#).into(),
        options: ActivityOptions::default(),
    };
    (0..count).map(request).collect()
}

/// Runs live; the entries that were appended, as a store gets them.
pub(crate) fn record(shape: Shape, count: usize) -> Outcome<Vec<HistoryEntry>> {
    let mut cursor = Cursor::new("order-7".into(), ExecutionId::FIRST);
    cursor.end_of_history();
    start(&mut cursor)?;
    match shape {
        Shape::Chain => {
            for request in requests(count) {
                let key = cursor.open(request);
                cursor.flush()?;
                let scheduled = cursor.last_event_id();
                complete(&mut cursor, scheduled)?;
                expect(take(&mut cursor)? == key)?;
            }
        }
        Shape::Join => {
            let requests = requests(count).into_iter();
            let keys: Vec<OpKey> = requests.map(|request| cursor.open(request)).collect();
            cursor.flush()?;
            for number in (0..count).map(|turn| turn * STRIDE % count) {
                complete(&mut cursor, EventId::new(number as u64 + 2))?;
                expect(take(&mut cursor)? == keys[number])?;
                cursor.flush()?;
            }
        }
    }
    finish(&mut cursor)?;
    let appended = cursor.take_appended().into_iter();
    Ok(appended.map(|appended| appended.entry).collect())
}

/// Runs again over what was recorded, with the commands that produced it.
pub(crate) fn replay(
    shape: Shape,
    entries: Vec<HistoryEntry>,
    requests: Vec<Command>,
) -> Outcome<()> {
    let mut cursor = Cursor::new("order-7".into(), ExecutionId::FIRST);
    for entry in entries {
        cursor.feed(entry)?;
    }
    cursor.end_of_history();
    expect(matches!(cursor.advance()?, Advance::Started(_)))?;
    match shape {
        Shape::Chain => {
            for request in requests {
                let key = cursor.open(request);
                cursor.flush()?;
                expect(cursor.grant()?.is_none())?;
                expect(cursor.advance()? == Advance::Input)?;
                expect(take(&mut cursor)? == key)?;
            }
        }
        Shape::Join => {
            let count = requests.len();
            for request in requests {
                cursor.open(request);
            }
            cursor.flush()?;
            for _ in 0..count {
                expect(cursor.advance()? == Advance::Input)?;
                take(&mut cursor)?;
                cursor.flush()?;
                expect(cursor.grant()?.is_none())?;
            }
        }
    }
    finish(&mut cursor)?;
    expect(cursor.advance()? == Advance::Ended)?;
    expect(cursor.take_appended().is_empty())
}

fn start(cursor: &mut Cursor) -> Outcome<()> {
    let started = Event::OrchestrationStarted {
        event_id: EventId::UNASSIGNED,
        name: "fulfil".into(),
        version: "1.0.0".into(),
        input: r#"{"order":7}"#.into(),
        parent: None,
        carried: None,
    };
    let _ = cursor.deliver(started, 1_767_225_600_000)?;
    Ok(())
}

fn complete(cursor: &mut Cursor, source_event_id: EventId) -> Outcome<()> {
    let completed = Event::ActivityCompleted {
        event_id: EventId::UNASSIGNED,
        source_event_id,
        result: format!(r#"{{"receipt":{source_event_id},"paid":true}}"#).into(),
        earlier_attempts: EarlierAttempts::NONE,
    };
    let now_ms = cursor.now_ms() + 7;
    let _ = cursor.deliver(completed, now_ms)?;
    Ok(())
}

/// The operation that may go on takes its value.
fn take(cursor: &mut Cursor) -> Outcome<OpKey> {
    let key = cursor.grant()?.ok_or("nothing was granted")?.key;
    expect(matches!(cursor.poll(key), OpPoll::Ready(_)))?;
    Ok(key)
}

fn finish(cursor: &mut Cursor) -> Outcome<()> {
    cursor.finish(Ending::Completed {
        output: "null".into(),
    });
    Ok(cursor.flush()?)
}

fn expect(holds: bool) -> Outcome<()> {
    match holds {
        true => Ok(()),
        false => Err("the cursor did not do what the history says".into()),
    }
}
