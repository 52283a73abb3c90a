//! The scripts, and calls of them.
//!
//! A script is named by its hash. A server that does not know it (it was restarted, or
//! another one took over) gets the text and runs it at once.

use std::sync::LazyLock;

use durable_core::Name;
use durable_core::provider::SessionId;
use redis::Cmd;

use crate::error::Effect;
use crate::keys::Partition;

const PRELUDE: &str = include_str!("scripts/prelude.lua");

/// A script and its hash.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
    text: String,
    hash: String,
}

impl Script {
    fn new(name: &'static str, effect: Effect, flags: &str, body: &str) -> Self {
        let text = format!("#!lua{flags}\n{PRELUDE}\n{body}");
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self {
            name,
            effect,
            text,
            hash,
        }
    }
}

macro_rules! scripts {
    ($( $constant:ident $file:literal $effect:ident $flags:literal; )*) => {$(
        pub(crate) static $constant: LazyLock<Script> = LazyLock::new(|| {
            Script::new(
                $file,
                Effect::$effect,
                $flags,
                include_str!(concat!("scripts/", $file, ".lua")),
            )
        });
    )*};
}

// What only frees, keeps or looks also runs when the memory is full.
scripts! {
    NEW_SESSION "new_session" Writes "";
    OPEN_SESSION "open_session" Writes "";
    SESSIONS "sessions" Reads " flags=allow-oom";
    HEARTBEAT "heartbeat" Writes " flags=allow-oom";
    CLOSE_SESSION "close_session" Writes " flags=allow-oom";
    LATE "late" Reads " flags=allow-oom";
    SWEEP "sweep" Writes " flags=allow-oom";
    PEEK_INSTANCES "peek_instances" Reads " flags=allow-oom";
    CLAIM_INSTANCES "claim_instances" Writes "";
    COMMIT "commit" Writes "";
    RELEASE "release" Writes " flags=allow-oom";
    PEEK_WORK "peek_work" Reads " flags=allow-oom";
    CLAIM_WORK "claim_work" Writes "";
    CANCELLED_WORK "cancelled_work" Reads " flags=allow-oom";
    SETTLE "settle" Writes "";
    HEARTBEAT_WORK "heartbeat_work" Writes "";
    EMIT "emit" Writes "";
    READ_STREAM "read_stream" Reads " flags=allow-oom";
    PEEK_TIMERS "peek_timers" Reads " flags=allow-oom";
    FIRE_TIMERS "fire_timers" Writes "";
    START "start" Writes "";
    SEND "send" Writes "";
    SUSPEND "suspend" Writes "";
    PURGE "purge" Writes " flags=allow-oom";
    PRUNE "prune" Writes " flags=allow-oom";
    DELIVER "deliver" Writes "";
}

/// Arguments in one buffer.
#[derive(Debug, Default, Clone)]
pub(crate) struct Args {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    pub(crate) fn push(&mut self, value: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(value.as_ref());
        self.ends.push(self.bytes.len());
        self
    }

    pub(crate) fn number(&mut self, value: impl Into<u64>) -> &mut Self {
        self.push(value.into().to_string())
    }

    pub(crate) fn count(&mut self, value: usize) -> &mut Self {
        self.push(value.to_string())
    }

    /// A value that may be absent: `+value` or `-`.
    pub(crate) fn optional(&mut self, value: Option<impl AsRef<[u8]>>) -> &mut Self {
        match value {
            Some(value) => {
                self.bytes.push(b'+');
                self.push(value)
            }
            None => self.push("-"),
        }
    }

    pub(crate) fn flag(&mut self, value: bool) -> &mut Self {
        self.push(if value { "1" } else { "0" })
    }

    /// Names queues, after their number; `None` is the default queue.
    pub(crate) fn queues(&mut self, queues: &[Option<Name>]) -> &mut Self {
        self.count(queues.len());
        for queue in queues {
            self.optional(queue.as_deref());
        }
        self
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How large they are together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Appends others.
    pub(crate) fn append(&mut self, others: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&others.bytes);
        self.ends.extend(others.ends.iter().map(|end| start + end));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let value = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            value
        })
    }
}

/// A call of a script in a partition.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) script: &'static Script,
    pub(crate) partition: &'a Partition,
    pub(crate) keys: Vec<String>,
    pub(crate) args: Args,
}

impl<'a> Call<'a> {
    pub(crate) fn new(script: &'static Script, partition: &'a Partition) -> Self {
        Self {
            script,
            partition,
            keys: Vec::new(),
            args: Args::default(),
        }
    }

    /// Declares the keys of an instance and names it.
    pub(crate) fn instance(&mut self, id: &str) -> &mut Args {
        self.keys.extend(self.partition.instance_keys(id));
        self.args.push(id)
    }

    /// Declares the key of a session.
    pub(crate) fn declare_session(&mut self, session: SessionId) {
        self.keys.push(self.partition.session(session));
    }

    /// The command that names the script by its hash; `head` comes before the arguments.
    pub(crate) fn by_hash(&self, head: &[&str]) -> Cmd {
        self.command("EVALSHA", &self.script.hash, head)
    }

    /// The command that brings the script along.
    pub(crate) fn by_text(&self, head: &[&str]) -> Cmd {
        self.command("EVAL", &self.script.text, head)
    }

    fn command(&self, name: &str, script: &str, head: &[&str]) -> Cmd {
        let mut command = redis::cmd(name);
        let base = &self.partition.base;
        command.arg(script).arg(base.len() + self.keys.len());
        for key in base.iter().chain(&self.keys) {
            command.arg(key);
        }
        for value in head {
            command.arg(*value);
        }
        for value in self.args.iter() {
            command.arg(value);
        }
        command
    }
}
