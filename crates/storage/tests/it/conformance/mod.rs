//! What every implementation of the stores must do, as functions that use only the traits. They run
//! against the embedded store, PostgreSQL with an object store, and the store in memory, which the
//! simulation uses.

mod acceptances;
mod accounts;
mod audit;
mod chunks;
mod connectors;
mod drafts;
pub(crate) mod everything;
mod facts;
mod inbox;
mod jobs;
mod leases;
mod live;
mod objects;
mod origins;
mod run_log;
mod runs;
mod secrets;
mod session_changes;
mod sessions;
mod short_lived;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    Acceptances, Accounts, ChunkStore, ConnectorLedger, Drafts, Duties, Files, JobLedger, Leases,
    Ledger, Objects, RunLog, SealedSecrets, ShortLived, Store, TurnLog,
};
use onyx_test_support::{LeasePlace, ManualClock, MemoryDisk, OpenTurnstile};

use crate::server::servers::{self, OpenGateway, TestDatabase};
use crate::support::TempStore;

/// A fresh, empty set of stores, and the clock that they use.
pub(crate) struct Backend {
    pub(crate) turns: Arc<dyn TurnLog>,
    pub(crate) leases: Arc<dyn Leases>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) runs: Arc<dyn RunLog>,
    pub(crate) drafts: Arc<dyn Drafts>,
    pub(crate) jobs: Arc<dyn JobLedger>,
    pub(crate) duties: Arc<dyn Duties>,
    pub(crate) acceptances: Arc<dyn Acceptances>,
    pub(crate) accounts: Arc<dyn Accounts>,
    pub(crate) secrets: Arc<dyn SealedSecrets>,
    pub(crate) connectors: Arc<dyn ConnectorLedger>,
    pub(crate) short_lived: Arc<dyn ShortLived>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) chunks: Arc<dyn ChunkStore>,
    pub(crate) clock: Arc<ManualClock>,
    /// The URL of the database, for stores whose deadlines follow a server's clock.
    database: Option<String>,
    /// Values that must live as long as the stores do.
    pub(crate) _keep: Box<dyn std::any::Any>,
}

impl Backend {
    /// How far from a deadline a test must stay. A server's own clock continues while a test runs.
    pub(crate) fn slack(&self) -> Duration {
        if self.database.is_some() { Duration::from_secs(10) } else { Duration::from_millis(1) }
    }

    /// Lets time pass for the stores and for the server behind them, if there is one.
    pub(crate) async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        if let Some(database) = &self.database {
            servers::pass(database, by).await;
        }
    }
}

/// Opens stores on PostgreSQL and S3, with logs that are sealed every three turns.
async fn server() -> Backend {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let url = database.servers.url(&database.name);
    let (store, clock) = (gateway.store.clone(), Arc::clone(&gateway.clock));
    // The tuple drops the gateway first and the database last.
    let keep = Box::new((gateway, database));
    Backend { database: Some(url), ..backend(store, clock, keep) }
}

/// The stores of a gateway whose database the caller keeps.
pub(crate) fn of_gateway(gateway: OpenGateway) -> Backend {
    let (store, clock) = (gateway.store.clone(), Arc::clone(&gateway.clock));
    backend(store, clock, Box::new(gateway))
}

async fn embedded() -> Backend {
    let temp = TempStore::new().await;
    backend(temp.store.clone(), Arc::clone(&temp.clock), Box::new(temp))
}

async fn memory() -> Backend {
    in_memory(LeasePlace::Process)
}

async fn shared_memory() -> Backend {
    in_memory(LeasePlace::Disk)
}

fn in_memory(place: LeasePlace) -> Backend {
    let clock = Arc::new(ManualClock::new());
    let store = MemoryDisk::new().open(Arc::clone(&clock) as _, Arc::new(OpenTurnstile), place);
    backend(store, clock, Box::new(()))
}

fn backend(store: Store, clock: Arc<ManualClock>, keep: Box<dyn std::any::Any>) -> Backend {
    let vault = onyx_storage::Area::Vault("anna".parse().unwrap());
    Backend {
        turns: store.turns,
        leases: store.leases,
        ledger: store.ledger,
        runs: store.runs,
        drafts: store.drafts,
        jobs: store.jobs,
        duties: store.duties,
        acceptances: store.acceptances,
        accounts: store.accounts,
        secrets: store.secrets,
        connectors: store.connectors,
        short_lived: store.short_lived,
        objects: store.files.objects(&vault).unwrap(),
        files: store.files,
        chunks: store.chunks,
        clock,
        database: None,
        _keep: keep,
    }
}

