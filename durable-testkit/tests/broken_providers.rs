//! Every fault is found by the check that names it: the suite is not only
//! passed by a provider that keeps the contract, it also fails one that does not.

mod broken;

use std::sync::Arc;
use std::time::Duration;

use broken::{
    code, commit, handing_out, inbox, lifecycle, open_work, reading, receipts, start_options, time,
    timers, waking, work,
};
use durable_core::Limits;
use durable_core::provider::{Clock, Layer, Layered};
use durable_testkit::{Conformance, ConformanceReport, MemoryOptions, MemoryProvider, ModelTest};

/// How long a check waits for what a broken provider does not do.
const WAIT_TIMEOUT: Duration = Duration::from_millis(50);

fn is_caught(report: &ConformanceReport, check: &str) {
    assert_eq!(report.failed_names(), [check], "{report}");
}

fn broken_store<Fault: Layer + From<MemoryProvider>>(clock: Arc<dyn Clock>) -> Layered<Fault> {
    Layered(MemoryProvider::with_clock(clock).into())
}

async fn is_caught_by<Fault: Layer + From<MemoryProvider>>(check: &str) {
    let suite = Conformance::new(|clock| async { broken_store::<Fault>(clock) });
    let report = suite.only([check]).wait_timeout(WAIT_TIMEOUT).run().await;
    is_caught(&report, check);
}

/// One test for each fault, under the name of the check that finds it.
macro_rules! faults {
    ($( $fault:ty => $($check:ident),+; )*) => {
        $( $( mod $check {
            use super::*;

            #[tokio::test]
            async fn finds_the_fault() {
                is_caught_by::<$fault>(stringify!($check)).await;
            }
        } )+ )*
    };
}

