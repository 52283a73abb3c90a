//! The `Provider` trait: each method with what must hold.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use async_trait::async_trait;

use super::commit::{CommitOutcome, TurnCommit};
use super::error::ProviderError;
use super::lease::{ReadyInstances, Release, SessionId, SessionOptions, SessionRecord};
use super::message::{InboxPage, InboxSeq, Message, OutgoingMessage, SendOutcome};
use super::open_work::OpenWorkPage;
use super::query::{
    ExecutionRecord, HistoryPage, InstanceFilter, InstancePage, InstanceRecord, PruneReport,
    PruneRequest, PurgeReport, PurgeRequest,
};
use super::start::{IdReuse, StartOutcome};
use super::wake::{WakeSeq, WakeTopic};
use super::work::{
    CancelledWork, FiredTimers, HeartbeatOutcome, PoisonedPage, SettleOutcome, SourceEvent,
    WorkBatch, WorkKey, WorkLease, WorkSettlement,
};
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, Name, Payload};

/// Where orchestrations live.
///
/// # Promises
///
/// 1. A commit is all or nothing, and the same commit sent twice is applied once.
/// 2. One owner: two sessions never hold an instance at once. A commit with a
///    lost lease or a wrong tail changes nothing and says which.
/// 3. History is append-only, keyed by instance, execution and event id. A second
///    write of a key is an error, never an overwrite.
/// 4. A message leaves the inbox only in the commit that consumed it. The order
///    per instance is kept. Duplicates are possible across crashes; the turn drops
///    them.
/// 5. A message for a held instance wakes its holder. A released instance with a
///    message in its inbox is ready.
/// 6. A work item leaves its queue only with its result stored, its retry
///    scheduled, its cancellation, or as a dead letter.
/// 7. No timer fires early by the store's clock.
/// 8. What was acknowledged survives the death of the process at any instant.
/// 9. What is ready is found without polling delay in the same process, and within
///    a stated bound from another one.
/// 10. Reads can page.
/// 11. A session is given only what its node has the code for; what waits for the code of
///     another node delays nothing.
///
/// # Time
///
/// The store owns its clock. A server has one; a store that lives in its callers'
/// processes is given one when it is opened (see [`Clock`](super::Clock)). Everything that
/// is due is due by the store's clock, which never goes back, and what a record says about
/// when it changed is never older than the entries of the same commit.
///
/// # Errors
///
/// An error says what may be assumed; see [`ProviderError`]. Every method may
/// answer [`Unavailable`](ProviderError::Unavailable) (nothing happened),
/// [`Unknown`](ProviderError::Unknown) (it may have) and
/// [`Unusable`](ProviderError::Unusable). Methods that take a session answer
/// [`SessionLost`](ProviderError::SessionLost) once it has ended.
///
/// # Cancellation
///
/// A future that is dropped before it answered leaves the caller where `Unknown`
/// would: it happened or it did not, never half.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The store's time, in milliseconds since the Unix epoch, as far as this handle
    /// knows it without asking.
    ///
    /// - A handle on a server may be off by as much as an answer takes to arrive. The store
    ///   itself decides what is due.
    fn now_ms(&self) -> u64;

    /// Opens a session.
    ///
    /// - Its id was never used before in this store.
    /// - It lives until it is closed, until more than its bound has passed by the
    ///   store's clock since it was opened or its last heartbeat, or until the provider
    ///   knows that its process is dead.
    /// - When it ends, everything it held is ready again at once, with its
    ///   crash count raised by one, except what was handed back by `close_session`. A session
    ///   without heartbeats counts as a dead process: a process that lives sends them, whatever
    ///   its user code does.
    /// - It is given only what its [`code`](SessionOptions::code) can run, by fetches and
    ///   by the claims of commits alike.
    ///
    /// # Errors
    ///
    /// [`Refused`](ProviderError::Refused) if a name breaks the limits.
    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError>;

    /// Keeps a session and everything that it holds.
    ///
    /// - It may be called on another thread and in another tokio runtime than the other
    ///   methods, and answers while that in which the store was opened stands still: a node
    ///   keeps its session while user code blocks its workers.
    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError>;

    /// Ends a session in good order.
    ///
    /// - What it held is ready again at once, and no crash is counted.
    /// - Closing a session that has ended changes nothing and succeeds.
    async fn close_session(&self, session: SessionId) -> Result<(), ProviderError>;

    /// The sessions that live, by id, with what their nodes said of themselves.
    async fn sessions(&self) -> Result<Vec<SessionRecord>, ProviderError>;

    /// Claims instances that are to run: they have messages, they were resumed
    /// since their last turn, or the session that held them ended without closing.
    ///
    /// - At most `max`, those that became ready first come first; among those of one
    ///   millisecond the order is free.
    /// - Free ones that are neither suspended nor delayed nor ended come with a new
    ///   lease, whose token is above every earlier one of the instance.
    /// - Only those whose code the session has: the orchestration and version of the record,
    ///   or any version of it while the record has none. An instance that has ended, or that
    ///   was sent a [hard stop](super::MessageBody::is_hard_stop) since its start, needs no code. The cost does not grow with
    ///   the instances that need other code.
    /// - An ended instance is claimed too while its inbox is not empty, so that
    ///   its messages can be answered and dropped.
    /// - An instance that this session holds comes, with the lease it has, when its
    ///   inbox has messages that were not given to this session under that lease.
    /// - Messages come in order; a provider may bound their number and say that
    ///   there are more.
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError>;

    /// Applies a turn: all of it or nothing.
    ///
    /// - The turn is checked by [`TurnCommit::validate`] before anything else.
    /// - `AlreadyDone` if this commit id is the last one that was applied to the
    ///   instance, with the same claimed work as in the first answer.
    /// - `Fenced` if the lease is not the instance's current one or its session has
    ///   ended; checked before the tail.
    /// - `Conflict` if the execution or its tail is another.
    /// - A message to an instance that does not exist is dropped, unless it is a
    ///   `Start`: that creates the instance. A `Start` for an instance that exists goes to its
    ///   inbox like any message, unless its [policy](OutgoingMessage::reuse) starts an ended
    ///   one anew, or takes one that runs: that gets the messages of the start instead.
    /// - A message with a [receipt](OutgoingMessage::receipt) is dropped if its receiver has
    ///   ended, too. What became of it is put into the sender's inbox as the receipt
    ///   [says](super::ReceiptRequest::message), once: in this commit, or, where the receiver
    ///   is in another partition, in the step that delivers or drops the message. A sender
    ///   that has ended gets none.
    /// - An ended instance loses its timers and its unclaimed work; its claimed work
    ///   is reported as cancelled. Work and timers that the same turn adds are not created.
    /// - An execution that continued as new keeps its timers and work: the turn names
    ///   those that are to go.
    /// - A turn that suspends its instance gives the lease back, whatever `keep_lease`
    ///   says.
    /// - Without `keep_lease` the instance is free; with messages left it is ready.
    /// - Claimed work is leased to the same session, which has its code. A store with several partitions may
    ///   claim only from the partition of the instance.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ProviderError::Invalid) and [`Refused`](ProviderError::Refused) as
    /// [`TurnCommit::validate`] says; nothing was changed.
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError>;

    /// Gives leases back without having committed.
    ///
    /// - An instance with messages, or one that was resumed since its last turn, is
    ///   ready again, at `not_before_ms` at the earliest, and the messages are given
    ///   again.
    /// - What blocks it stands in its record until the next commit; without it the
    ///   record stays as it is.
    /// - A lease that is no longer held is ignored.
    async fn release(&self, releases: Vec<Release>) -> Result<(), ProviderError>;

    /// Claims work of these queues (`None` is the default queue).
    ///
    /// - At most `max`, those that became ready first come first.
    /// - Only activities that the session has. The cost does not grow with the work of others.
    /// - One session at most holds an item; each claim has a higher token.
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError>;

    /// Says which work that this session holds was cancelled since it was claimed.
    ///
    /// - Each item is named until it is settled.
    /// - It changes nothing, so that nodes that ask each time another process wrote
    ///   do not wake each other.
    async fn cancelled_work(&self, session: SessionId) -> Result<CancelledWork, ProviderError>;

    /// Takes a work item back.
    ///
    /// - If the lease is no longer held, nothing is changed.
    /// - A result goes to the instance's inbox in the same step that removes the
    ///   item; its message id is derived from the work key, so that it can be there
    ///   only once.
    /// - Cancelled work goes with its settlement, whatever that says; its result is
    ///   dropped.
    /// - Why an attempt failed is kept until the next one fails or the work goes, as
    ///   [`Limits::retained_failure`](crate::Limits::retained_failure) says.
    ///
    /// # Errors
    ///
    /// [`Refused`](ProviderError::Refused) if the result is too large.
    async fn settle_work(&self, settlement: WorkSettlement)
    -> Result<SettleOutcome, ProviderError>;

    /// Keeps what an attempt wants its next one to know.
    ///
    /// # Errors
    ///
    /// [`Refused`](ProviderError::Refused) if the details are too large.
    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError>;

    /// Moves timers that are due into the inboxes of their instances.
    ///
    /// - At most `max`, by due time and then in the order in which they were set.
    /// - None before it is due by the store's clock.
    /// - A timer is moved once, as the message that [it makes](Message::timer_fired).
    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError>;

    /// Starts an instance.
    ///
    /// - The message that started an instance, sent again, gets the first answer as long
    ///   as the instance is not purged, but for `seen`.
    /// - `seen` is given to the request that started it, and to no other: a wait from
    ///   there for the instance, or for its stop, misses nothing.
    /// - The execution id is above every one that the instance id ever had, also
    ///   before it was purged.
    /// - An instance that runs and is taken as it is gets the
    ///   [messages](super::StartInstance::messages) of the start, in the same step; each once while
    ///   a message with its id is in the inbox. If the start is refused, it gets none.
    /// - With [`begins_at_ms`](super::StartInstance::begins_at_ms) no session is given the
    ///   instance before that time, by its start or by any other message, unless that
    ///   [ends the delay](super::MessageBody::ends_delay).
    /// - With [`deadline_ms`](super::StartInstance::deadline_ms) the store sets a timer, which is
    ///   [named](super::StartInstance::deadline) by the first event of the execution. When it
    ///   fires, the instance needs no code, and is resumed if it is suspended.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ProviderError::Invalid) if `message` is not a `Start`.
    /// [`Refused`](ProviderError::Refused) if a name or payload breaks the limits.
    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError>;

    /// Puts a message into an inbox.
    ///
    /// - A message whose id is in the inbox already is accepted and changes nothing.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ProviderError::Invalid) for a `Start`: that is for
    /// [`start`](Self::start); and for a message with a receipt: the answer is here. [`Refused`](ProviderError::Refused) if a name or payload
    /// breaks the limits.
    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError>;

    /// Stops an instance until it is resumed: its holder, if any, is fenced.
    ///
    /// - Nothing is lost: its inbox, timers and work stay.
    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError>;

    /// Lets a suspended instance go on: it is ready, even without a message. One
    /// that is not suspended stays as it is.
    async fn resume(&self, instance: &InstanceId) -> Result<SendOutcome, ProviderError>;

    /// What is known of an instance.
    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError>;

    /// Lists instances by id, at most `max`, after this one.
    ///
    /// - While instances come and go, one that is there all the time is listed
    ///   exactly once.
    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError>;

    /// The executions of an instance that are still stored, in order. One that has not
    /// begun has an unassigned tail.
    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError>;

    /// The history of an execution after this event, at most `max` entries.
    ///
    /// - An execution that is not stored has an empty history.
    /// - Bytes that do not decode are [`Damaged`](ProviderError::Damaged), with
    ///   instance, execution and event named.
    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError>;

    /// The messages in the inbox of an instance after this place, at most `max`.
    ///
    /// - Looking takes nothing and gives nothing: they are there until a commit
    ///   consumes them, and a claim gives them as if they had not been read.
    /// - An instance that is not stored has an empty inbox.
    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError>;

    /// The open activity calls and timers of an instance after this event, at most `max`
    /// events.
    ///
    /// - An activity call is open until it is settled, or cancelled while no session holds it;
    ///   a timer until it has fired or is cancelled.
    /// - Looking changes nothing. What a session held that ended without closing is shown as
    ///   held until the store has freed it.
    /// - While calls come and go, one that is open all the time is shown exactly once.
    /// - An instance that is not stored has none.
    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Result<OpenWorkPage, ProviderError>;

    /// Lists dead letters (poisoned work), by key, at most `max`, after this one.
    ///
    /// - It is there until its instance is purged or its execution pruned. Its instance has its failure, so
    ///   it is never run again.
    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError>;

    /// Removes ended instances with everything that belongs to them, except the
    /// memory of their highest execution id.
    async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError>;

    /// Removes past executions of instances, from the oldest on: their histories and their
    /// dead letters.
    ///
    /// - The current execution of an instance stays, and all else that belongs to the
    ///   instance: its record, inbox, timers and work, and what is remembered of its
    ///   message ids and execution ids.
    /// - The executions of an instance that are stored have no gap: one that must stay
    ///   keeps all after it.
    /// - One with work that is not settled must stay.
    async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError>;

    /// Waits until there may be something new after `since`, and answers with what to
    /// pass to the next wait.
    ///
    /// - It returns at once if something happened after the fetch that gave `since`.
    /// - It may return for nothing; it never misses anything that happened in this
    ///   process, and notices what happened in another one within a stated bound.
    /// - Time passing alone does not end it: the caller knows when things are due.
    /// - What the session lacks the code for need not end a wait of it.
    /// - [`Instance`](WakeTopic::Instance) and [`Stop`](WakeTopic::Stop) take their first
    ///   `since` from the start, or from [`WakeSeq::default`]. With the latter, look before
    ///   the wait: it is not told of what was before the store was opened here.
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> Result<WakeSeq, ProviderError>;
}