/// Makes one test for each case and backend.
macro_rules! conformance {
    ($($module:ident: $($case:ident)*;)*) => {
        backends! { on_embedded embedded: $($module: $($case)*;)* }
        backends! { on_server server: $($module: $($case)*;)* }
        backends! { on_memory memory: $($module: $($case)*;)* }
        backends! { on_shared_memory shared_memory: $($module: $($case)*;)* }
    };
}

/// Makes tests for stores that the backends in memory do not have.
macro_rules! conformance_of_engines {
    ($($module:ident: $($case:ident)*;)*) => {
        backends! { on_embedded_alone embedded: $($module: $($case)*;)* }
        backends! { on_server_alone server: $($module: $($case)*;)* }
    };
}

macro_rules! backends {
    ($name:ident $make:ident: $($module:ident: $($case:ident)*;)*) => {
        mod $name {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::super::$module::$case(super::super::$make().await).await;
                })*
            })*
        }
    };
}

conformance! {
    acceptances:
        what_was_accepted_last_counts_and_what_is_withdrawn_is_gone
        ;
    turns:
        a_session_without_a_log_has_an_empty_page
        what_was_appended_comes_back_in_order
        pages_of_any_size_cover_the_log_without_gap_or_repeat
        pages_of_any_weight_cover_the_log_and_hold_a_turn_at_least
        unknown_types_and_fields_survive
        a_field_named_like_the_checksum_does_not_confuse_the_log
        long_and_odd_texts_come_back_whole
        an_empty_batch_writes_nothing
        a_turn_nested_too_deeply_is_refused_and_the_log_goes_on
        a_lost_lease_cannot_append
        batches_of_concurrent_appends_stay_together
        a_new_holder_never_sees_a_late_write_of_the_old_one
        a_copy_goes_through_the_named_turn
        a_copy_needs_a_known_turn_and_an_empty_log
        a_deleted_log_is_gone
        sessions_are_listed_by_person
        ;
    leases:
        one_holder_at_a_time
        a_lease_expires_and_the_fence_grows
        renewing_prolongs
        a_jump_of_the_wall_clock_takes_no_lease
        releasing_a_lost_lease_leaves_the_new_holder_alone
        ;
    live:
        pieces_are_put_together_by_turn
        clearing_forgets_and_deleting_too
        a_lost_lease_notes_nothing
        ;
    inbox:
        words_wait_in_the_order_they_came
        words_that_still_wait_can_be_changed
        messages_for_after_an_answer_are_left_and_others_are_not
        words_go_by_turn_and_with_the_session
        ;
    drafts:
        a_draft_comes_back_as_it_was_put_and_to_nobody_else
        drafts_are_listed_newest_first_by_state_and_session
        a_draft_supersedes_exactly_what_is_open_on_its_targets
        of_many_moves_one_happens_with_its_audit_row
        a_move_sets_what_it_says_and_a_fresh_plan_gets_a_hash
        what_is_being_applied_or_has_run_out_is_unsettled
        decisions_wait_until_they_are_delivered_and_go_with_the_session
        work_of_this_life_changes_drafts_and_is_audited
        ;
    runs:
        beginning_makes_the_session
        a_run_in_a_session_that_is_gone_does_not_bring_it_back
        the_same_input_is_not_run_twice_at_once
        the_same_input_runs_again_only_after_a_run_went_wrong
        ending_folds_into_the_session_once
        a_title_is_set_only_once
        spending_adds_up_by_person_and_day
        a_day_is_the_persons_own
        each_agent_of_a_run_has_its_own_part_of_the_spending
        runs_that_never_ended_are_named
        a_run_is_seen_by_its_person_only
        a_session_keeps_its_agent
        one_failing_write_of_many_fails_alone
        ;
    run_log:
        a_run_begins_and_ends_with_its_turns
        a_run_that_may_not_begin_writes_nothing
        the_end_of_a_run_that_is_closed_already_changes_its_log_alone
        a_lost_lease_ends_nothing
        ;
    sessions:
        a_row_comes_back_as_it_was_put
        a_foreign_session_is_not_there
        deleting_is_idempotent
        every_filter_narrows
        text_is_found_in_any_case
        pages_cover_the_list_newest_first
        a_cursor_that_is_gone_is_told
        a_list_shows_the_newest_of_each_family
        a_change_touches_only_what_it_names
        a_title_by_a_person_is_replaced_by_a_person_only
        what_is_booked_counts_for_session_and_person
        what_was_answered_is_unread_until_it_is_read
        a_conversation_is_pinned_with_its_forks
        tags_and_what_it_is_about_belong_to_a_conversation_with_its_forks
        passing_sessions_are_unused_with_their_whole_family
        ;
    jobs:
        a_job_comes_back_as_it_was_put_and_goes_whole
        a_change_of_a_job_touches_only_what_it_names
        of_many_who_settle_one_does
        what_was_left_out_comes_again_when_the_clock_was_set_back
        of_many_who_claim_a_slot_one_gets_it
        a_claim_keeps_to_one_run_a_job_and_so_many_in_all
        a_slot_ends_once_and_changes_its_job
        slots_are_paged_and_troubles_counted_until_they_are_seen
        ;
    accounts:
        people_are_added_once_and_listed_by_name
        a_person_goes_with_password_and_credentials
        a_password_is_replaced_and_removed
        credentials_come_back_as_they_were_put
        ;
    secrets:
        secrets_come_back_as_they_were_put
        a_removed_secret_is_gone_and_no_other
        ;
    short_lived:
        what_was_put_is_read_until_it_ends
        of_many_who_take_an_entry_one_gets_it
        of_many_who_put_a_new_entry_one_does_and_the_others_get_its_value
        an_entry_that_has_ended_makes_room_for_a_new_one
        a_value_is_replaced_where_it_is_still_the_same
        the_oldest_entries_of_a_person_make_room_by_number_and_by_size
        many_who_put_at_once_keep_to_the_room
        kinds_and_people_are_apart
        ;
    audit:
        rows_are_chained_by_person
        pages_go_from_newest_to_oldest
        an_empty_chain_is_whole
        concurrent_rows_make_one_chain
        ;
    objects:
        what_was_put_is_read
        a_missing_object_is_none
        a_write_happens_only_as_expected
        one_of_many_creators_wins
        one_of_many_changers_wins
        concurrent_appends_all_arrive_whole
        deleting_removes
        renaming_moves_and_never_replaces
        listing_is_sorted_bounded_and_direct
        a_file_over_the_limit_is_refused
        a_folder_is_no_file
        all_below_a_folder_is_listed_and_read_in_one_go
        ;
    chunks:
        a_source_comes_back_with_its_chunks
        several_sources_are_replaced_together
        replacing_leaves_nothing_of_the_old
        removing_is_a_change_too
        everything_under_a_path_goes_at_once
        vectors_are_kept_by_chunk_and_follow_its_words
        vectors_of_tokens_go_where_the_vector_of_their_chunk_goes
        the_oldest_vectors_of_tokens_make_room
        messages_come_back_and_are_outlined
        vectors_of_one_model_serve_while_those_of_another_are_made
        sources_alike_share_a_group_and_chunks_know_theirs
        all_vectors_of_one_person_are_read_by_their_sources
        marks_are_found_by_the_start_of_their_names
        sources_are_listed_by_person
        changes_come_in_order_once_a_source
        ;
}