faults! {
    code::IgnoresCode =>
        an_instance_goes_to_a_session_that_has_its_orchestration,
        work_goes_to_a_session_that_has_its_activity,
        a_delay_of_other_code_is_not_told_as_due;
    code::IgnoresVersions =>
        an_instance_goes_to_a_session_that_has_its_version,
        a_running_instance_keeps_to_its_version;
    code::ClaimsWithoutCode => a_commit_claims_only_what_its_session_has;
    code::GivesEverythingToSome =>
        instances_of_other_code_do_not_hide_what_is_ready,
        work_of_other_activities_does_not_hide_what_is_ready;
    code::TerminationNeedsCode => an_instance_that_is_to_be_terminated_needs_no_code;
    code::StaysTerminated => a_terminated_instance_that_is_started_anew_needs_its_code;
    code::ForgetsWhatNodesSaid => the_sessions_that_live_are_listed_with_their_code;
    commit::HalfCommit => a_commit_is_applied_whole;
    commit::LeaksTurnsInConflict => a_commit_in_conflict_changes_nothing;
    commit::AppliesTwice => the_same_commit_twice_is_applied_once;
    commit::ForgetsClaims => a_repeated_commit_has_the_same_claims;
    commit::ForgetsCommitIds =>
        a_repeated_commit_is_known_after_the_lease_was_given_back,
        an_empty_turn_is_known_again;
    commit::IgnoresTheTail => a_wrong_tail_is_a_conflict_that_names_the_tail;
    commit::ForgetsTheFence => a_commit_after_the_release_is_fenced;
    commit::OverwritesHistory => a_second_write_of_an_event_is_refused;
    commit::SinksTheGroup => turns_that_are_committed_at_once_do_not_hurt_each_other;
    commit::AcceptsInvalidTurns => an_invalid_turn_is_refused_and_changes_nothing;
    commit::TakesBackInOneTurn => a_turn_that_removes_what_it_schedules_is_invalid;
    commit::LooksAtTheLeaseFirst => a_turn_is_checked_before_its_lease_and_its_commit_id;
    commit::AnswersTooEarly => turns_are_appended_in_order;

    handing_out::TwoOwners => a_held_instance_is_not_handed_to_another_session;
    handing_out::TokensStandStill => every_new_lease_has_a_higher_token;
    handing_out::ImmortalSessions =>
        a_session_without_heartbeats_ends,
        a_commit_of_a_dead_session_is_fenced;
    handing_out::HeartbeatsDoNotCount => heartbeats_keep_what_a_session_holds;
    handing_out::HeartbeatsNeedTheOpener =>
        heartbeats_are_answered_while_the_runtime_of_the_store_stands_still;
    handing_out::CountsNoCrashes => a_dead_sessions_instance_is_ready_with_the_crash_counted;
    handing_out::ClosingIsDying => a_closed_session_is_lost, a_closed_session_counts_no_crash;
    handing_out::NewestFirst => a_fetch_is_bounded_and_oldest_first;
    handing_out::FetchesOneAtLeast => calls_for_nothing_do_nothing;
    handing_out::ForgetsIdleHoldings => a_dead_sessions_instance_is_ready_without_a_message;

    inbox::LosesMessages => messages_come_in_order, concurrent_senders_lose_nothing;
    inbox::DeliversConsumedMessages => only_consumed_messages_leave;
    inbox::ConsumesOnDelivery => a_message_stays_until_it_is_consumed;
    inbox::ReversesTheInbox =>
        places_in_an_inbox_only_rise,
        results_come_in_the_order_in_which_work_was_settled;
    inbox::QueuesDuplicates => a_repeated_message_id_is_queued_once;
    inbox::GivesMessagesAgain => a_message_is_given_once_under_a_lease;
    inbox::HidesMessages => a_kept_lease_is_told_of_messages;
    inbox::IgnoresCase => awkward_message_ids_are_kept_apart;

    start_options::ForgetsEvents =>
        a_running_instance_gets_the_events_of_a_start,
        an_instance_that_is_started_has_the_events_of_its_start;
    start_options::RaisesRefusedEvents => a_refused_start_brings_no_event;
    start_options::RaisesEventsAgain => the_events_of_a_repeated_start_come_once;
    start_options::RefusesStartsOfTurns =>
        a_commit_starts_an_ended_instance_anew_if_it_may,
        an_instance_that_runs_gets_the_events_of_a_start_by_a_commit;
    start_options::BeginsAtOnce =>
        a_delayed_start_is_given_out_when_its_time_has_come,
        a_restart_has_a_delay_of_its_own;
    start_options::EndsDelaysForEvents => an_event_does_not_end_a_delay;
    start_options::KeepsDelays => a_cancellation_and_a_termination_end_a_delay;
    start_options::RemembersTheBegin => a_delayed_start_is_given_out_when_its_time_has_come;
    start_options::ForgetsDeadlines =>
        a_deadline_fires_when_it_is_due,
        an_instance_whose_deadline_has_passed_needs_no_code,
        a_deadline_stays_through_continue_as_new;
    start_options::SuspendsAgain => a_deadline_passes_while_an_instance_is_suspended;

    receipts::SwallowsReceipts =>
        a_sender_is_told_that_the_receiver_does_not_exist,
        a_sender_is_told_that_its_message_was_delivered;
    receipts::TellsOfEveryDelivery => a_sender_that_asks_for_failures_hears_of_no_delivery;
    receipts::TellsAgain => a_receipt_comes_once;
    receipts::WakesEndedReceivers => a_sender_is_told_that_the_receiver_has_ended;
    receipts::TakesReceiptsOfClients => a_client_gets_no_receipt;

    waking::ForgetsWhatWasSeen => what_came_between_fetch_and_wait_ends_the_wait_at_once;
    waking::WakesNoWaiter => a_message_wakes_the_holder, a_message_for_a_free_instance_ends_a_wait;
    waking::WatchesOneQueue => new_work_ends_a_wait_for_its_queue;
    waking::WaitsForTheDead => a_session_that_ends_ends_its_waits;
    waking::CancelsInSilence =>
        a_cancellation_wakes_the_holder_of_the_work,
        the_end_of_an_instance_wakes_the_holders_of_its_work;
    waking::EndsInSilence => every_stop_of_an_instance_ends_a_wait_for_it;
    waking::SuspendsInSilence => a_suspension_by_a_client_ends_a_wait_for_the_stop;
    waking::StartsWithTheFuture => a_start_says_from_where_to_wait_for_the_end;
    waking::TakesRepeatsForStarts => a_restart_is_repeated_by_its_message_id;

    work::HandsWorkTwice => work_is_in_one_sessions_hands;
    work::LosesDeadWork => a_dead_sessions_work_is_ready_with_the_crash_counted;
    work::LosesRetryDelays => a_retry_comes_when_it_is_due_as_the_next_attempt;
    work::ForgetsAttempts => attempts_are_counted;
    work::TrustsZombies =>
        a_second_settlement_changes_nothing,
        a_settlement_of_a_dead_session_changes_nothing;
    work::SettlesForZombies =>
        a_settlement_of_a_lost_lease_changes_nothing_whatever_it_says,
        a_heartbeat_of_a_lost_lease_changes_nothing;
    work::ForgetsHeartbeats => a_heartbeat_reaches_the_next_attempt;
    work::ForgetsCancellations =>
        unclaimed_work_that_is_cancelled_goes,
        claimed_work_that_is_cancelled_is_reported_until_it_is_settled;
    work::MixesQueues => queues_are_separate;
    work::ClaimsOnlyNewWork => a_commit_claims_the_oldest_work_of_all_instances;
    work::KeepsFinishedWork => finished_work_goes_with_its_commit;
    work::SwallowsPoison => poisoned_work_fails_its_instance_and_stays_away;
    work::CountsClaimedWork => claimed_work_is_what_its_event_says;
    work::SchedulesAnew => work_that_comes_back_is_what_its_event_says;
    work::LooksInOneExecution => work_across_continue_as_new_is_what_its_event_says;
    work::StripsDeadLetters => dead_letters_are_what_their_events_say;

    open_work::HidesHeldWork => open_work_is_in_its_queue_or_held;
    open_work::KeepsTheFirstFailure => open_work_says_why_its_last_attempt_failed;
    open_work::ShowsTheFirstHeartbeat => open_work_has_its_last_heartbeat_and_its_crashes;
    open_work::HidesCancellations => open_work_that_is_cancelled_says_so_until_it_is_settled;
    open_work::ForgetsTheEnded => open_work_of_an_ended_instance_is_what_sessions_hold;
    open_work::KeepsTimers => open_timers_are_shown_until_they_fire_or_are_cancelled;
    open_work::SkipsBetweenPages => open_work_and_timers_are_read_in_pages;

    time::StandsStill => the_stores_time_follows_its_clock;
    time::StampsWithEntries => a_record_changes_when_the_stores_clock_says;
    time::StampsWithoutEntries => a_record_is_never_older_than_its_entries;

    timers::FiresEarly => no_timer_fires_before_it_is_due;
    timers::FiresAgain => a_timer_fires_once_and_says_when_it_was_due;
    timers::ShufflesTimers => timers_of_the_same_millisecond_fire_as_they_were_set;
    timers::FiresCancelledTimers => a_cancelled_timer_does_not_fire;
    timers::IgnoresDeadlines => the_deadline_of_an_activity_is_a_timer;
    timers::HidesTheNextTimer => firing_is_bounded_and_says_what_is_next;

    lifecycle::ReusesExecutionIds => execution_ids_rise_after_a_purge;
    lifecycle::KeepsClearedStatus => a_custom_status_can_be_cleared;
    lifecycle::AddsAttributes => attributes_are_those_of_the_latest_turn_that_changed_them;
    lifecycle::StartsWithoutAttributes =>
        attributes_come_with_a_start,
        a_start_anew_has_attributes_of_its_own;
    lifecycle::MixesAttributeTypes => an_attribute_keeps_its_type;
    lifecycle::PrunesTooMuch =>
        a_prune_removes_past_executions_and_nothing_else,
        a_prune_goes_by_the_end_of_executions;
    lifecycle::PrunesWithoutBound => a_prune_is_bounded_and_says_if_there_is_more;
    lifecycle::HandsOutSuspended => a_suspended_instance_is_not_handed_out;
    lifecycle::SuspendsWithoutFencing => suspending_fences_the_holder;
    lifecycle::ForgetsStarts => a_start_is_repeated_by_its_message_id;
    lifecycle::LosesReleaseDelays => a_released_instance_waits_until_it_may_be_run;
    lifecycle::ForgetsWhatBlocks => what_kept_a_holder_from_running_is_told_until_the_next_commit;
    lifecycle::ResumesLazily => a_resumed_instance_is_ready_without_a_message;

    reading::PagesSkip => instances_are_listed_by_id_in_pages;
    reading::PagesRepeat => a_history_can_be_read_in_pages;
    reading::PagesByOffset => a_list_that_changes_has_what_stays_once;
    reading::PrefixIsPattern => instances_can_be_chosen_by_prefix;
}

