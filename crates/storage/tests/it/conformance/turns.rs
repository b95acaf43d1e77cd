use onyx_storage::{Page, Pos};

use super::Backend;
use crate::support::{Maker, TTL};

pub(crate) async fn a_session_without_a_log_has_an_empty_page(on: Backend) {
    let key = Maker::new().key();
    let page = on.turns.tail(&key, None, 10).await.unwrap();
    let empty = Page { turns: vec![], start: Pos(0), has_older: false, damage: vec![] };
    assert_eq!(page, empty);
}

pub(crate) async fn what_was_appended_comes_back_in_order(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let turns = make.users(["one", "two", "three", "four", "five"]);
    on.turns.append(&lease, &turns[..2]).await.unwrap();
    on.turns.append(&lease, &turns[2..]).await.unwrap();

    let newest = on.turns.tail(&key, None, 2).await.unwrap();
    assert_eq!(newest.turns, turns[3..]);
    assert!(newest.has_older);
    let older = on.turns.tail(&key, Some(newest.start), 10).await.unwrap();
    assert_eq!(older.turns, turns[..3]);
    assert!(!older.has_older);
    assert_eq!(older.damage, []);
}

pub(crate) async fn unknown_types_and_fields_survive(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let mut extended = make.user("known type");
    extended.extra.insert("mood".into(), serde_json::json!({"level": 3}));
    let turns = [extended, make.from_the_future()];
    on.turns.append(&lease, &turns).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns, turns);
}