conformance_of_engines! {
    connectors:
        an_update_is_stored_once_by_its_number_and_by_its_message_together_with_the_cursor
        a_promised_run_stays_the_promised_one_and_an_update_ends_once_with_its_answer
        of_many_who_finish_an_update_or_begin_a_send_one_does
        each_peer_is_sent_its_first_message_and_what_a_crash_left_is_repeated_or_unknown
        dead_letters_wait_for_a_decision
        only_so_many_strangers_wait_until_codes_expire
        peers_have_conversations_and_numbered_proposals_until_they_are_removed
        mail_is_kept_once_for_its_receiver_until_it_is_old
        ;
    facts:
        facts_are_found_by_either_name_within_groups
        entities_are_found_by_a_part_of_their_name
        entities_are_counted_within_the_groups_that_are_asked_for
        entities_follow_their_facts
        the_newest_entities_of_all_groups_come_first_with_all_their_facts
        facts_go_with_their_chunk_and_take_the_place_of_their_maker
        a_reading_is_kept_by_its_text
        ;
    origins:
        a_content_is_known_here_elsewhere_and_by_what_was_there_before
        texts_alike_are_known_by_half_of_what_is_kept
        names_belong_to_the_worst_who_gave_one
        commands_are_open_until_they_end
        every_change_has_another_version
        ;
    objects:
        the_end_of_a_file_is_read_without_the_rest
        many_are_found_in_one_go_each_with_its_own_answer
        large_files_come_back_whole_and_grow
        people_and_agents_are_those_who_have_files
        ;
    session_changes:
        a_session_moves_when_a_run_ends_or_its_row_changes_and_not_when_a_run_begins
        changes_at_once_are_all_told_and_each_number_once
        ;
}
