//! Two branches that begin with equal commands and go on differently, in every
//! combinator: a replay that swaps them does something else than what is recorded.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryError, join, join_all, select, select_all, try_join,
};
use futures::future::Either;
use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, pin_mut};
use serde::{Deserialize, Serialize};

/// One of the cases as an orchestration; it returns what it did.
pub(crate) const SHAPE: Orchestration<Case, Vec<String>> = Orchestration::new("shape");
/// What the branches of [`First::Event`] begin with; a case needs two of them.
pub(crate) const GO: EventName<u64> = EventName::new("go");

/// Says which call it is, so that equal calls have results that differ.
const CALL: Activity<String, String> = Activity::new("call");

/// Two branches in a combinator.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) combinator: Combinator,
    pub(crate) first: First,
    pub(crate) origin: Origin,
    pub(crate) is_boxed: bool,
}

/// What waits for the branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Combinator {
    Join,
    TryJoin,
    Select,
    JoinAll,
    SelectAll,
    Nested,
    TokioJoin,
    TokioJoinBiased,
    TokioTryJoin,
    TokioSelect,
    TokioSelectBiased,
    FuturesJoin,
    FuturesJoinAll,
    FuturesSelect,
    FuturesSelectBiased,
    FuturesUnordered,
}

/// The command that both branches begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum First {
    Event,
    Sleep,
    Activity,
}

/// Where the equal commands come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// From one place: a helper that both branches call.
    Helper,
    /// From one place, in branches that have names.
    NamedHelper,
    /// From a place for each branch.
    Places,
}

impl Combinator {
    const ALL: [Self; 16] = [
        Self::Join,
        Self::TryJoin,
        Self::Select,
        Self::JoinAll,
        Self::SelectAll,
        Self::Nested,
        Self::TokioJoin,
        Self::TokioJoinBiased,
        Self::TokioTryJoin,
        Self::TokioSelect,
        Self::TokioSelectBiased,
        Self::FuturesJoin,
        Self::FuturesJoinAll,
        Self::FuturesSelect,
        Self::FuturesSelectBiased,
        Self::FuturesUnordered,
    ];

    /// Whether it is one of `durable_runtime`, which name the branches.
    fn names_branches(self) -> bool {
        matches!(
            self,
            Self::Join
                | Self::TryJoin
                | Self::Select
                | Self::JoinAll
                | Self::SelectAll
                | Self::Nested
        )
    }

    /// Whether it polls the branches in a random order.
    fn is_random(self) -> bool {
        matches!(self, Self::TokioSelect | Self::FuturesSelect)
    }
}

impl Case {
    /// Every case that replays within a build.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let firsts = [First::Event, First::Sleep, First::Activity];
        let origins = [Origin::Helper, Origin::NamedHelper, Origin::Places];
        Combinator::ALL.into_iter().flat_map(move |combinator| {
            firsts.into_iter().flat_map(move |first| {
                origins.into_iter().flat_map(move |origin| {
                    let cases = [false, true].map(|is_boxed| Self {
                        combinator,
                        first,
                        origin,
                        is_boxed,
                    });
                    cases.into_iter().filter(|case| case.replays())
                })
            })
        })
    }

    /// Nothing tells two boxes apart that are polled in a random order and ask for the
    /// same from one place.
    fn replays(self) -> bool {
        !(self.combinator.is_random() && self.origin == Origin::Helper && self.is_boxed)
    }

    /// Whether it replays in every build: memory decides nothing.
    pub(crate) fn replays_in_every_build(self) -> bool {
        self.combinator.names_branches() || self.origin != Origin::Helper
    }

    /// A name for an instance.
    pub(crate) fn name(self) -> String {
        let Self {
            combinator,
            first,
            origin,
            is_boxed,
        } = self;
        let place = if is_boxed { "Boxed" } else { "Inline" };
        format!("{combinator:?}-{first:?}-{origin:?}-{place}")
    }
}

/// The code of all cases.
pub(crate) fn registry() -> Result<Registry, RegistryError> {
    Registry::builder()
        .orchestration(SHAPE, shape)
        .activity(CALL, call)
        .build()
}

async fn call(ctx: ActivityContext, what: String) -> Result<String, Failure> {
    Ok(format!("{what}@{}", ctx.key().event_id))
}

