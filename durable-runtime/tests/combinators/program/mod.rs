//! Random orchestrations as data.
//!
//! A [`Program`] is a tree of what an orchestration does. [`strategy`] draws one,
//! [`interpret`] executes it through the public API with real combinators. It says
//! nothing about how it is run or checked, and needs nothing else of these tests.
//!
//! Two things only an orchestration's author can know are avoided, because no
//! replay could tell them apart: equal commands in branches that start together in
//! a random order, and branches of a random select that are done at once. Hence
//! every node has a number, and every branch of a select begins with some work.

pub(crate) mod interpret;
pub(crate) mod strategy;

use serde::{Deserialize, Serialize};

/// What an orchestration does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) root: Node,
    /// How often it may continue as new.
    pub(crate) rounds: u32,
    /// Whether it fails in the end.
    pub(crate) fails: bool,
}

/// A part of a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Different from that of all other nodes of the program.
    pub(crate) id: u32,
    pub(crate) what: What,
}

/// What a part of a program does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum What {
    /// Calls an activity.
    Work { delay_ms: u64, fails: bool },
    /// Waits.
    Sleep { delay_ms: u64 },
    /// Waits for an event of this name, but not for ever.
    Event { name: String, patience_ms: u64 },
    /// Reads so many events of this name from one stream, but waits for none for ever.
    Read {
        name: String,
        count: u8,
        patience_ms: u64,
    },
    /// Takes events of this name that are there, and then looks once in vain.
    Take { name: String },
    /// Creates a promise, has it settled by a message to itself, and awaits it.
    Promise { resolves: bool, patience_ms: u64 },
    /// Executes a side effect that may wait.
    Run { wait_ms: Option<u64>, fails: bool },
    /// Runs a program as a child.
    Child { program: Box<Program> },
    /// Starts a program that no other waits for.
    Detach { program: Box<Program> },
    /// Sets or clears a state key.
    State { key: u8, value: Option<u64> },
    /// Sets or clears an attribute.
    Attribute { value: Option<i64> },
    /// Sets or clears the custom status.
    Status { value: Option<u64> },
    /// Sends an event to itself.
    Send { name: String },
    /// Sends an event to itself, or to an instance that never was, and waits for the receipt.
    SendAndWait { name: String, absent: bool },
    /// Takes one of two ways.
    Patch {
        patch: u8,
        new: Box<Node>,
        old: Box<Node>,
    },
    /// Draws numbers and looks at the time and the state.
    Look,
    /// Does the one or the other, depending on whether it was cancelled.
    OnCancel {
        cancelled: Box<Node>,
        otherwise: Box<Node>,
    },
    /// Continues as new, if rounds are left.
    Again,
    /// Does one after the other.
    Sequence(Vec<Node>),
    /// Does it several times.
    Repeat { times: u8, body: Box<Node> },
    /// Does all at once.
    Join { how: Join, all: Vec<Node> },
    /// Does all at once until one is done.
    Select { how: Select, any: Vec<Node> },
    /// Does all at once, and something else whenever one is done.
    Race { any: Vec<Node>, then: Box<Node> },
    /// Begins it, does something else, and goes on with it.
    Park {
        begun: Box<Node>,
        meanwhile: Box<Node>,
    },
    /// Begins it, does something else, and gives it up.
    Abandon {
        begun: Box<Node>,
        meanwhile: Box<Node>,
    },
    /// Does it while no other branch does something of this sort.
    Locked { body: Box<Node> },
}

/// How to do several things at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Join {
    Tokio,
    All,
    Unordered,
    Buffered,
}

/// How to wait for one of several things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Select {
    Tokio,
    Futures,
    All,
    /// One child per poll, in turns.
    Turns,
}

impl Program {
    /// Gives every node its number, and takes out what would block itself.
    pub(crate) fn new(mut root: Node, rounds: u32, fails: bool) -> Self {
        let mut last = 0;
        root.prepare(&mut last, Surroundings::default());
        Self {
            root,
            rounds,
            fails,
        }
    }

    /// The names of the events that it waits for.
    pub(crate) fn event_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.root.visit(&mut |node| {
            if let What::Event { name, .. } | What::Read { name, .. } | What::Take { name } =
                &node.what
            {
                names.push(name.clone());
            }
        });
        names
    }
}

/// What is known of the place of a node.
#[derive(Debug, Clone, Copy, Default)]
struct Surroundings {
    /// Inside of `Locked`, or of a handler while others may have the lock.
    is_locked: bool,
    /// Inside of a branch that starts together with others in a random order.
    is_racing: bool,
}

impl Node {
    pub(crate) fn new(what: What) -> Self {
        Self { id: 0, what }
    }

    fn prepare(&mut self, last: &mut u32, place: Surroundings) {
        *last += 1;
        self.id = *last;
        if place.is_locked
            && let What::Locked { body } = &mut self.what
        {
            let body = std::mem::replace(&mut **body, Self::new(What::Look));
            self.what = What::Sequence(vec![body]);
        }
        if place.is_racing
            && let What::Event { name, .. }
            | What::Read { name, .. }
            | What::Take { name }
            | What::Send { name }
            | What::SendAndWait { name, .. } = &mut self.what
        {
            *name = format!("{name}-{last}");
        }
        let locked = Surroundings {
            is_locked: true,
            ..place
        };
        let racing = Surroundings {
            is_racing: true,
            ..place
        };
        match &mut self.what {
            What::Locked { body } => body.prepare(last, locked),
            What::Race { any, then } => {
                any.iter_mut().for_each(|node| node.prepare(last, place));
                then.prepare(last, locked);
            }
            What::Select { any, .. } => {
                any.iter_mut().for_each(|node| node.prepare(last, racing));
            }
            other => other
                .children_mut()
                .into_iter()
                .for_each(|node| node.prepare(last, place)),
        }
    }

    fn visit(&self, visitor: &mut impl FnMut(&Self)) {
        visitor(self);
        let mut copy = self.what.clone();
        for child in copy.children_mut() {
            child.visit(visitor);
        }
    }
}

impl What {
    fn children_mut(&mut self) -> Vec<&mut Node> {
        match self {
            Self::Sequence(all) | Self::Join { all, .. } | Self::Select { any: all, .. } => {
                all.iter_mut().collect()
            }
            Self::Race { any, then } => any.iter_mut().chain([&mut **then]).collect(),
            Self::Repeat { body, .. } | Self::Locked { body } => vec![&mut **body],
            Self::Park { begun, meanwhile } | Self::Abandon { begun, meanwhile } => {
                vec![&mut **begun, &mut **meanwhile]
            }
            Self::Patch { new, old, .. } => vec![&mut **new, &mut **old],
            Self::OnCancel {
                cancelled,
                otherwise,
            } => vec![&mut **cancelled, &mut **otherwise],
            _ => Vec::new(),
        }
    }
}
