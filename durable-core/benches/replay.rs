//! Is replay cheaper than reading? A history of 100,000 events is decoded from its
//! bytes and replayed through the cursor, page by page in turns, as when a cold
//! execution is loaded; the two times are summed up apart, and their medians over
//! some rounds compared. One history is a long chain of activities, one a wide
//! join. Then a live execution is run for 100,000 steps to see that it keeps
//! nothing of what it consumed.
//!
//! `cargo bench` measures and fails if replay takes too long beside decoding or if
//! memory grows. Without `--bench`, as in `cargo test --all-targets`, everything
//! runs once on a small scale and nothing is judged.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use std::slice::Chunks;
use std::time::{Duration, Instant};

use durable_core::{
    ActivityOptions, Advance, Command, Cursor, EarlierAttempts, Ending, Event, EventId,
    ExecutionId, HistoryEntry, OpKey, OpPoll, decode_entry, encode_entry,
};

/// How often each part is measured; odd, for the median.
const ROUNDS: usize = 9;

/// How many entries are fed at a time, as a runtime reads them.
const PAGE: usize = 500;

/// A live execution may grow by so much after its first steps: noise of the
/// allocator, not a hundred thousand events.
const MOST_GROWTH_KIB: u64 = 1_024;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    match bench(if is_measured { 50_000 } else { 500 }) {
        Ok(report) if is_measured => judge(&report),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

/// What was measured.
struct Report {
    shapes: Vec<Measured>,
    live: Live,
}

struct Measured {
    shape: Shape,
    events: usize,
    decode: Duration,
    replay: Duration,
}

/// What a live execution did to the memory of the process.
struct Live {
    steps: usize,
    most_open: usize,
    /// Not known on every system.
    growth_kib: Option<u64>,
}

fn bench(activities: usize) -> Outcome<Report> {
    // Before the others: memory that they gave back would hide a growth.
    let live = run_live(2 * activities)?;
    let histories = [
        Recorded::new(Shape::Chain, activities)?,
        Recorded::new(Shape::Join, activities)?,
    ];
    let mut times = [const { (Vec::new(), Vec::new()) }; 2];
    for _ in 0..ROUNDS {
        for (history, (decode, replay)) in histories.iter().zip(&mut times) {
            let mut reader = history.reader();
            let requests = history.requests.clone();
            let began = Instant::now();
            history.replay(&mut reader, requests)?;
            replay.push(began.elapsed() - reader.time);
            decode.push(reader.time);
        }
    }
    let shapes = histories
        .iter()
        .zip(times)
        .map(|(history, times)| Measured {
            shape: history.shape,
            events: history.bytes.len(),
            decode: median(times.0),
            replay: median(times.1),
        });
    Ok(Report {
        shapes: shapes.collect(),
        live,
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How the activities depend on one another.
#[derive(Clone, Copy)]
enum Shape {
    /// Each is called when the one before it has completed.
    Chain,
    /// All are called in one poll and complete in any order.
    Join,
}

impl Shape {
    /// Replay may take so many times as long as decoding. Of a join each result
    /// finds its call somewhere in fifty thousand, while decoding walks straight
    /// on: that is the memory of the machine, not work.
    const fn most_replay_per_decode(self) -> f64 {
        match self {
            Self::Chain => 1.0,
            Self::Join => 2.0,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chain => "chain",
            Self::Join => "join",
        })
    }
}

/// A history as a store has it.
struct Recorded {
    shape: Shape,
    /// What the code does.
    requests: Vec<Command>,
    bytes: Vec<Vec<u8>>,
}

impl Recorded {
    /// Runs the orchestration live and encodes what it appended.
    fn new(shape: Shape, activities: usize) -> Outcome<Self> {
        let mut cursor = start_live()?;
        match shape {
            Shape::Chain => {
                for number in 0..activities {
                    let key = cursor.open(request(number));
                    cursor.flush()?;
                    let scheduled = cursor.last_event_id();
                    complete_live(&mut cursor, scheduled)?;
                    take(&mut cursor, key)?;
                }
            }
            Shape::Join => {
                let keys: Vec<OpKey> = (0..activities).map(|n| cursor.open(request(n))).collect();
                cursor.flush()?;
                for number in shuffled(activities) {
                    complete_live(&mut cursor, EventId::new(number as u64 + 2))?;
                    take(&mut cursor, keys[number])?;
                    cursor.flush()?;
                }
            }
        }
        finish(&mut cursor)?;
        let entries = cursor.take_appended();
        let bytes: Result<_, _> = entries
            .iter()
            .map(|appended| encode_entry(&appended.entry))
            .collect();
        Ok(Self {
            shape,
            requests: (0..activities).map(request).collect(),
            bytes: bytes?,
        })
    }

    fn reader(&self) -> Reader<'_> {
        Reader {
            pages: self.bytes.chunks(PAGE),
            time: Duration::ZERO,
        }
    }

    /// Replays what is read with the commands that produced it.
    #[inline(never)]
    fn replay(&self, entries: &mut Reader<'_>, requests: Vec<Command>) -> Outcome<()> {
        let mut cursor = Cursor::new("order-7".into(), ExecutionId::FIRST);
        expect(matches!(
            advance(&mut cursor, entries)?,
            Advance::Started(_)
        ))?;
        match self.shape {
            Shape::Chain => {
                for request in requests {
                    let key = cursor.open(request);
                    cursor.flush()?;
                    expect(cursor.grant()?.is_none())?;
                    expect(advance(&mut cursor, entries)? == Advance::Input)?;
                    take(&mut cursor, key)?;
                }
            }
            Shape::Join => {
                let count = requests.len();
                requests.into_iter().for_each(|request| {
                    cursor.open(request);
                });
                cursor.flush()?;
                for _ in 0..count {
                    expect(advance(&mut cursor, entries)? == Advance::Input)?;
                    take_any(&mut cursor)?;
                    cursor.flush()?;
                    expect(cursor.grant()?.is_none())?;
                }
            }
        }
        finish(&mut cursor)?;
        expect(advance(&mut cursor, entries)? == Advance::Ended)?;
        expect(cursor.take_appended().is_empty())
    }
}

/// Decodes a history page by page, and knows how long that took.
struct Reader<'a> {
    pages: Chunks<'a, Vec<u8>>,
    time: Duration,
}

impl Reader<'_> {
    /// The next page; none after the last.
    #[inline(never)]
    fn decode(&mut self) -> Outcome<Vec<HistoryEntry>> {
        let began = Instant::now();
        let page = self.pages.next().unwrap_or_default();
        let entries: Result<_, _> = page.iter().map(|bytes| decode_entry(bytes)).collect();
        self.time += began.elapsed();
        Ok(entries?)
    }
}