async fn shape(ctx: OrchestrationContext, case: Case) -> Result<Vec<String>, Failure> {
    let first = case.first;
    match case.origin {
        Origin::Helper => {
            let (left, right) = (one(&ctx, first, "left"), one(&ctx, first, "right"));
            either_way(case, left, right).await
        }
        Origin::NamedHelper => {
            let left = ctx.branch("left", one(&ctx, first, "left"));
            let right = ctx.branch("right", one(&ctx, first, "right"));
            either_way(case, left, right).await
        }
        Origin::Places => either_way(case, left(&ctx, first), right(&ctx, first)).await,
    }
}

/// Begins a branch. Where it stands is the place of the command.
macro_rules! begin {
    ($ctx:expr, $first:expr) => {
        match $first {
            First::Event => $ctx.external_event(GO).await?.to_string(),
            First::Sleep => format!("{:?}", $ctx.sleep(Duration::from_secs(1)).await?),
            First::Activity => $ctx.activity(CALL, &"begin".to_owned()).await?,
        }
    };
}

async fn one(ctx: &OrchestrationContext, first: First, tag: &str) -> Result<String, Failure> {
    let got = begin!(ctx, first);
    go_on(ctx, tag, got).await
}

async fn left(ctx: &OrchestrationContext, first: First) -> Result<String, Failure> {
    let got = begin!(ctx, first);
    go_on(ctx, "left", got).await
}

async fn right(ctx: &OrchestrationContext, first: First) -> Result<String, Failure> {
    let got = begin!(ctx, first);
    go_on(ctx, "right", got).await
}

/// What the branches do next differs in everything.
async fn go_on(ctx: &OrchestrationContext, tag: &str, got: String) -> Result<String, Failure> {
    if tag == "right" {
        ctx.set_state("got", &got)?;
    }
    ctx.activity(CALL, &format!("{tag} got {got}")).await
}

async fn either_way<L, R>(case: Case, left: L, right: R) -> Result<Vec<String>, Failure>
where
    L: Future<Output = Result<String, Failure>> + Send,
    R: Future<Output = Result<String, Failure>> + Send,
{
    if case.is_boxed {
        let left: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(left);
        combined(case.combinator, left, Box::pin(right)).await
    } else {
        combined(case.combinator, left, right).await
    }
}

async fn combined<L, R>(combinator: Combinator, left: L, right: R) -> Result<Vec<String>, Failure>
where
    L: Future<Output = Result<String, Failure>> + Send,
    R: Future<Output = Result<String, Failure>> + Send,
{
    let both = |(left, right): (Result<String, Failure>, _)| vec![left, right];
    let tried = |tried: Result<(String, String), _>| tried.map(|(left, right)| vec![left, right]);
    let done = match combinator {
        Combinator::Join => both(join!(left, right)),
        Combinator::TryJoin => return tried(try_join!(left, right)),
        Combinator::Select => vec![select! { done = left => done, done = right => done }],
        Combinator::JoinAll => join_all([Either::Left(left), Either::Right(right)]).await,
        Combinator::SelectAll => vec![
            select_all([Either::Left(left), Either::Right(right)])
                .await
                .1,
        ],
        Combinator::Nested => {
            let (left, right) = join!(join_all([left]), async {
                select! { done = right => done, () = pending() => Ok(String::new()) }
            });
            left.into_iter().chain([right]).collect()
        }
        Combinator::TokioJoin => both(tokio::join!(left, right)),
        Combinator::TokioJoinBiased => both(tokio::join!(biased; left, right)),
        Combinator::TokioTryJoin => return tried(tokio::try_join!(left, right)),
        Combinator::TokioSelect => {
            vec![tokio::select! { done = left => done, done = right => done }]
        }
        Combinator::TokioSelectBiased => {
            vec![tokio::select! { biased; done = left => done, done = right => done }]
        }
        Combinator::FuturesJoin => both(futures::join!(left, right)),
        Combinator::FuturesJoinAll => {
            futures::future::join_all([Either::Left(left), Either::Right(right)]).await
        }
        Combinator::FuturesSelect => {
            let (left, right) = (left.fuse(), right.fuse());
            pin_mut!(left, right);
            vec![futures::select! { done = left => done, done = right => done }]
        }
        Combinator::FuturesSelectBiased => {
            let (left, right) = (left.fuse(), right.fuse());
            pin_mut!(left, right);
            vec![futures::select_biased! { done = left => done, done = right => done }]
        }
        Combinator::FuturesUnordered => {
            let branches = [Either::Left(left), Either::Right(right)];
            branches
                .into_iter()
                .collect::<FuturesUnordered<_>>()
                .collect()
                .await
        }
    };
    done.into_iter().collect()
}
