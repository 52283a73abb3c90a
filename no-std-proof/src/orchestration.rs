//! A small orchestration, driven by hand: recorded once, then replayed from bytes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use durable_core::{
    ActivityOptions, Advance, Command, Cursor, CursorError, EarlierAttempts, Ending, Event,
    EventId, ExecutionId, OpKey, OpPoll, Outcome, decode_entry, encode_entry,
};

/// Records a history, encodes it, decodes it and replays it.
pub fn record_and_replay() -> Result<(), String> {
    let stored = record()?;
    let mut cursor = cursor();
    for bytes in &stored {
        let entry = decode_entry(bytes).map_err(|error| error.to_string())?;
        cursor.feed(entry).map_err(text)?;
    }
    cursor.end_of_history();
    replay(&mut cursor).map_err(text)?;
    if cursor.has_ended() && cursor.take_appended().is_empty() {
        Ok(())
    } else {
        Err(format!(
            "the replay stopped at event {}",
            cursor.last_event_id()
        ))
    }
}

fn cursor() -> Cursor {
    Cursor::new("proof".into(), ExecutionId::FIRST)
}

/// A live run: the encoded entries that it appends.
fn record() -> Result<Vec<Vec<u8>>, String> {
    let mut cursor = cursor();
    cursor.end_of_history();
    live(&mut cursor).map_err(text)?;
    cursor
        .take_appended()
        .iter()
        .map(|appended| encode_entry(&appended.entry).map_err(|error| error.to_string()))
        .collect()
}

fn live(cursor: &mut Cursor) -> Result<(), CursorError> {
    let event_id = EventId::UNASSIGNED;
    let _ = cursor.advance()?;
    let _ = cursor.deliver(
        Event::OrchestrationStarted {
            event_id,
            name: "prove".into(),
            version: "1.0.0".into(),
            input: "1".into(),
            parent: None,
            carried: None,
        },
        1_000,
    )?;
    let call = first_step(cursor)?;
    let _ = cursor.deliver(
        Event::ActivityCompleted {
            event_id,
            source_event_id: EventId::new(2),
            result: "2".into(),
            earlier_attempts: EarlierAttempts::NONE,
        },
        2_000,
    )?;
    second_step(cursor, call)
}

fn replay(cursor: &mut Cursor) -> Result<(), CursorError> {
    let mut call = None;
    loop {
        match cursor.advance()? {
            Advance::Started(_) => call = Some(first_step(cursor)?),
            Advance::Input => {
                if let Some(call) = call.take() {
                    second_step(cursor, call)?;
                }
            }
            Advance::NeedsHistory | Advance::Live | Advance::Ended => return Ok(()),
        }
    }
}

/// The code calls an activity.
fn first_step(cursor: &mut Cursor) -> Result<OpKey, CursorError> {
    let call = cursor.open(Command::Activity {
        name: "double".into(),
        input: "1".into(),
        options: ActivityOptions::default(),
    });
    cursor.flush()?;
    Ok(call)
}

/// The code takes the result and returns it.
fn second_step(cursor: &mut Cursor, call: OpKey) -> Result<(), CursorError> {
    let _ = cursor.grant()?;
    if let OpPoll::Ready(Outcome::Value(output)) = cursor.poll(call) {
        cursor.finish(Ending::Completed { output });
    }
    cursor.flush()
}

fn text(error: CursorError) -> String {
    error.to_string()
}
