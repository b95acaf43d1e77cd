use onyx_storage::{LiveText, StoreError};
use onyx_types::{LaneId, TurnId};

use super::Backend;
use crate::support::{Maker, TTL};

fn piece(turn: TurnId, text: &str) -> LiveText {
    LiveText {
        turn,
        lane: LaneId(0),
        agent: "main".parse().unwrap(),
        model: "mine/model".into(),
        text: text.into(),
    }
}

pub(crate) async fn pieces_are_put_together_by_turn(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    assert_eq!(on.turns.live(&key).await.unwrap(), []);
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    on.turns.append(&lease, &make.users(["question"])).await.unwrap();
    let (one, two) = (make.user("").id, make.user("").id);
    let pieces = [piece(one, "Hel"), piece(two, "\"Gu"), piece(one, "lo\n"), piece(two, "ten\"")];
    on.turns.note_live(&lease, &pieces[..1]).await.unwrap();
    on.turns.note_live(&lease, &pieces[1..]).await.unwrap();
    let texts = [piece(one, "Hello\n"), piece(two, "\"Guten\"")];
    assert_eq!(on.turns.live(&key).await.unwrap(), texts);
    // The noted texts are not turns of the log yet.
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns.len(), 1);
}

pub(crate) async fn clearing_forgets_and_deleting_too(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    on.turns.clear_live(&lease).await.unwrap();
    on.turns.append(&lease, &make.users(["question"])).await.unwrap();
    let said = [piece(make.user("").id, "said")];
    on.turns.note_live(&lease, &said).await.unwrap();
    on.turns.clear_live(&lease).await.unwrap();
    assert_eq!(on.turns.live(&key).await.unwrap(), []);
    on.turns.note_live(&lease, &said).await.unwrap();
    on.turns.delete(&lease).await.unwrap();
    assert_eq!(on.turns.live(&key).await.unwrap(), []);
}

pub(crate) async fn a_lost_lease_notes_nothing(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    on.turns.append(&lease, &make.users(["question"])).await.unwrap();
    on.advance(TTL).await;
    let noted = on.turns.note_live(&lease, &[piece(make.user("").id, "late")]).await;
    assert!(matches!(noted, Err(StoreError::LeaseLost)));
    assert!(matches!(on.turns.clear_live(&lease).await, Err(StoreError::LeaseLost)));
    assert_eq!(on.turns.live(&key).await.unwrap(), []);
}