/// Moves on; a page is fed whenever the cursor asks.
fn advance(cursor: &mut Cursor, entries: &mut Reader<'_>) -> Outcome<Advance> {
    loop {
        match cursor.advance()? {
            Advance::NeedsHistory => {
                let page = entries.decode()?;
                if page.is_empty() {
                    cursor.end_of_history();
                }
                for entry in page {
                    cursor.feed(entry)?;
                }
            }
            moved => return Ok(moved),
        }
    }
}

/// Runs a chain of activities live and drops what is appended, as a runtime does
/// once it is stored.
fn run_live(steps: usize) -> Outcome<Live> {
    let mut cursor = start_live()?;
    let mut most_open = 0;
    let mut before_kib = None;
    for number in 0..steps {
        let key = cursor.open(request(number));
        cursor.flush()?;
        most_open = most_open.max(cursor.open_operations());
        let scheduled = cursor.last_event_id();
        complete_live(&mut cursor, scheduled)?;
        take(&mut cursor, key)?;
        drop(cursor.take_appended());
        if number == steps / 10 {
            before_kib = resident_kib();
        }
    }
    let after_kib = resident_kib();
    let growth = before_kib.zip(after_kib);
    Ok(Live {
        steps,
        most_open,
        growth_kib: growth.map(|(before, after)| after.saturating_sub(before)),
    })
}

fn start_live() -> Outcome<Cursor> {
    let mut cursor = Cursor::new("order-7".into(), ExecutionId::FIRST);
    cursor.end_of_history();
    let started = Event::OrchestrationStarted {
        event_id: EventId::UNASSIGNED,
        name: "fulfil".into(),
        version: "1.0.0".into(),
        input: r#"{"order":7}"#.into(),
        parent: None,
        carried: None,
    };
    let _ = cursor.deliver(started, 1_767_225_600_000)?;
    Ok(cursor)
}

fn complete_live(cursor: &mut Cursor, source_event_id: EventId) -> Outcome<()> {
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

/// A call such as a shop makes: a name, and some sixty bytes of input.
fn request(number: usize) -> Command {
    Command::Activity {
        name: "charge".into(),
        input: format!(r#"{{"order":{number},"amount":4999,"currency":"EUR"}}"#).into(),
        options: ActivityOptions::default(),
    }
}

fn take(cursor: &mut Cursor, key: OpKey) -> Outcome<()> {
    expect(take_any(cursor)? == key)
}

fn take_any(cursor: &mut Cursor) -> Outcome<OpKey> {
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

/// The numbers below `count` in an order that is always the same and looks random.
fn shuffled(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..count).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        numbers.swap(last, (seed % (last as u64 + 1)) as usize);
    }
    numbers
}

/// The memory that the process has, where Linux tells it.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Prints the report and says whether it will do.
#[expect(clippy::print_stdout, reason = "the numbers are what a bench is for")]
fn judge(report: &Report) -> ExitCode {
    let mut too_slow = None;
    for measured in &report.shapes {
        let per_event = |time: Duration| time.as_nanos() as f64 / measured.events as f64;
        let (decode, replay) = (per_event(measured.decode), per_event(measured.replay));
        let limit = measured.shape.most_replay_per_decode();
        if replay / decode > limit {
            too_slow = Some((measured.shape, limit));
        }
        println!(
            "{:5}  {} events: decode {decode:.0} ns, replay {replay:.0} ns per event, \
             replay/decode {:.2}",
            measured.shape.to_string(),
            measured.events,
            replay / decode
        );
    }
    let live = &report.live;
    let growth = live.growth_kib.map_or_else(
        || "growth of memory not known here".into(),
        |kib| format!("{kib} KiB more than after the first tenth"),
    );
    println!(
        "live   {} steps: at most {} open, {growth}",
        live.steps, live.most_open
    );
    if let Some((shape, limit)) = too_slow {
        return fail(&format!(
            "replaying the {shape} takes more than {limit:.1} times as long as decoding it"
        ));
    }
    if live.most_open > 1 || live.growth_kib.is_some_and(|kib| kib > MOST_GROWTH_KIB) {
        return fail("a live execution keeps what it consumed");
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "a bench that fails says why")]
fn fail(why: &str) -> ExitCode {
    eprintln!("replay bench failed: {why}");
    ExitCode::FAILURE
}
