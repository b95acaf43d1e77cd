//! Tests of the beginning and the end of a run, each with its turns.

use onyx_storage::{
    BeginError, BeginIn, BeginRun, FinalWrite, Lease, LiveText, ModelUse, RunOutcome, StoreError,
};
use onyx_types::{LaneId, ModelId, RunStatus, SessionKey, SessionOrigin, Turn, Usage};

use super::Backend;
use crate::support::{Maker, TTL};

/// Creates a session with one run that ended well, and takes the lease for the next run.
async fn session(on: &Backend, make: &mut Maker) -> (SessionKey, Lease) {
    let key = make.key();
    let turn = make.user("first");
    let begin = begin(make, &key, &turn, BeginIn::New(SessionOrigin::Chat));
    on.ledger.begin_run(begin.clone()).await.unwrap();
    on.ledger.end_run(outcome(make, &begin, RunStatus::Done)).await.unwrap();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    (key, lease)
}

fn begin(make: &mut Maker, key: &SessionKey, input: &Turn, session: BeginIn) -> BeginRun {
    let started_at = make.tick();
    BeginRun { run: make.run(), key: key.clone(), input_turn: input.id, started_at, session }
}

fn outcome(make: &mut Maker, begin: &BeginRun, status: RunStatus) -> RunOutcome {
    let usage = Usage { input: 100, output: 20, cost: Some(0.25), ..Usage::default() };
    let model = ModelId::new("mine/m");
    let used = ModelUse { agent: begin.key.agent.clone(), model, usage };
    RunOutcome {
        run: begin.run,
        status,
        ended_at: make.tick(),
        usage,
        used: vec![used],
        messages_added: 2,
        preview: Some("the answer".into()),
        title: Some("A title".into()),
    }
}

fn last(turns: &[Turn], outcome: RunOutcome) -> FinalWrite<'_> {
    FinalWrite { turns, outcome, noted_live: true }
}

pub(crate) async fn a_run_begins_and_ends_with_its_turns(on: Backend) {
    let mut make = Maker::new();
    let (key, lease) = session(&on, &mut make).await;
    let question = make.users(["a question"]);
    let run = begin(&mut make, &key, &question[0], BeginIn::Existing);
    on.runs.begin(&lease, run.clone(), &question).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 9).await.unwrap().turns, question);
    let open = on.ledger.open_runs(&key).await.unwrap();
    assert_eq!(open.iter().map(|row| row.run).collect::<Vec<_>>(), [run.run]);
    let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    assert_eq!((meta.last_run, meta.last_run_status), (Some(run.run), None));
    let answer = make.users(["an answer", "its end"]);
    let live = LiveText {
        turn: answer[0].id,
        lane: LaneId(0),
        agent: key.agent.clone(),
        model: "m".into(),
        text: "an ans".into(),
    };
    on.turns.note_live(&lease, &[live]).await.unwrap();
    let outcome = outcome(&mut make, &run, RunStatus::Done);
    let ended_at = outcome.ended_at;
    let left = on.runs.end(&lease, last(&answer, outcome)).await.unwrap();
    let all: Vec<Turn> = question.into_iter().chain(answer).collect();
    assert_eq!(on.turns.tail(&key, None, 9).await.unwrap().turns, all);
    assert_eq!(on.turns.live(&key).await.unwrap(), []);
    assert!(on.ledger.open_runs(&key).await.unwrap().is_empty());
    let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    assert_eq!((meta.message_count, meta.token_count), (4, 240), "both of its runs");
    assert_eq!((meta.preview.as_str(), meta.title.as_deref()), ("the answer", Some("A title")));
    assert_eq!((meta.last_run_status, meta.updated_at), (Some(RunStatus::Done), ended_at));
    assert!(meta.marks.unread);
    let day = "2026-01-01";
    assert!((on.ledger.spent(&key.person, day).await.unwrap() - 0.5).abs() < 1e-9);
    // The session is free again, and the state of its log is the one that was returned.
    let next = on.leases.acquire(&key, TTL).await.unwrap();
    assert!(next.fence > lease.fence);
    if let Some(now) = on.turns.state_now(&key) {
        assert_eq!(left, Some(now));
    }
}

