//! Tests of the sequence of changes to sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_storage::{BeginIn, BeginRun, RunOutcome, SessionChange, TitleSource};
use onyx_types::{RunId, RunStatus, SessionId, SessionKey, SessionOrigin, Timestamp, Usage};

use super::Backend;
use crate::support::Maker;

fn begin(make: &mut Maker, key: &SessionKey) -> BeginRun {
    BeginRun {
        run: make.run(),
        key: key.clone(),
        input_turn: make.user("x").id,
        started_at: Timestamp::from_millis(5),
        session: BeginIn::New(SessionOrigin::Chat),
    }
}

fn end(run: RunId) -> RunOutcome {
    RunOutcome {
        run,
        status: RunStatus::Done,
        ended_at: Timestamp::from_millis(9),
        usage: Usage::default(),
        used: Vec::new(),
        messages_added: 2,
        preview: None,
        title: None,
    }
}

pub(crate) async fn a_session_moves_when_a_run_ends_or_its_row_changes_and_not_when_a_run_begins(
    on: Backend,
) {
    let ledger = &on.ledger;
    let mut make = Maker::new();
    let (one, two) = (make.key(), make.key());
    let moved = async |after: u64| -> Vec<(u64, SessionId)> {
        let moved = ledger.moved_sessions(after, 9).await.unwrap();
        moved.into_iter().map(|moved| (moved.seq, moved.session)).collect()
    };
    let (first, second) = (begin(&mut make, &one), begin(&mut make, &two));
    for begin in [&first, &second] {
        ledger.begin_run(begin.clone()).await.unwrap();
    }
    assert_eq!(moved(0).await, [], "nothing is said in them yet");
    ledger.end_run(end(second.run)).await.unwrap();
    let start = ledger.session_sequence().await.unwrap().unwrap();
    assert_eq!(moved(0).await, [(start.last, two.session)]);

    ledger.end_run(end(first.run)).await.unwrap();
    let ended = moved(start.last).await;
    assert_eq!(ended.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [one.session]);
    ledger.begin_run(begin(&mut make, &one)).await.unwrap();
    assert_eq!(moved(ended[0].0).await, [], "more will be said in it");

    let title = Some(("Name".to_owned(), TitleSource::Person));
    let change = SessionChange { title, ..SessionChange::default() };
    ledger.change_session(&two.person, two.session, &change).await.unwrap();
    ledger.delete_session(&one.person, one.session).await.unwrap();
    let last = moved(ended[0].0).await;
    assert_eq!(last.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [two.session, one.session]);
    assert_eq!(ledger.session_sequence().await.unwrap().unwrap().epoch, start.epoch);
}

/// Followers read while others write. A change that was read is not returned again under a lower
/// number, and no change is missed.
pub(crate) async fn changes_at_once_are_all_told_and_each_number_once(on: Backend) {
    let mut make = Maker::new();
    let mut writers = tokio::task::JoinSet::new();
    let mut expected = BTreeSet::new();
    for _ in 0..40 {
        let key = make.key();
        expected.insert(key.session);
        let begin = begin(&mut make, &key);
        let end = end(begin.run);
        on.ledger.begin_run(begin).await.unwrap();
        let ledger = Arc::clone(&on.ledger);
        writers.spawn(async move { ledger.end_run(end).await.unwrap() });
    }
    let (mut after, mut seen, mut numbers) = (0, BTreeSet::new(), Vec::new());
    loop {
        let is_over = writers.is_empty();
        for moved in on.ledger.moved_sessions(after, 7).await.unwrap() {
            assert!(moved.seq > after, "{} after {after}", moved.seq);
            after = moved.seq;
            numbers.push(moved.seq);
            seen.insert(moved.session);
        }
        if is_over && on.ledger.session_sequence().await.unwrap().unwrap().last == after {
            break;
        }
        while writers.try_join_next().is_some() {}
        tokio::task::yield_now().await;
    }
    assert_eq!((seen, numbers.len()), (expected, 40));
}
