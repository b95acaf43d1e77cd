//! Tests with two gateways on one database. Each test lets both try the same thing at once, many
//! times.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    AccountKey, Area, BeginIn, BeginRun, ChunkFacts, ChunkId, ChunkRow, Delivery, Draft,
    DraftChange, DraftMove, EntityName, Expect, FactRow, GroupId, Holds, InboxRow, JobChange,
    JobRow, JobSlot, ModelUse, NewUpdate, ObjectKind, RunOutcome, Settling, SlotClaim, SlotTrigger,
    SourceKey, SourceKind, SourceRow, Stamp, Store, StoreError,
};
use onyx_types::{
    DraftState, Hash, IdGenerator, ModelId, Origin, Plan, RunStatus, Scope, SessionOrigin, Taint,
    Timestamp, ToolEffect, ToolUseId, Usage, UserContent,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::servers::{OpenGateway, TestDatabase};
use crate::support::{Maker, TTL, audit_entry};

struct Two {
    one: OpenGateway,
    two: OpenGateway,
    database: TestDatabase,
}

impl Two {
    async fn open() -> Self {
        let database = TestDatabase::migrated().await;
        Self { one: database.open("one").await, two: database.open("two").await, database }
    }

    /// Returns the store of one gateway for even numbers and of the other for odd ones.
    fn store(&self, number: usize) -> Store {
        if number.is_multiple_of(2) { self.one.store.clone() } else { self.two.store.clone() }
    }
}

fn won(results: Vec<bool>) -> usize {
    results.into_iter().filter(|won| *won).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_held_by_one_gateway_and_goes_to_the_other_when_it_is_given_back() {
    let (two, mut make) = (Two::open().await, Maker::new());
    for _ in 0..5 {
        let key = make.key();
        let mut tries = JoinSet::new();
        for number in 0..8 {
            let (leases, key) = (two.store(number).leases, key.clone());
            tries.spawn(async move { leases.acquire(&key, TTL).await });
        }
        let taken = tries.join_all().await;
        let busy = taken.iter().filter(|taken| matches!(taken, Err(StoreError::Busy))).count();
        assert_eq!(busy, 7, "{taken:?}");
        let lease = taken.into_iter().find_map(Result::ok).unwrap();
        for gateway in [&two.one, &two.two] {
            gateway.store.leases.release(&lease).await.unwrap();
        }
        assert!(two.two.store.leases.acquire(&key, TTL).await.unwrap().fence > lease.fence);
    }
}

/// The gateway's own clock stands still, as if the gateway were frozen, so only the fence in the
/// statement keeps it from writing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_fence_writes_nothing() {
    let (two, mut make) = (Two::open().await, Maker::new());
    let key = make.key();
    let stale = two.one.store.leases.acquire(&key, TTL).await.unwrap();
    let turns = make.users(["of the first", "late", "of the second"]);
    let log = &two.one.store.turns;
    log.append(&stale, &turns[..1]).await.unwrap();
    two.database.pass(TTL).await;
    let held = two.two.store.leases.acquire(&key, TTL).await.unwrap();
    assert!(held.fence > stale.fence);
    let lost = |result: Result<(), StoreError>| matches!(result, Err(StoreError::LeaseLost));
    assert!(lost(log.append(&stale, &turns[1..2]).await.map(drop)));
    two.two.store.turns.append(&held, &turns[2..]).await.unwrap();
    for gateway in [&two.one, &two.two] {
        let page = gateway.store.turns.tail(&key, None, 9).await.unwrap();
        assert_eq!(page.turns, [turns[0].clone(), turns[2].clone()]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_fence_neither_deletes_nor_notes_nor_renews_nor_copies() {
    let (two, mut make) = (Two::open().await, Maker::new());
    let lost = |result: Result<(), StoreError>| matches!(result, Err(StoreError::LeaseLost));
    let source = make.key();
    let from = two.two.store.leases.acquire(&source, TTL).await.unwrap();
    let turn = make.user("x");
    two.two.store.turns.append(&from, std::slice::from_ref(&turn)).await.unwrap();
    for number in 0..5 {
        let key = make.key();
        let stale = two.one.store.leases.acquire(&key, TTL).await.unwrap();
        two.database.pass(TTL).await;
        let held = two.two.store.leases.acquire(&key, TTL).await.unwrap();
        let log = &two.one.store.turns;
        let tried = match number {
            0 => log.delete(&stale).await,
            1 => log.note_live(&stale, &[]).await,
            2 => log.clear_live(&stale).await,
            3 => two.one.store.leases.renew(&stale, TTL).await,
            _ => log.copy_through(&source, turn.id, &stale).await.map(drop),
        };
        assert!(lost(tried), "{number}");
        two.two.store.turns.append(&held, &make.users(["kept"])).await.unwrap();
        assert_eq!(log.tail(&key, None, 9).await.unwrap().turns.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_runs_once() {
    let (two, mut make) = (Two::open().await, Maker::new());
    for _ in 0..5 {
        let (key, input) = (make.key(), make.user("hi").id);
        let mut tries = JoinSet::new();
        for number in 0..10 {
            let begin = BeginRun {
                run: make.run(),
                key: key.clone(),
                input_turn: input,
                started_at: make.tick(),
                session: BeginIn::New(SessionOrigin::Chat),
            };
            let ledger = two.store(number).ledger;
            tries.spawn(async move { ledger.begin_run(begin).await.is_ok() });
        }
        assert_eq!(won(tries.join_all().await), 1);
        assert_eq!(two.one.store.ledger.open_runs(&key).await.unwrap().len(), 1);
    }
}

fn job(name: &str) -> JobRow {
    let at = Timestamp::from_millis;
    JobRow {
        person: "anna".parse().unwrap(),
        job: name.parse().unwrap(),
        accepted_hash: Hash::of(b"x"),
        accepted_text: "x".into(),
        accepted_at: at(1),
        anchor: at(1),
        settled: at(100),
        paused: None,
        failures: 0,
        session: None,
        seen_at: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_settled_and_fired_once_and_no_more_run_than_may() {
    let (two, mut make) = (Two::open().await, Maker::new());
    let at = Timestamp::from_millis;
    let names: Vec<String> = (0..12).map(|number| format!("job-{number}")).collect();
    for name in &names {
        let row = job(name);
        let (person, id) = (row.person.clone(), row.job.clone());
        two.one.store.jobs.put_job(row, audit_entry(&mut make, "anna")).await.unwrap();
        let slots = [150, 160].map(|millis| {
            JobSlot::queued(person.clone(), id.clone(), at(millis), SlotTrigger::Schedule)
        });
        let mut tries = JoinSet::new();
        for number in 0..6 {
            let settling = Settling {
                person: person.clone(),
                job: id.clone(),
                from: at(100),
                to: at(200),
                slots: slots.to_vec(),
            };
            let jobs = two.store(number).jobs;
            tries.spawn(async move { jobs.settle_slots(settling).await.unwrap() });
        }
        assert_eq!(won(tries.join_all().await), 1);
    }
    // Both gateways try to fire every slot. At most four slots may run at once, and one of each
    // job.
    let open = two.two.store.jobs.open_slots().await.unwrap();
    assert_eq!(open.len(), 24);
    let mut tries = JoinSet::new();
    for (number, slot) in open.iter().chain(&open).enumerate() {
        let claim = SlotClaim { slot: slot.key(), run: None, started_at: at(1), most: 4 };
        let jobs = two.store(number / 24 + number).jobs;
        tries.spawn(async move { jobs.claim_slot(claim).await.unwrap() });
    }
    assert_eq!(won(tries.join_all().await), 4);
    let running = two.one.store.jobs.open_slots().await.unwrap();
    let mut jobs: Vec<_> =
        running.into_iter().filter(|slot| slot.started_at.is_some()).map(|slot| slot.job).collect();
    jobs.sort();
    jobs.dedup();
    assert_eq!(jobs.len(), 4, "one of each job");
    let change = JobChange { failures: Some(1), ..JobChange::default() };
    assert!(two.two.store.jobs.change_job(&job("job-1").person, &jobs[0], change).await.unwrap());
}

pub(super) fn draft(
    make: &mut Maker,
    mint: &mut IdGenerator,
    key: &onyx_types::SessionKey,
) -> Draft {
    let at = make.tick();
    let plan = Plan::new("write_file", json!({"path": "a"}), ToolEffect::Write, "Write a");
    let run = mint.run(at);
    Draft {
        id: mint.draft(at),
        key: key.clone(),
        agent: key.agent.clone(),
        run,
        call: ToolUseId("call".into()),
        input: None,
        taint: Taint::Clean,
        hash: Draft::hash_of(&plan, key, run),
        plan,
        state: DraftState::Pending,
        created_at: at,
        expires_at: at,
        decided: None,
        reason: None,
        output: None,
        superseded_by: None,
        delivered: false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_is_decided_once_and_the_chain_stays_one() {
    let (two, mut make, mut mint) = (Two::open().await, Maker::new(), IdGenerator::new(5));
    let key = make.key();
    for _ in 0..5 {
        let draft = draft(&mut make, &mut mint, &key);
        let entry = audit_entry(&mut make, "anna");
        two.one.store.drafts.put_draft(draft.clone(), &[], entry.clone()).await.unwrap();
        let mut tries = JoinSet::new();
        for number in 0..10 {
            // Half of them approve the draft, and half reject it.
            let to = if number < 5 { DraftState::Applying } else { DraftState::Rejected };
            let step = DraftMove {
                from: DraftState::Pending,
                hash: draft.hash,
                to,
                change: DraftChange::default(),
            };
            let (drafts, entry) = (two.store(number).drafts, entry.clone());
            let (person, id) = (key.person.clone(), draft.id);
            tries.spawn(async move { drafts.move_draft(&person, id, step, entry).await.is_ok() });
        }
        assert_eq!(won(tries.join_all().await), 1);
    }
    let chain = two.two.store.ledger.verify_audit(&key.person).await.unwrap();
    assert_eq!(chain, onyx_storage::ChainState::Whole { rows: 10 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_is_stored_and_finished_once() {
    let two = Two::open().await;
    let account = AccountKey { network: "telegram".into(), account: "main".into() };
    let mut stored = JoinSet::new();
    for number in 0..10_usize {
        // Both read the same updates from the network, in overlapping pieces.
        let updates = (number..number + 5).map(|id| NewUpdate {
            update: id.to_string(),
            peer: "7".into(),
            message: id.to_string(),
            body: "{}".into(),
        });
        let (ledger, account) = (two.store(number).connectors, account.clone());
        let updates: Vec<_> = updates.collect();
        stored.spawn(async move {
            ledger.store_updates(&account, updates, None, Timestamp::from_millis(1)).await.unwrap()
        });
    }
    assert_eq!(stored.join_all().await.into_iter().sum::<usize>(), 14);
    let open = two.one.store.connectors.open_updates(&account, 99).await.unwrap();
    assert_eq!(open.len(), 14);
    for update in open {
        assert!(two.two.store.connectors.begin_update(update.id).await.unwrap().is_some());
        let mut tries = JoinSet::new();
        for number in 0..4 {
            let ledger = two.store(number).connectors;
            let at = Timestamp::from_millis(2);
            tries.spawn(async move { ledger.finish_update(update.id, vec![], at).await.unwrap() });
        }
        assert_eq!(won(tries.join_all().await), 1);
    }
}

/// What one gateway books counts at the other at once, so a budget is overdrawn by no more than the
/// calls in progress.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_spent_adds_up_and_is_seen_everywhere_at_once() {
    let (two, mut make) = (Two::open().await, Maker::new());
    let key = make.key();
    let at = "2026-03-01T10:00:00Z".parse().unwrap();
    let usage = Usage { input: 3, output: 1, cost: Some(0.25), ..Usage::default() };
    let spent = async |store: &Store| store.ledger.spent(&key.person, "2026-03-01").await.unwrap();
    let mut expected = 0.0;
    for number in 0..6 {
        two.store(number).ledger.book(&key, &ModelId::new("mine/m"), usage, at).await.unwrap();
        expected += 0.25;
        assert_eq!(spent(&two.store(number + 1)).await, expected);
    }
    let mut bookings = JoinSet::new();
    for number in 0..40 {
        let (ledger, key) = (two.store(number).ledger, key.clone());
        let begin = BeginRun {
            run: make.run(),
            key: key.clone(),
            input_turn: make.user("x").id,
            started_at: at,
            session: BeginIn::New(SessionOrigin::Chat),
        };
        bookings.spawn(async move {
            ledger.begin_run(begin.clone()).await.unwrap();
            let model = ModelId::new("mine/m");
            let used = vec![ModelUse { agent: key.agent.clone(), model, usage }];
            let outcome = RunOutcome {
                run: begin.run,
                status: RunStatus::Done,
                ended_at: at,
                usage,
                used,
                messages_added: 1,
                preview: None,
                title: None,
            };
            // Whoever closes a run of a dead gateway may do so at the same time.
            let twice = (ledger.end_run(outcome.clone()), ledger.end_run(outcome));
            let (first, second) = tokio::join!(twice.0, twice.1);
            (first.unwrap(), second.unwrap())
        });
    }
    bookings.join_all().await;
    expected += 40.0 * 0.25;
    assert_eq!((spent(&two.one.store).await, spent(&two.two.store).await), (expected, expected));
    let meta = two.one.store.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    assert_eq!((meta.message_count, meta.token_count), (40, 40 * 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_wait_are_seen_and_taken_out_everywhere() {
    let (two, mut make) = (Two::open().await, Maker::new());
    let key = make.key();
    let row = InboxRow {
        turn: make.user("x").id,
        delivery: Delivery::Steer,
        words: UserContent::Text("x".into()).into(),
        received_at: make.tick(),
    };
    assert_eq!(two.two.store.ledger.inbox(&key).await.unwrap(), []);
    two.one.store.ledger.put_inbox(&key, row.clone()).await.unwrap();
    assert_eq!(two.two.store.ledger.inbox(&key).await.unwrap(), std::slice::from_ref(&row));
    two.two.store.ledger.clear_inbox(&key, &[row.turn]).await.unwrap();
    assert_eq!(two.one.store.ledger.inbox(&key).await.unwrap(), []);
    assert!(!two.one.store.ledger.change_inbox(&key, row).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_made_and_changed_by_one_and_never_a_folder_too() {
    let two = Two::open().await;
    let vault = Area::Vault("anna".parse().unwrap());
    let objects = |number| two.store(number).files.objects(&vault).unwrap();
    for round in 0..8 {
        let mut tries = JoinSet::new();
        for number in 0..8 {
            let objects = objects(number);
            // Half of them write the file, and half write a file below it.
            let path = if number < 4 { format!("f{round}") } else { format!("f{round}/x{number}") };
            tries.spawn(async move {
                objects.put(&path.parse().unwrap(), b"1", Expect::Absent).await.is_ok()
            });
        }
        let made = won(tries.join_all().await);
        let folder = objects(0).list(Some(&format!("f{round}").parse().unwrap()), 9).await;
        match folder {
            Ok(children) => assert_eq!(children.len(), made, "it is a folder"),
            Err(StoreError::NotFound) => assert_eq!(made, 1, "it is a file"),
            Err(error) => panic!("{error}"),
        }
    }
    let key = "counter".parse().unwrap();
    objects(0).put(&key, b"", Expect::Absent).await.unwrap();
    let mut appends = JoinSet::new();
    for number in 0..20 {
        let (objects, key) = (objects(number), key.clone());
        appends.spawn(async move { objects.append(&key, b"+").await.unwrap() });
    }
    appends.join_all().await;
    assert_eq!(objects(1).get(&key, 99).await.unwrap().unwrap().bytes, [b'+'; 20]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_text_came_from_is_known_to_the_other_gateway_at_once() {
    let two = Two::open().await;
    let note = onyx_storage::OriginNote {
        path: "vault/a.md".into(),
        hash: Some(Hash::of(b"foreign")),
        origin: Origin::External,
        prints: vec![1, 2],
        names: vec!["vault/a.md".into()],
    };
    let (one, other) = (two.one.store.files.origins(), two.two.store.files.origins());
    let before = other.version("people/anna").await.unwrap();
    one.note("people/anna", vec![note]).await.unwrap();
    assert!(other.has_foreign_text("people/anna").await.unwrap());
    assert!(other.version("people/anna").await.unwrap() > before);
    let known = other.known("people/anna", "vault/a.md", Hash::of(b"foreign")).await.unwrap();
    assert_eq!(known.here, Some(Origin::External));
    let command = one.begin_command("people/anna").await.unwrap();
    let since = other.command_since("people/anna").await.unwrap();
    assert_eq!(since, Some(command.started_at));
}

fn source(path: &str) -> SourceRow {
    SourceRow {
        key: SourceKey { person: Some("anna".parse().unwrap()), path: path.into() },
        kind: SourceKind::Note,
        scope: Scope::Person,
        origin: Origin::Person,
        title: path.into(),
        checksum: Hash::of(b""),
        stamp: Stamp { size: 1, modified: Timestamp::from_millis(1) },
        chunking: "1".into(),
        problem: None,
        indexed_at: Timestamp::from_millis(1),
        conversation: None,
        dated: None,
    }
}

fn chunk(text: String) -> ChunkRow {
    ChunkRow {
        start_line: 1,
        end_line: 1,
        heading: String::new(),
        origin: Origin::Person,
        hash: Hash::of(text.as_bytes()),
        text,
        message: None,
    }
}

/// Two gateways that index the same sources at once must not wait for each other in a circle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_are_taken_in_the_same_order_by_all() {
    let two = Two::open().await;
    let chunks = &two.one.store.chunks;
    let written = |path: &str| (source(path), vec![chunk(path.to_owned())]);
    chunks.replace_all(vec![written("a"), written("b")]).await.unwrap();
    let mut other = two.database.sql().await;
    let other = other.transaction().await.unwrap();
    other.execute("SELECT FROM sources WHERE path = 'a' FOR UPDATE", &[]).await.unwrap();
    let writer = {
        let (chunks, sources) = (Arc::clone(chunks), vec![written("b"), written("a")]);
        tokio::spawn(async move { chunks.replace_all(sources).await })
    };
    let watcher = two.database.sql().await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watcher.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 1 {
        tokio::task::yield_now().await;
    }
    let second = other.execute("SELECT FROM sources WHERE path = 'b' FOR UPDATE NOWAIT", &[]).await;
    assert!(second.is_ok(), "it holds the second and waits for the first: {second:?}");
    other.commit().await.unwrap();
    writer.await.unwrap().unwrap();
}

/// Writes a chunk like one that is there, in a transaction that stays open.
const WRITE_CHUNK: &str =
    "INSERT INTO chunks (source, start_line, end_line, heading, origin, text, hash)
     SELECT source, start_line, end_line, heading, origin, text, hash FROM chunks
     ORDER BY id LIMIT 1 RETURNING id";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_are_settled_when_no_open_transaction_can_add_one_before_them() {
    let two = Two::open().await;
    let (one, other) = (&two.one.store.chunks, &two.two.store.chunks);
    one.replace(&source("a"), &[chunk("a".to_owned())]).await.unwrap();
    let newest = async || one.chunks_after(ChunkId(0), 99).await.unwrap().last().unwrap().id;
    let first = newest().await;
    assert_eq!(one.settled_through().await.unwrap(), first);
    let (mut early, mut late) = (two.database.sql().await, two.database.sql().await);
    let early = early.transaction().await.unwrap();
    let open: i64 = early.query_one(WRITE_CHUNK, &[]).await.unwrap().get(0);
    let open = ChunkId(u64::try_from(open).unwrap());
    one.replace(&source("b"), &[chunk("b".to_owned())]).await.unwrap();
    let second = newest().await;
    assert!(second > open, "a higher number is seen before a lower one");
    assert_eq!(one.settled_through().await.unwrap(), first);
    assert!(other.settled_through().await.unwrap() < open, "it was not asked before");
    // One that begins later does not hold up what was written before it.
    let late = late.transaction().await.unwrap();
    late.query_one(WRITE_CHUNK, &[]).await.unwrap();
    assert_eq!(one.settled_through().await.unwrap(), first);
    early.commit().await.unwrap();
    assert_eq!(one.settled_through().await.unwrap(), second);
    assert_eq!(other.settled_through().await.unwrap(), second);
    late.rollback().await.unwrap();
    assert_eq!(one.settled_through().await.unwrap(), second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_settled_when_no_open_transaction_can_add_one_before_them() {
    let two = Two::open().await;
    let chunks = &two.one.store.chunks;
    chunks.replace(&source("a"), &[]).await.unwrap();
    let mut early = two.database.sql().await;
    let early = early.transaction().await.unwrap();
    let write = "INSERT INTO source_groups (person, scope, kind)
                 SELECT 'bert', scope, kind FROM source_groups LIMIT 1 RETURNING id";
    let open: i64 = early.query_one(write, &[]).await.unwrap().get(0);
    let open = GroupId(u32::try_from(open).unwrap());
    let daily = SourceRow { kind: SourceKind::Daily, ..source("b") };
    chunks.replace(&daily, &[]).await.unwrap();
    let before = chunks.groups_settled_through().await.unwrap();
    let newest = chunks.groups_after(before).await.unwrap().last().unwrap().id;
    assert!(before < open && open < newest, "a higher number is seen before a lower one");
    early.commit().await.unwrap();
    assert_eq!(chunks.groups_settled_through().await.unwrap(), newest);
    let late: Vec<GroupId> =
        chunks.groups_after(before).await.unwrap().iter().map(|group| group.id).collect();
    assert!(late.contains(&open), "who reads on from what was settled finds it: {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_that_both_index_end_whole_and_every_change_is_followed() {
    let two = Two::open().await;
    let mut writers = JoinSet::new();
    for number in 0..24 {
        let chunks = two.store(number).chunks;
        let row = source(&format!("f{}", number % 3));
        let texts = vec![chunk(format!("{number} a")), chunk(format!("{number} b"))];
        writers.spawn(async move { chunks.replace(&row, &texts).await.unwrap() });
    }
    let mut numbers = writers.join_all().await;
    let follower: &Arc<dyn onyx_storage::ChunkStore> = &two.two.store.chunks;
    let changes = follower.changes(0, 99).await.unwrap();
    assert_eq!(changes.len(), 3);
    numbers.sort_unstable();
    assert_eq!(changes.last().unwrap().seq, *numbers.last().unwrap());
    let mut all = follower.chunks_after(ChunkId(0), 99).await.unwrap();
    all.sort_by_key(|chunk| (chunk.source.key.clone(), chunk.id));
    assert_eq!(all.len(), 6, "each source has the chunks of one writer");
    for pair in all.chunks(2) {
        let number = |chunk: &onyx_storage::StoredChunk| {
            chunk.row.text.split(' ').next().unwrap().to_owned()
        };
        assert_eq!(number(&pair[0]), number(&pair[1]));
    }
    // The vectors of both are stored, no matter which of them made the room.
    let vectors = all.iter().enumerate().map(|(number, chunk)| (number, chunk.id));
    let mut makers = JoinSet::new();
    for (number, id) in vectors {
        let chunks = two.store(number).chunks;
        makers.spawn(async move {
            chunks.keep_vectors("mini", vec![(id, vec![1.0])]).await.unwrap();
        });
    }
    makers.join_all().await;
    assert_eq!(follower.vectors_after("mini", ChunkId(0), 99).await.unwrap().len(), 6);
    tokio::time::timeout(Duration::from_secs(30), follower.standing()).await.unwrap().unwrap();
}

fn fact(chunk: ChunkId, object: &str) -> ChunkFacts {
    let name = |name: &str| EntityName { key: name.to_lowercase(), name: name.to_owned() };
    let row = FactRow {
        subject: name("Anna"),
        relation: "works at".to_owned(),
        object: name(object),
        object_kind: ObjectKind::Entity,
        holds: Holds::Begins,
        line: 1,
        said: format!("Anna works at {object}."),
        from: None,
        until: None,
    };
    ChunkFacts { chunk, maker: "rules".to_owned(), facts: vec![row] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_that_both_find_in_the_same_texts_are_there_once() {
    let two = Two::open().await;
    let chunks = &two.one.store.chunks;
    for path in ["a", "b", "c"] {
        chunks.replace(&source(path), &[chunk(path.to_owned())]).await.unwrap();
    }
    let stored = chunks.chunks_after(ChunkId(0), 99).await.unwrap();
    let ids: Vec<ChunkId> = stored.iter().map(|chunk| chunk.id).collect();
    let sql = two.database.sql().await;
    for round in 0..20 {
        let mut finders = JoinSet::new();
        for number in 0..4 {
            let chunks = two.store(number).chunks;
            let mut found: Vec<ChunkFacts> = ids.iter().map(|id| fact(*id, "Ribe")).collect();
            // A gateway may have read the chunks in any order.
            if number > 1 {
                found.reverse();
            }
            finders.spawn(async move { chunks.keep_facts(found).await.unwrap() });
        }
        finders.join_all().await;
        let count = "SELECT count(*) FROM facts";
        let facts: i64 = sql.query_one(count, &[]).await.unwrap().get(0);
        assert_eq!(facts, 3, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_is_indexed_while_its_room_goes_to_another_model_keeps_no_older_vector() {
    let two = Two::open().await;
    let chunks = &two.one.store.chunks;
    chunks.replace(&source("a"), &[chunk("a".to_owned())]).await.unwrap();
    let id = chunks.chunks_after(ChunkId(0), 9).await.unwrap()[0].id;
    chunks.keep_vectors("older", vec![(id, vec![1.0])]).await.unwrap();
    // What another gateway does when it gives the room away.
    let mut other = two.database.sql().await;
    let other = other.transaction().await.unwrap();
    let give_away = "SELECT FROM counters WHERE name = 'vectors' FOR UPDATE;
                     DELETE FROM vectors;
                     UPDATE marks SET value = 'newer' WHERE value = 'older'";
    other.batch_execute(give_away).await.unwrap();
    let writer = {
        let chunks = Arc::clone(chunks);
        tokio::spawn(async move {
            chunks.replace(&source("a"), &[chunk("a".to_owned())]).await.unwrap();
        })
    };
    let watcher = two.database.sql().await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watcher.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 1 {
        tokio::task::yield_now().await;
    }
    other.commit().await.unwrap();
    writer.await.unwrap();
    assert_eq!(chunks.vectors_after("newer", ChunkId(0), 9).await.unwrap(), []);
}
