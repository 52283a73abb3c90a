//! What goes wrong in a simulation, and how often.
//!
//! A plan is plain numbers; when something goes wrong is drawn from the seed.

use std::fmt;
use std::time::Duration;

use crate::random::Random;

/// How often things go wrong. Counts are out of ten thousand calls to the store,
/// unless they say something else.
///
/// ```
/// use std::time::Duration;
///
/// use durable_testkit::FaultPlan;
///
/// // Nothing but nodes that die often.
/// let plan = FaultPlan {
///     life: Some(Duration::from_secs(5)),
///     longest_outage: Duration::from_secs(1),
///     ..FaultPlan::NONE
/// };
/// assert_eq!(plan.lost_answer, 0);
/// assert_eq!(FaultPlan::drawn(7), FaultPlan::drawn(7));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    /// The store says that nothing happened, and nothing did.
    pub unavailable: u32,
    /// The store says that it may have happened, and nothing did.
    pub lost_request: u32,
    /// The store says that it may have happened, and it did.
    pub lost_answer: u32,
    /// The store says that it may have happened, and it does so later.
    pub late_request: u32,
    /// The request reaches the store twice, at once or with some time between.
    pub repeated_request: u32,
    /// The request and its answer take their time, each on its own, so that calls
    /// overtake each other.
    pub delayed: u32,
    /// The longest of these delays.
    pub longest_delay: Duration,
    /// The node dies before the call, between its effect and its answer, or after.
    pub crash: u32,
    /// The node dies at any time; this is the mean of its lives.
    pub life: Option<Duration>,
    /// The longest time a node is down.
    pub longest_outage: Duration,
    /// A node stops in good order instead of dying, out of ten thousand lives.
    pub orderly_stop: u32,
    /// The mean time between degraded periods of a node: its heartbeats are
    /// swallowed while it goes on working, all its calls are held up, or its clock
    /// jumps.
    pub degraded_period_interval: Option<Duration>,
    /// The longest degraded period, and the longest time by which a request is late.
    pub longest_degraded_period: Duration,
    /// How far a node's clock may be from the true time.
    pub skew: Duration,
    /// How many lives out of ten thousand are slow: every call takes long.
    pub slow_life: u32,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        unavailable: 0,
        lost_request: 0,
        lost_answer: 0,
        late_request: 0,
        repeated_request: 0,
        delayed: 0,
        longest_delay: Duration::ZERO,
        crash: 0,
        life: None,
        longest_outage: Duration::ZERO,
        orderly_stop: 0,
        degraded_period_interval: None,
        longest_degraded_period: Duration::ZERO,
        skew: Duration::ZERO,
        slow_life: 0,
    };

    /// The default with each part left out, halved, kept or multiplied, as the seed
    /// says: what hides behind one fault shows where another one is rare.
    pub fn drawn(seed: u64) -> Self {
        // Another stream than the one of the run itself.
        let mut random = Random::new(!seed);
        let mut plan = Self::default();
        let counts = [
            &mut plan.unavailable,
            &mut plan.lost_request,
            &mut plan.lost_answer,
            &mut plan.late_request,
            &mut plan.repeated_request,
            &mut plan.delayed,
            &mut plan.crash,
            &mut plan.slow_life,
        ];
        for count in counts {
            *count = match random.below(8) {
                0 | 1 => 0,
                2 => *count / 2,
                3..=5 => *count,
                6 => *count * 2,
                _ => *count * 5,
            };
        }
        plan.life = match random.below(4) {
            0 => None,
            1 => Some(Duration::from_secs(25)),
            _ => plan.life,
        };
        plan.degraded_period_interval = match random.below(4) {
            0 => None,
            1 => Some(Duration::from_secs(15)),
            _ => plan.degraded_period_interval,
        };
        plan.skew = match random.below(6) {
            0 | 1 => Duration::ZERO,
            2 => Duration::from_secs(3_600),
            3 => Duration::from_secs(1),
            _ => plan.skew,
        };
        plan
    }
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self {
            unavailable: 100,
            lost_request: 50,
            lost_answer: 100,
            late_request: 50,
            repeated_request: 150,
            delayed: 1_500,
            longest_delay: Duration::from_secs(3),
            crash: 25,
            life: Some(Duration::from_secs(120)),
            longest_outage: Duration::from_secs(40),
            orderly_stop: 3_000,
            degraded_period_interval: Some(Duration::from_secs(60)),
            longest_degraded_period: Duration::from_secs(45),
            skew: Duration::from_secs(20),
            slow_life: 2_000,
        }
    }
}

/// Something that went wrong.
///
/// ```
/// use durable_testkit::SimFault;
///
/// assert_eq!(SimFault::LostAnswer.to_string(), "answer lost");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SimFault {
    /// Nothing happened, and the caller was told so.
    Unavailable,
    /// Nothing happened, and the caller was told that it may have.
    LostRequest,
    /// It happened, and the caller was told that it may have.
    LostAnswer,
    /// It happens later, and the caller was told that it may have happened.
    LateRequest,
    /// It reached the store twice.
    Repeated,
    /// It reaches the store once more, later.
    LateRepeat,
    /// It took its time.
    Delayed,
    /// The node died before the call.
    CrashBefore,
    /// The node died between effect and answer.
    CrashBetween,
    /// The node died right after the answer.
    CrashAfter,
    /// The node died at some other moment.
    Crash,
    /// The node was stopped in good order.
    Stop,
    /// The heartbeat was swallowed.
    SwallowedHeartbeat,
    /// The calls of the node are held up for a while.
    Stall,
    /// The node's clock jumped.
    ClockJump,
    /// Its own work took the node down.
    Killed,
}

impl SimFault {
    /// What the timeline says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::LostRequest => "request lost",
            Self::LostAnswer => "answer lost",
            Self::LateRequest => "request late",
            Self::Repeated => "sent twice",
            Self::LateRepeat => "sent again later",
            Self::Delayed => "delayed",
            Self::CrashBefore => "crash before",
            Self::CrashBetween => "crash between effect and answer",
            Self::CrashAfter => "crash after",
            Self::Crash => "crash",
            Self::Stop => "stop",
            Self::SwallowedHeartbeat => "swallowed",
            Self::Stall => "stall",
            Self::ClockJump => "clock jump",
            Self::Killed => "killed by its work",
        }
    }
}

impl fmt::Display for SimFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
