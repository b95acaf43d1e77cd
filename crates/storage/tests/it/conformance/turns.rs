use std::time::Duration;

use onyx_storage::{Page, Pos, StoreError};
use onyx_types::{Turn, TurnBody, UnknownTurn};
use serde_json::{Map, Value, json};

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
    let first = on.turns.append(&lease, &turns[..2]).await.unwrap();
    let second = on.turns.append(&lease, &turns[2..]).await.unwrap();
    assert!(first < second);

    let newest = on.turns.tail(&key, None, 2).await.unwrap();
    assert_eq!(newest.turns, turns[3..]);
    assert!(newest.has_older);
    let older = on.turns.tail(&key, Some(newest.start), 10).await.unwrap();
    assert_eq!(older.turns, turns[..3]);
    assert!(!older.has_older);
    assert_eq!(older.damage, []);
    assert_eq!(on.turns.tail(&key, Some(first), 10).await.unwrap().turns, turns[..2]);
}

pub(crate) async fn pages_of_any_weight_cover_the_log_and_hold_a_turn_at_least(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    assert_eq!(on.turns.tail_within(&key, None, 1).await.unwrap(), Page::default());
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let turns: Vec<Turn> =
        (0..20).map(|n| make.user(&"x".repeat(if n % 7 == 3 { 200_000 } else { 31 }))).collect();
    on.turns.append(&lease, &turns).await.unwrap();
    for bytes in [1, 5_000, 300_000] {
        let mut collected = Vec::new();
        let mut before = None;
        loop {
            let page = on.turns.tail_within(&key, before, bytes).await.unwrap();
            let length = |turn: &Turn| serde_json::to_string(turn).unwrap().len() as u64;
            let beyond: u64 = page.turns.iter().skip(1).map(length).sum();
            assert!(!page.turns.is_empty() && beyond < bytes, "{beyond} of {bytes}");
            collected.splice(0..0, page.turns);
            before = Some(page.start);
            if !page.has_older {
                break;
            }
        }
        assert!(collected == turns, "pages of {bytes} bytes");
    }
}

pub(crate) async fn pages_of_any_size_cover_the_log_without_gap_or_repeat(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    // Some lines are longer than any block that a reader may load at once.
    let turns: Vec<Turn> = (0..40)
        .map(|n| make.user(&"x".repeat(if n % 7 == 3 { 200_000 } else { n * 31 })))
        .collect();
    on.turns.append(&lease, &turns).await.unwrap();
    for size in [1, 2, 3, 7, 39, 40, 41, 1000] {
        let mut collected = Vec::new();
        let mut before = None;
        loop {
            let page = on.turns.tail(&key, before, size).await.unwrap();
            assert!(page.turns.len() <= size);
            collected.splice(0..0, page.turns);
            before = Some(page.start);
            if !page.has_older {
                break;
            }
        }
        assert!(collected == turns, "pages of {size}");
    }
}

pub(crate) async fn unknown_types_and_fields_survive(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let mut extended = make.user("known type");
    extended.extra.insert("mood".into(), json!({"level": 3}));
    let turns = [extended, make.future_turn()];
    on.turns.append(&lease, &turns).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns, turns);
}

pub(crate) async fn a_field_named_like_the_checksum_does_not_confuse_the_log(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let clean = [make.user("known"), make.future_turn()];
    let mut marked = clean.clone();
    marked[0].extra.insert("crc".into(), json!("00000000"));
    if let TurnBody::Unknown(UnknownTurn { fields, .. }) = &mut marked[1].body {
        fields.insert("crc".into(), json!("00000000"));
    }
    on.turns.append(&lease, &marked).await.unwrap();
    let page = on.turns.tail(&key, None, 10).await.unwrap();
    assert_eq!(page.turns, clean);
    assert_eq!(page.damage, []);
}

pub(crate) async fn long_and_odd_texts_come_back_whole(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let long = "ä".repeat(1_000_000);
    let odd =
        ["", "\n", "\r\n", "\"}", "},\"crc\":\"12345678\"}", "\u{0}\u{1f}", "🦀\u{2028}", &long];
    let turns = make.users(odd);
    on.turns.append(&lease, &turns).await.unwrap();
    let page = on.turns.tail(&key, None, 100).await.unwrap();
    assert!(page.turns == turns);
    assert_eq!(page.damage, []);
}

