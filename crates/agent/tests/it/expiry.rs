//! Passing sessions that nobody uses are deleted, whatever becomes of some of them meanwhile.

use std::time::Duration;

use onyx_storage::{SessionMarks, SessionMeta, SessionStatus, TitleSource};
use onyx_test_support::Op;
use onyx_types::{
    ErrorCode, IdGenerator, LaneOrder, SessionId, SessionKey, SessionOrigin, Timestamp,
};

use crate::leftovers::{Answer, Desk, key};
use crate::world::ana;

/// Puts this many old sessions of an API client into the ledger, the oldest first.
async fn put_old(desk: &Desk, count: i64) -> Vec<SessionKey> {
    let mut mint = IdGenerator::new(5);
    let mut keys = Vec::new();
    for at in (1..=count).map(Timestamp::from_millis) {
        let key = key(mint.session(at));
        let meta = SessionMeta {
            session_id: key.session,
            agent: key.agent.clone(),
            origin: SessionOrigin::Api,
            agents: vec![key.agent.clone()],
            mode: LaneOrder::default(),
            title: None,
            titled_by: TitleSource::default(),
            status: SessionStatus::Active,
            created_at: at,
            updated_at: at,
            message_count: 0,
            token_count: 0,
            preview: String::new(),
            root: key.session,
            fork_turn: None,
            last_run: None,
            last_run_status: None,
            marks: SessionMarks::default(),
        };
        desk.store.ledger.put_session(&ana(), &meta).await.unwrap();
        keys.push(key);
    }
    keys
}

async fn left(desk: &Desk, keys: &[SessionKey]) -> Vec<SessionId> {
    let mut left = Vec::new();
    for SessionKey { session, .. } in keys {
        let found = desk.store.ledger.session(&ana(), *session).await.unwrap();
        left.extend(found.map(|meta| meta.session_id));
    }
    left
}

#[tokio::test]
async fn a_session_that_is_busy_or_gone_meanwhile_does_not_keep_the_others() {
    let desk = Desk::new([]);
    let keys = put_old(&desk, 4).await;
    let (gone, busy) = (&keys[1], &keys[2]);
    let lease = desk.store.leases.acquire(busy, Duration::from_secs(3_600)).await.unwrap();

    desk.switch.set(Some((Op::Acquire, Answer::Waits)));
    let mut tidying = Box::pin(desk.agent.sessions.delete_expired());
    desk.reached(&mut tidying).await;
    // The sessions are listed, and the first one is about to be deleted.
    desk.store.ledger.delete_session(&ana(), gone.session).await.unwrap();
    desk.switch.set(None);

    assert_eq!(tidying.await.unwrap(), 2);
    assert_eq!(left(&desk, &keys).await, [busy.session]);
    desk.store.leases.release(&lease).await.unwrap();
    assert_eq!(desk.agent.sessions.delete_expired().await.unwrap(), 1);
    assert_eq!(left(&desk, &keys).await, []);
}

#[tokio::test]
async fn a_session_that_cannot_be_deleted_is_told_when_the_others_were_tried() {
    let desk = Desk::new([]);
    put_old(&desk, 3).await;
    desk.switch.set(Some((Op::DeleteLog, Answer::IsFull)));
    let failed = desk.agent.sessions.delete_expired().await.unwrap_err();
    assert_eq!((failed.code, desk.switch.refusals()), (ErrorCode::StorageFull, 3));
}