/// One test for each fault that random scripts find too.
macro_rules! faults_that_scripts_find {
    ($( $test:ident: $fault:ty; )*) => {
        $(
            #[test]
            fn $test() {
                let test = ModelTest::new(|clock| async { broken_store::<$fault>(clock) });
                let failure = test.cases(4_096).max_steps(60).run().unwrap_err();
                let calls = failure.script.to_string().lines().count();
                assert!((4..=16).contains(&calls), "not short: {failure}");
            }
        )*
    };
}

faults_that_scripts_find! {
    scripts_find_half_commits: commit::HalfCommit;
    scripts_find_invalid_turns: commit::AcceptsInvalidTurns;
    scripts_find_turns_that_take_back_their_own: commit::TakesBackInOneTurn;
    scripts_find_records_that_are_older_than_their_entries: time::StampsWithoutEntries;
    scripts_find_records_that_changed_with_their_entries: time::StampsWithEntries;
    scripts_find_clocks_that_stand_still: time::StandsStill;
    scripts_find_claims_that_are_counted: work::CountsClaimedWork;
    scripts_find_forgotten_claims: commit::ForgetsClaims;
    scripts_find_forgotten_commits: commit::ForgetsCommitIds;
    scripts_find_forgotten_fences: commit::ForgetsTheFence;
    scripts_find_forgotten_crashes: handing_out::CountsNoCrashes;
    scripts_find_immortal_sessions: handing_out::ImmortalSessions;
    scripts_find_consumed_messages: inbox::DeliversConsumedMessages;
    scripts_find_duplicates: inbox::QueuesDuplicates;
    scripts_find_hidden_messages: inbox::HidesMessages;
    scripts_find_swallowed_receipts: receipts::SwallowsReceipts;
    scripts_find_forgotten_delays: start_options::BeginsAtOnce;
    scripts_find_forgotten_deadlines: start_options::ForgetsDeadlines;
    scripts_find_lost_work: work::LosesDeadWork;
    scripts_find_lost_retry_delays: work::LosesRetryDelays;
    scripts_find_forgotten_attempts: work::ForgetsAttempts;
    scripts_find_zombies: work::TrustsZombies;
    scripts_find_forgotten_cancellations: work::ForgetsCancellations;
    scripts_find_finished_work: work::KeepsFinishedWork;
    scripts_find_shuffled_timers: timers::ShufflesTimers;
    scripts_find_executions_that_were_to_be_kept: lifecycle::PrunesTooMuch;
    scripts_find_forgotten_starts: lifecycle::ForgetsStarts;
    scripts_find_repeats_taken_for_starts: waking::TakesRepeatsForStarts;
    scripts_find_lazy_resumes: lifecycle::ResumesLazily;
    scripts_find_lost_release_delays: lifecycle::LosesReleaseDelays;
    scripts_find_forgotten_reasons: lifecycle::ForgetsWhatBlocks;
}