pub(crate) async fn an_empty_batch_writes_nothing(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    assert_eq!(on.turns.append(&lease, &[]).await.unwrap(), Pos(0));
    assert_eq!(on.turns.sessions(&key.person).await.unwrap(), []);
    let end = on.turns.append(&lease, &[make.user("one")]).await.unwrap();
    assert_eq!(on.turns.append(&lease, &[]).await.unwrap(), end);
}

pub(crate) async fn a_turn_nested_too_deeply_is_refused_and_the_log_goes_on(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    // One turn is as deep as can be read back, and another is one level deeper.
    let nested = |depth| (0..depth).fold(Value::Null, |inner, _| json!([inner]));
    let mut deepest = make.user("deepest");
    deepest.extra = Map::from_iter([("deep".to_owned(), nested(126))]);
    let mut deeper = make.user("deeper");
    deeper.extra = Map::from_iter([("deep".to_owned(), nested(127))]);
    let batch = [make.user("with it"), deeper];
    assert!(matches!(on.turns.append(&lease, &batch).await, Err(StoreError::Refused(_))));
    on.turns.append(&lease, std::slice::from_ref(&deepest)).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns, [deepest]);
}

pub(crate) async fn a_lost_lease_cannot_append(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lost = on.leases.acquire(&key, TTL).await.unwrap();
    on.advance(TTL).await;
    let turns = make.users(["late", "in time"]);
    // The lease has expired, although no other holder has the session yet.
    assert!(matches!(on.turns.append(&lost, &turns[..1]).await, Err(StoreError::LeaseLost)));
    let held = on.leases.acquire(&key, TTL).await.unwrap();
    assert!(matches!(on.turns.append(&lost, &turns[..1]).await, Err(StoreError::LeaseLost)));
    assert!(matches!(on.turns.delete(&lost).await, Err(StoreError::LeaseLost)));
    on.turns.append(&held, &turns[1..]).await.unwrap();
    on.leases.release(&held).await.unwrap();
    assert!(matches!(on.turns.append(&held, &turns[..1]).await, Err(StoreError::LeaseLost)));
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns, turns[1..]);
}

pub(crate) async fn batches_of_concurrent_appends_stay_together(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..40 {
        let batch: Vec<Turn> = (0..3).map(|m| make.user(&format!("{n}/{m}"))).collect();
        let (turns, lease) = (on.turns.clone(), lease.clone());
        tasks.spawn(async move { turns.append(&lease, &batch).await.unwrap() });
    }
    let mut ends = tasks.join_all().await;
    ends.sort();
    ends.dedup();
    assert_eq!(ends.len(), 40, "each append has an end of its own");
    let page = on.turns.tail(&key, None, 1000).await.unwrap();
    assert_eq!((page.turns.len(), page.damage), (120, vec![]));
    for batch in page.turns.chunks(3) {
        let texts: Vec<String> = batch.iter().map(text_of).collect();
        let first = texts[0].strip_suffix("/0").expect("a batch begins here");
        assert_eq!(texts[1..], [format!("{first}/1"), format!("{first}/2")]);
    }
}

