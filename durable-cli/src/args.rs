//! What can be typed: commands, arguments and their checks. Nothing here touches a
//! store; clap reports what is wrong with an argument alone.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use durable_core::PromiseToken;
use durable_core::provider::{IdReuse, StatusKind};

use crate::filter::FilterArgs;
use crate::json::{EventArg, JsonArg};
use crate::store::Location;
use crate::time::parse_span;

/// Reads a store of durable orchestrations and controls its instances.
#[derive(Debug, Parser)]
#[command(name = "durable", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The store: a SQLite file (`orders.db`, `sqlite:orders.db`) or a Redis URL
    #[arg(
        long,
        short,
        global = true,
        env = "DURABLE_STORE",
        hide_env_values = true,
        value_name = "STORE"
    )]
    pub(crate) store: Option<Location>,
    /// Write JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List instances, those that changed last first
    List(List),
    /// Show one instance: where it stands and what it waits for
    Show(Instance),
    /// Show the history of an instance, event by event
    History(History),
    /// Draw what an instance did when, in the terminal or as SVG
    Timeline(TimelineArgs),
    /// Start an instance
    Start(Start),
    /// Raise an event for an instance
    Raise(Raise),
    /// Resolve a promise
    Resolve(Resolve),
    /// Reject a promise
    Reject(Reject),
    /// Ask instances to stop; their code can clean up first
    Cancel(Steer),
    /// Stop instances until they are resumed; nothing is lost
    Suspend(Steer),
    /// Let suspended instances go on
    Resume(Targets),
    /// End instances at once; their code does not run again
    Terminate(Steer),
    /// Write the histories of instances to files, or of one to standard output
    Export(Export),
    /// Bring exported histories into a store
    Import(Import),
    /// Remove ended instances with everything that belongs to them
    Purge(Purge),
    /// List the nodes that live on the store, with the code that they have
    Nodes,
    /// Remove past executions of instances that continued as new
    Prune(Prune),
    /// List dead letters: activities that took their workers down too often
    Poisoned,
    /// Check the whole store: every record, every history
    Check,
    /// Count what is in the store
    Stats,
    /// Follow one instance event by event, or all of them change by change
    Watch(Watch),
    /// Write a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Only instances that changed within this time, such as `1h`
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub(crate) newer_than: Option<Duration>,
    /// Only this version of the orchestration
    #[arg(long, value_name = "VERSION")]
    pub(crate) at: Option<String>,
    /// By id, instead of those that changed last first
    #[arg(long)]
    pub(crate) by_id: bool,
    /// By id, after this one
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) limit: NonZeroUsize,
}

impl List {
    /// Whether instances are listed by id, in pages.
    pub(crate) const fn is_by_id(&self) -> bool {
        self.by_id || self.after.is_some()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Instance {
    /// The instance
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// The instances; or select them with the options below
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Steer {
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// The reason, which is stored with the instance
    #[arg(long, short, default_value = "requested on the command line")]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The instance
    pub(crate) id: String,
    /// Which execution; the latest unless given
    #[arg(long, value_name = "N")]
    pub(crate) execution: Option<u64>,
    /// Begin after this event
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) after: u64,
    /// At most this many events
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Show payloads too, as far as they fit on a line
    #[arg(long)]
    pub(crate) payloads: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    /// The instance
    pub(crate) id: String,
    /// Which execution; the latest unless given
    #[arg(long, value_name = "N")]
    pub(crate) execution: Option<u64>,
    /// Write an SVG picture to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// How wide the picture is; as wide as the terminal unless given
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) width: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The orchestration
    pub(crate) name: String,
    /// The id of the new instance
    pub(crate) id: String,
    /// Its input: JSON, `@file`, or `-` for standard input
    #[arg(long, short, value_name = "JSON", default_value = "null")]
    pub(crate) input: JsonArg,
    /// The version; the newest that the node knows unless given
    #[arg(long, value_name = "VERSION")]
    pub(crate) at: Option<String>,
    /// What to do when the id is taken [default: refuse, or use-running with an event]
    #[arg(long, value_name = "POLICY")]
    pub(crate) reuse: Option<Reuse>,
    /// Start it with this event, or give the event to the instance that runs; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    pub(crate) with_event: Vec<EventArg>,
    /// Begin so much later, such as `90s`, `5m`, `2h` or `1d`
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub(crate) after: Option<Duration>,
    /// End it if it has not ended after so much time
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub(crate) deadline: Option<Duration>,
    /// Create the store if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Reuse {
    /// Refuse
    Refuse,
    /// Use the instance if it runs; refuse if it has ended
    UseRunning,
    /// Use the instance if it runs; start it anew if it has ended
    RestartEnded,
}

impl From<Reuse> for IdReuse {
    fn from(reuse: Reuse) -> Self {
        match reuse {
            Reuse::Refuse => Self::Refuse,
            Reuse::UseRunning => Self::UseRunning,
            Reuse::RestartEnded => Self::RestartEnded,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Raise {
    /// The instance
    pub(crate) id: String,
    /// The name of the event
    pub(crate) event: String,
    /// The data of the event: JSON, `@file`, or `-` for standard input
    #[arg(long, short, value_name = "JSON", default_value = "null")]
    pub(crate) data: JsonArg,
    /// The id of the message: a second event with the same id is ignored while the first one
    /// waits
    #[arg(long, value_name = "ID")]
    pub(crate) message_id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The token, `instance/execution/Promise(n)`: `durable show` prints it
    pub(crate) token: PromiseToken,
    /// The value: JSON, `@file`, or `-` for standard input
    #[arg(long, short, value_name = "JSON", default_value = "null")]
    pub(crate) value: JsonArg,
}

#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// The token, `instance/execution/Promise(n)`: `durable show` prints it
    pub(crate) token: PromiseToken,
    /// The kind of the failure
    #[arg(long, value_name = "KIND", default_value = "rejected")]
    pub(crate) kind: String,
    /// What happened, for people
    #[arg(long, short, default_value = "rejected on the command line")]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The instances; all that match the filter unless given
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Write a file for each instance into this directory; it is created if needed
    #[arg(long, short, value_name = "DIRECTORY")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Files that `durable export` wrote
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Also import instances that have not ended: they go on in this store, so they must
    /// not go on in another one
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Create the store if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// All ended instances; required without a filter
    #[arg(long)]
    pub(crate) all: bool,
    /// Only show how many instances would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Of all instances; required without a filter
    #[arg(long)]
    pub(crate) all: bool,
    /// How many executions of each instance stay, the current one among them
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) keep: usize,
    /// Only executions that ended so long ago
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub(crate) ended_for: Option<Duration>,
    /// Only show how many executions would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The instance; all unless given
    pub(crate) id: Option<String>,
    /// The interval between two reads
    #[arg(long, value_name = "SPAN", default_value = "200ms", value_parser = parse_span)]
    pub(crate) every: Duration,
    /// The timeout after which to stop
    #[arg(long = "for", value_name = "SPAN", value_parser = parse_span)]
    pub(crate) bound: Option<Duration>,
}

/// A status as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    Pending,
    Running,
    Suspended,
    Completed,
    Failed,
    Terminated,
}

impl From<Status> for StatusKind {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Running => Self::Running,
            Status::Suspended => Self::Suspended,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Terminated => Self::Terminated,
        }
    }
}