#[test]
fn a_script_is_shortened_until_it_explains_itself() {
    let store = broken_store::<timers::FiresCancelledTimers>;
    let failure = ModelTest::new(move |clock| async move { store(clock) })
        .run()
        .unwrap_err();
    let script = failure.script.to_string();
    assert!(script.lines().count() <= 7, "{failure}");
    assert!(script.contains("cancel timer"), "{failure}");
}

#[tokio::test]
async fn messages_that_are_written_late_are_found_by_a_crash() {
    let suite = Conformance::at_places(MemoryProvider::new, |store, clock| async move {
        Layered(reading::WritesLate::on(store.handle_with_clock(clock)))
    });
    let check = "nothing_is_lost_by_a_crash_between_any_two_calls";
    let report = suite.only([check]).wait_timeout(WAIT_TIMEOUT).run().await;
    is_caught(&report, check);
}

#[tokio::test]
async fn options_of_work_that_only_one_process_knows_are_found_by_a_crash() {
    let suite = Conformance::at_places(MemoryProvider::new, |store, clock| async move {
        Layered(work::KeepsOptionsInMemory::from(
            store.handle_with_clock(clock),
        ))
    });
    let check = "work_after_a_crash_is_what_its_event_says";
    is_caught(&suite.only([check]).run().await, check);
}

