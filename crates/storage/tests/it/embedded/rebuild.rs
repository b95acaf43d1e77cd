use std::fs;

use onyx_storage::{
    BeginIn, BeginRun, RunOutcome, SessionFilter, SessionMarks, SessionMeta, SessionStatus,
    TitleSource, find_session, forget_details, keep_details, rebuild_person,
};
use onyx_types::{
    AssistantText, LaneOrder, RunEnd, RunStart, RunStatus, SessionKey, SessionOrigin, TextStatus,
    TurnBody, Usage,
};

use crate::support::{Maker, TempStore};

const QUESTION: &str = "What  is\nthe answer?";

fn usage() -> Usage {
    Usage { input: 10, output: 5, ..Usage::default() }
}

/// Makes one run as the agent records it: in the log, and in the ledger.
async fn run_once(temp: &TempStore, make: &mut Maker, key: &SessionKey) {
    let (run, lease) = (make.run(), temp.lease(key).await);
    let answer = |text: &str, status| {
        TurnBody::AssistantText(AssistantText {
            content: text.into(),
            status,
            model: "mine/model".into(),
            provider_data: None,
        })
    };
    let end =
        RunEnd { status: RunStatus::Done, usage: usage(), cost: None, model: None, error: None };
    let mut turns = vec![
        make.turn(TurnBody::RunStart(RunStart::default())),
        make.user(QUESTION),
        make.turn(answer("not counted", TextStatus::Cancelled)),
        make.turn(answer(&"42 ".repeat(100), TextStatus::Complete)),
        make.turn(TurnBody::RunEnd(end)),
    ];
    turns.iter_mut().for_each(|turn| turn.run = Some(run));
    let begin = BeginRun {
        run,
        key: key.clone(),
        input_turn: turns[1].id,
        started_at: turns[0].ts,
        session: BeginIn::New(SessionOrigin::Chat),
    };
    temp.store.ledger.begin_run(begin).await.unwrap();
    temp.store.turns.append(&lease, &turns).await.unwrap();
    let outcome = RunOutcome {
        run,
        status: RunStatus::Done,
        ended_at: turns[4].ts,
        usage: usage(),
        used: Vec::new(),
        messages_added: 2,
        preview: Some(onyx_storage::preview_of(&"42 ".repeat(100))),
        title: onyx_storage::title_of(QUESTION),
    };
    temp.store.ledger.end_run(outcome).await.unwrap();
    temp.store.leases.release(&lease).await.unwrap();
}

async fn metas(temp: &TempStore) -> Vec<SessionMeta> {
    let anna = "anna".parse().unwrap();
    temp.store.ledger.sessions(&anna, &SessionFilter::default()).await.unwrap()
}

#[tokio::test]
async fn a_lost_database_is_made_again_from_the_logs() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let keys = [make.key(), make.key()];
    for key in [&keys[0], &keys[1], &keys[0]] {
        run_once(&temp, &mut make, key).await;
    }
    let before = metas(&temp).await;
    assert_eq!(before[0].message_count, 4);
    assert_eq!(before[0].preview.chars().count(), 100);
    let home = temp.home();
    let TempStore { store, clock, folder } = temp;
    drop(store);
    for file in ["onyx.db", "onyx.db-wal", "onyx.db-shm"] {
        fs::remove_file(home.join(file)).ok();
    }
    let home = onyx_storage::Home::open(&home).unwrap();
    let store = onyx_storage::Store::open_embedded(home, clock.clone()).await.unwrap();
    let temp = TempStore { store, clock, folder };
    // What was read is recorded in the database alone, so without it everything counts as read.
    assert!(before.iter().all(|session| session.marks.unread));
    let read = |session: SessionMeta| SessionMeta { marks: SessionMarks::default(), ..session };
    let before: Vec<SessionMeta> = before.into_iter().map(read).collect();
    assert_eq!(metas(&temp).await, before);
}

#[tokio::test]
async fn rebuilding_keeps_what_the_log_does_not_say() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    run_once(&temp, &mut make, &key).await;
    let row = temp.store.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    let edited = SessionMeta {
        title: Some("Mine".into()),
        titled_by: TitleSource::Person,
        status: SessionStatus::Archived,
        origin: SessionOrigin::Job,
        fork_turn: Some(make.user("x").id),
        root: make.key().session,
        ..row
    };
    let wrong = SessionMeta { message_count: 99, preview: "wrong".into(), ..edited.clone() };
    temp.store.ledger.put_session(&key.person, &wrong).await.unwrap();
    temp.store.rebuild_sessions().await.unwrap();
    assert_eq!(metas(&temp).await, [edited]);
}

#[tokio::test]
async fn what_stands_beside_the_log_survives_the_loss_of_the_database() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let (key, plain) = (make.key(), make.key());
    run_once(&temp, &mut make, &key).await;
    run_once(&temp, &mut make, &plain).await;
    let row = temp.store.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    let named = SessionMeta {
        title: Some("Mine".into()),
        titled_by: TitleSource::Person,
        status: SessionStatus::Archived,
        origin: SessionOrigin::Job,
        agents: vec!["ada".parse().unwrap(), "bob".parse().unwrap()],
        mode: LaneOrder::Parallel,
        fork_turn: Some(make.user("x").id),
        root: make.key().session,
        marks: SessionMarks::default(),
        ..row
    };
    keep_details(&*temp.store.files, &key, &named).await.unwrap();
    temp.store.ledger.delete_session(&key.person, key.session).await.unwrap();
    temp.store.rebuild_sessions().await.unwrap();
    let found = temp.store.ledger.session(&key.person, key.session).await.unwrap();
    assert_eq!(found, Some(named));

    let beside = temp.log_path(&plain).with_extension("json");
    fs::write(&beside, "no settings").unwrap();
    let (turns, ledger) = (&*temp.store.turns, &*temp.store.ledger);
    let rebuilt = rebuild_person(turns, ledger, &*temp.store.files, &key.person).await.unwrap();
    assert_eq!((rebuilt.sessions, rebuilt.damaged), (2, 1), "told, and the rest is read");
    forget_details(&*temp.store.files, &plain).await.unwrap();
    forget_details(&*temp.store.files, &plain).await.unwrap();
    assert!(!beside.exists());
}

#[tokio::test]
async fn a_damaged_log_is_counted_and_its_rest_is_read() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    run_once(&temp, &mut make, &key).await;
    let path = temp.log_path(&key);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("damaged\n{text}")).unwrap();
    let (turns, ledger) = (&*temp.store.turns, &*temp.store.ledger);
    let rebuilt = rebuild_person(turns, ledger, &*temp.store.files, &key.person).await.unwrap();
    assert_eq!((rebuilt.sessions, rebuilt.damaged), (1, 1));
    assert_eq!(metas(&temp).await[0].message_count, 2);
}

#[tokio::test]
async fn a_session_is_found_by_its_row_or_by_its_log() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let (with_row, with_log, neither) = (make.key(), make.key(), make.key());
    run_once(&temp, &mut make, &with_row).await;
    let lease = temp.lease(&with_log).await;
    temp.store.turns.append(&lease, &make.users(["hello"])).await.unwrap();
    let (turns, ledger) = (&*temp.store.turns, &*temp.store.ledger);
    for (key, found) in [(&with_row, true), (&with_log, true), (&neither, false)] {
        let at = find_session(turns, ledger, &key.person, key.session).await.unwrap();
        assert_eq!(at.as_ref(), found.then_some(key));
    }
    let foreign = find_session(turns, ledger, &"bert".parse().unwrap(), with_row.session).await;
    assert_eq!(foreign.unwrap(), None);
}