pub(crate) async fn a_run_that_may_not_begin_writes_nothing(on: Backend) {
    let mut make = Maker::new();
    let (key, lease) = session(&on, &mut make).await;
    let question = make.users(["a question"]);
    let run = begin(&mut make, &key, &question[0], BeginIn::Existing);
    on.runs.begin(&lease, run.clone(), &question).await.unwrap();
    let again = begin(&mut make, &key, &question[0], BeginIn::Existing);
    let refused = on.runs.begin(&lease, again, &make.users(["once more"])).await;
    let is_refused = matches!(refused, Err(BeginError::NotBegun(StoreError::AlreadyRun)));
    assert!(is_refused, "{refused:?}");
    assert_eq!(on.turns.tail(&key, None, 9).await.unwrap().turns, question);
    // The same holder continues.
    let ended = outcome(&mut make, &run, RunStatus::Done);
    on.runs.end(&lease, last(&make.users(["an answer"]), ended)).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 9).await.unwrap().turns.len(), 2);

    let nowhere = make.key();
    let lease = on.leases.acquire(&nowhere, TTL).await.unwrap();
    let lost = begin(&mut make, &nowhere, &question[0], BeginIn::Existing);
    let refused = on.runs.begin(&lease, lost.clone(), &question).await;
    let is_refused = matches!(refused, Err(BeginError::NotBegun(StoreError::NotFound)));
    assert!(is_refused, "{refused:?}");
    assert_eq!(on.ledger.run(&nowhere.person, lost.run).await.unwrap(), None);
    assert_eq!(on.ledger.session(&nowhere.person, nowhere.session).await.unwrap(), None);
    assert!(on.turns.tail(&nowhere, None, 9).await.unwrap().turns.is_empty());
    on.leases.release(&lease).await.unwrap();
    on.leases.acquire(&nowhere, TTL).await.unwrap();
}

pub(crate) async fn the_end_of_a_run_that_is_closed_already_changes_its_log_alone(on: Backend) {
    let mut make = Maker::new();
    let (key, lease) = session(&on, &mut make).await;
    let question = make.users(["a question"]);
    let run = begin(&mut make, &key, &question[0], BeginIn::Existing);
    on.runs.begin(&lease, run.clone(), &question).await.unwrap();
    on.ledger.end_run(outcome(&mut make, &run, RunStatus::Interrupted)).await.unwrap();
    let before = on.ledger.session(&key.person, key.session).await.unwrap();
    let late = outcome(&mut make, &run, RunStatus::Done);
    on.runs.end(&lease, last(&make.users(["an answer"]), late)).await.unwrap();
    assert_eq!(on.ledger.session(&key.person, key.session).await.unwrap(), before);
    assert_eq!(on.turns.tail(&key, None, 9).await.unwrap().turns.len(), 2);
    on.leases.acquire(&key, TTL).await.unwrap();
}

pub(crate) async fn a_lost_lease_ends_nothing(on: Backend) {
    let mut make = Maker::new();
    let (key, lease) = session(&on, &mut make).await;
    let question = make.users(["a question"]);
    let run = begin(&mut make, &key, &question[0], BeginIn::Existing);
    on.runs.begin(&lease, run.clone(), &question).await.unwrap();
    on.advance(TTL + on.slack()).await;
    let held = on.leases.acquire(&key, TTL).await.unwrap();
    let late = outcome(&mut make, &run, RunStatus::Done);
    let ended = on.runs.end(&lease, last(&make.users(["too late"]), late)).await;
    assert!(matches!(ended, Err(StoreError::LeaseLost)), "{ended:?}");
    assert_eq!(on.turns.tail(&key, None, 9).await.unwrap().turns, question);
    assert_eq!(on.ledger.open_runs(&key).await.unwrap().len(), 1);
    on.leases.renew(&held, TTL).await.unwrap();
}