#[tokio::test]
async fn failures_that_only_one_process_knows_are_found_by_a_crash() {
    let suite = Conformance::at_places(MemoryProvider::new, |store, clock| async move {
        Layered(open_work::KeepsFailuresInMemory::from(
            store.handle_with_clock(clock),
        ))
    });
    let check = "open_work_survives_a_crash";
    is_caught(&suite.only([check]).run().await, check);
}

#[tokio::test]
async fn a_store_that_goes_by_its_clock_alone_is_found() {
    for check in [
        "the_stores_time_never_goes_back",
        "a_clock_that_was_set_back_does_not_take_the_store_back_after_a_crash",
        "a_handle_whose_clock_is_behind_goes_by_the_stores_time",
    ] {
        let suite = Conformance::at_places(MemoryProvider::new, |store, clock| async move {
            Layered(time::BareClock::on(&store, clock))
        });
        is_caught(&suite.only([check]).run().await, check);
    }
}

#[tokio::test]
async fn a_store_that_a_clock_confuses_when_it_is_set_back_is_found() {
    for check in [
        "a_clock_that_is_set_back_ends_no_session",
        "a_clock_that_is_set_back_fires_nothing_early",
    ] {
        let suite = Conformance::new(|clock| async { Layered(time::TakesBackForForth::on(clock)) });
        is_caught(&suite.only([check]).run().await, check);
    }
}

#[tokio::test]
async fn an_invalid_turn_that_leaks_is_found() {
    let check = "an_invalid_turn_is_refused_and_changes_nothing";
    is_caught_by::<commit::LeaksInvalidTurns>(check).await;
}

#[tokio::test]
async fn a_provider_without_limits_is_found() {
    let limits = Limits::new()
        .max_name_bytes(usize::MAX)
        .max_payload_bytes(usize::MAX);
    let suite = Conformance::new(move |clock| async move {
        let options = MemoryOptions::default().limits(limits);
        MemoryProvider::with_options(options.clock(clock))
    });
    let check = "payloads_that_are_too_large_are_refused";
    is_caught(&suite.only([check]).run().await, check);
}

#[tokio::test]
async fn a_provider_that_panics_breaks_one_check_only() {
    let suite = Conformance::new(|clock| async { broken_store::<Panics>(clock) });
    let checks = ["no_timer_fires_before_it_is_due", "messages_come_in_order"];
    is_caught(&suite.only(checks).run().await, checks[0]);
}

broken::fault! {
    /// Panics when timers are fired.
    Panics {}
    async fn fire_timers(
        &self,
        _max: usize,
    ) -> Result<durable_core::provider::FiredTimers, durable_core::provider::ProviderError> {
        unreachable!("no timers here")
    }
}

/// The faults are found because of what they break, not because of the layer.
#[tokio::test]
async fn a_layer_that_changes_nothing_keeps_the_contract() {
    let suite = Conformance::new(|clock| async { broken_store::<Nothing>(clock) });
    suite.run().await.assert_ok();
}

broken::fault! {
    /// No fault.
    Nothing {}
}