/// The old holder keeps writing while its lease expires and another holder takes over. None of its
/// writes may land after the new holder has the lease.
pub(crate) async fn a_new_holder_never_sees_a_late_write_of_the_old_one(on: Backend) {
    let mut make = Maker::new();
    for _ in 0..20 {
        let key = make.key();
        let old = on.leases.acquire(&key, Duration::from_secs(1)).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for turn in make.users(["old"; 12]) {
            let (turns, lease) = (on.turns.clone(), old.clone());
            tasks.spawn(async move { turns.append(&lease, &[turn]).await });
        }
        tokio::task::yield_now().await;
        on.advance(Duration::from_secs(2)).await;
        let new = loop {
            match on.leases.acquire(&key, TTL).await {
                Ok(lease) => break lease,
                // A write that began in time is still in progress.
                Err(StoreError::Busy) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        };
        let seen = on.turns.tail(&key, None, 100).await.unwrap().turns;
        on.turns.append(&new, &[make.user("new")]).await.unwrap();
        let acknowledged = tasks.join_all().await.into_iter().filter(Result::is_ok).count();
        assert_eq!(seen.len(), acknowledged);
        let after = on.turns.tail(&key, None, 100).await.unwrap().turns;
        assert_eq!((after.len(), text_of(after.last().unwrap())), (seen.len() + 1, "new".into()));
    }
}

pub(crate) async fn a_copy_goes_through_the_named_turn(on: Backend) {
    let mut make = Maker::new();
    let (from, to) = (make.key(), make.key());
    let mut turns = make.users(["one", "two", "three"]);
    turns.insert(1, make.future_turn());
    let lease = on.leases.acquire(&from, TTL).await.unwrap();
    on.turns.append(&lease, &turns).await.unwrap();
    let target = on.leases.acquire(&to, TTL).await.unwrap();
    let end = on.turns.copy_through(&from, turns[2].id, &target).await.unwrap();
    let page = on.turns.tail(&to, None, 10).await.unwrap();
    assert_eq!((&page.turns[..], &page.damage[..]), (&turns[..3], &[][..]));
    // The copy is a log like any other, and the original is unchanged.
    let more = make.user("more");
    assert!(on.turns.append(&target, std::slice::from_ref(&more)).await.unwrap() > end);
    assert_eq!(on.turns.tail(&to, None, 1).await.unwrap().turns, [more]);
    assert_eq!(on.turns.tail(&from, None, 10).await.unwrap().turns, turns);
}

pub(crate) async fn a_copy_needs_a_known_turn_and_an_empty_log(on: Backend) {
    let mut make = Maker::new();
    let (from, to) = (make.key(), make.key());
    let turns = make.users(["one", "two"]);
    let lease = on.leases.acquire(&from, TTL).await.unwrap();
    let target = on.leases.acquire(&to, TTL).await.unwrap();
    let copied = on.turns.copy_through(&from, turns[0].id, &target).await;
    assert!(matches!(copied, Err(StoreError::NotFound)), "no such log");
    on.turns.append(&lease, &turns[..1]).await.unwrap();
    let copied = on.turns.copy_through(&from, turns[1].id, &target).await;
    assert!(matches!(copied, Err(StoreError::NotFound)), "no such turn");
    assert_eq!(on.turns.tail(&to, None, 10).await.unwrap().turns, []);
    on.turns.append(&target, &turns[1..]).await.unwrap();
    let copied = on.turns.copy_through(&from, turns[0].id, &target).await;
    assert!(matches!(copied, Err(StoreError::Conflict)), "not empty");
    assert_eq!(on.turns.tail(&to, None, 10).await.unwrap().turns, turns[1..]);
}

pub(crate) async fn a_deleted_log_is_gone(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    on.turns.delete(&lease).await.unwrap();
    on.turns.append(&lease, &make.users(["one"])).await.unwrap();
    on.turns.delete(&lease).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns, []);
    assert_eq!(on.turns.sessions(&key.person).await.unwrap(), []);
    let again = make.users(["again"]);
    on.turns.append(&lease, &again).await.unwrap();
    assert_eq!(on.turns.tail(&key, None, 10).await.unwrap().turns, again);
}

pub(crate) async fn sessions_are_listed_by_person(on: Backend) {
    let mut make = Maker::new();
    let mut keys = vec![make.key(), make.key(), make.key()];
    keys[1].agent = "other".parse().unwrap();
    let foreign = onyx_types::SessionKey { person: "bert".parse().unwrap(), ..make.key() };
    for key in keys.iter().chain([&foreign]) {
        let lease = on.leases.acquire(key, TTL).await.unwrap();
        on.turns.append(&lease, &make.users(["hello"])).await.unwrap();
    }
    keys.sort();
    assert_eq!(on.turns.sessions(&keys[0].person).await.unwrap(), keys);
    assert_eq!(on.turns.sessions(&foreign.person).await.unwrap(), [foreign]);
}

fn text_of(turn: &Turn) -> String {
    match &turn.body {
        TurnBody::User(user) => user.content.text(),
        other => panic!("not a user turn: {other:?}"),
    }
}
