use std::time::Duration;

use onyx_storage::{ShortLivedEntry, ShortLivedKind, ShortLivedRoom, StoreError};
use onyx_types::{Hash, PersonId};
use tokio::task::JoinSet;

use super::Backend;

const KIND: ShortLivedKind = ShortLivedKind::Response;
const ROOM: ShortLivedRoom = ShortLivedRoom::of_entries(8);
const LIFE: Duration = Duration::from_secs(600);

fn anna() -> PersonId {
    "anna".parse().unwrap()
}

fn entry(name: &str, value: &str) -> ShortLivedEntry {
    ShortLivedEntry::of(&anna(), name, value.to_owned(), LIFE)
}

fn key(name: &str) -> Hash {
    ShortLivedEntry::key_of(&anna(), name)
}

async fn value(on: &Backend, kind: ShortLivedKind, key: Hash) -> Option<String> {
    on.short_lived.get(kind, key).await.unwrap().map(|entry| entry.value)
}

/// The names that are still there.
async fn left(on: &Backend, names: &[&str]) -> Vec<String> {
    let mut left = Vec::new();
    for name in names {
        left.extend(value(on, KIND, key(name)).await.map(|_| (*name).to_owned()));
    }
    left
}

pub(crate) async fn what_was_put_is_read_until_it_ends(on: Backend) {
    let odd = "line\nÆ \u{1f426} \"quoted\" \\u0000";
    on.short_lived.put(KIND, entry("a", odd), ROOM).await.unwrap();
    let found = on.short_lived.get(KIND, key("a")).await.unwrap().unwrap();
    assert_eq!((found.value.as_str(), found.key, found.person), (odd, key("a"), Some(anna())));
    assert!(found.left <= LIFE && found.left > LIFE - on.slack(), "{:?}", found.left);
    on.short_lived.put(KIND, entry("a", "newer"), ROOM).await.unwrap();
    assert_eq!(value(&on, KIND, key("a")).await.as_deref(), Some("newer"));
    assert_eq!(value(&on, KIND, key("b")).await, None);
    on.advance(LIFE - on.slack()).await;
    assert_eq!(value(&on, KIND, key("a")).await.as_deref(), Some("newer"));
    on.advance(on.slack()).await;
    assert_eq!(value(&on, KIND, key("a")).await, None);
    assert_eq!(on.short_lived.take(KIND, key("a")).await.unwrap(), None);
}

pub(crate) async fn of_many_who_take_an_entry_one_gets_it(on: Backend) {
    on.short_lived.put(KIND, entry("code", "v"), ROOM).await.unwrap();
    let mut takes = JoinSet::new();
    for _ in 0..8 {
        let kept = on.short_lived.clone();
        takes.spawn(async move { kept.take(KIND, key("code")).await.unwrap() });
    }
    let taken: Vec<String> = takes.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken, ["v"]);
    assert_eq!(value(&on, KIND, key("code")).await, None);
}

pub(crate) async fn of_many_who_put_a_new_entry_one_does_and_the_others_get_its_value(on: Backend) {
    let mut puts = JoinSet::new();
    for n in 0..8 {
        let kept = on.short_lived.clone();
        puts.spawn(async move {
            let there = kept.put_new(KIND, entry("once", &n.to_string()), ROOM).await.unwrap();
            (n.to_string(), there)
        });
    }
    let (lost, won): (Vec<_>, Vec<_>) =
        puts.join_all().await.into_iter().partition(|(_, there)| there.is_some());
    assert_eq!(won.len(), 1, "{won:?}");
    let stored = &won[0].0;
    assert!(lost.iter().all(|(_, there)| there.as_ref() == Some(stored)), "{stored}: {lost:?}");
    assert_eq!(value(&on, KIND, key("once")).await.as_ref(), Some(stored));
}

pub(crate) async fn an_entry_that_has_ended_makes_room_for_a_new_one(on: Backend) {
    on.short_lived.put(KIND, entry("a", "old"), ROOM).await.unwrap();
    on.advance(LIFE + on.slack()).await;
    let there = on.short_lived.put_new(KIND, entry("a", "new"), ROOM).await.unwrap();
    assert_eq!(there, None);
    assert_eq!(value(&on, KIND, key("a")).await.as_deref(), Some("new"));
}

pub(crate) async fn a_value_is_replaced_where_it_is_still_the_same(on: Backend) {
    on.short_lived.put(KIND, entry("a", "one"), ROOM).await.unwrap();
    let before = on.short_lived.get(KIND, key("a")).await.unwrap().unwrap();
    let mut writes = JoinSet::new();
    for n in 0..4 {
        let (kept, before) = (on.short_lived.clone(), before.clone());
        writes.spawn(async move {
            let value = format!("by {n}");
            let is_done = kept.replace(KIND, &before, value.clone()).await.unwrap();
            is_done.then_some(value)
        });
    }
    let written: Vec<String> = writes.join_all().await.into_iter().flatten().collect();
    let after = on.short_lived.get(KIND, key("a")).await.unwrap().unwrap();
    assert_eq!(written, [after.value.as_str()]);
    assert!(after.left <= LIFE, "a new value lasts no longer");
    on.short_lived.take(KIND, key("a")).await.unwrap();
    assert!(!on.short_lived.replace(KIND, &after, "late".to_owned()).await.unwrap());
    assert_eq!(value(&on, KIND, key("a")).await, None);
}

pub(crate) async fn the_oldest_entries_of_a_person_make_room_by_number_and_by_size(on: Backend) {
    let room = ShortLivedRoom { entries: 3, bytes: 100 };
    for name in ["a", "b", "c", "d"] {
        on.short_lived.put(KIND, entry(name, name), room).await.unwrap();
    }
    assert_eq!(left(&on, &["a", "b", "c", "d"]).await, ["b", "c", "d"]);
    // An entry that is written again is a new one.
    on.short_lived.put(KIND, entry("b", "again"), room).await.unwrap();
    assert_eq!(on.short_lived.put_new(KIND, entry("e", "e"), room).await.unwrap(), None);
    assert_eq!(left(&on, &["b", "c", "d", "e"]).await, ["b", "d", "e"]);
    on.short_lived.put(KIND, entry("f", &"x".repeat(98)), room).await.unwrap();
    assert_eq!(left(&on, &["b", "d", "e", "f"]).await, ["e", "f"]);
    // What is not stored needs no room.
    let there = on.short_lived.put_new(KIND, entry("e", "longer"), room).await.unwrap();
    assert_eq!(there.as_deref(), Some("e"));
    assert_eq!(left(&on, &["e", "f"]).await, ["e", "f"]);
    let refused = on.short_lived.put(KIND, entry("g", &"x".repeat(101)), room).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(left(&on, &["e", "f", "g"]).await, ["e", "f"]);
}

pub(crate) async fn many_who_put_at_once_keep_to_the_room(on: Backend) {
    let room = ShortLivedRoom { entries: 5, bytes: 1_000 };
    let mut puts = JoinSet::new();
    for n in 0..6 {
        let kept = on.short_lived.clone();
        puts.spawn(async move {
            for round in 0..40 {
                // Each begins elsewhere in the same names.
                let name = ((n * 7 + round * 11) % 30).to_string();
                let entry = entry(&name, &"x".repeat(round * 9));
                if round % 3 == 0 {
                    kept.put_new(KIND, entry, room).await.unwrap();
                } else {
                    kept.put(KIND, entry, room).await.unwrap();
                }
            }
        });
    }
    puts.join_all().await;
    on.short_lived.put(KIND, entry("last", "x"), room).await.unwrap();
    let kept = on.short_lived.list(KIND, Some(&anna())).await.unwrap();
    let bytes: usize = kept.iter().map(|entry| entry.value.len()).sum();
    assert!(kept.len() <= 5 && bytes <= 1_000, "{} of {bytes}", kept.len());
    assert_eq!(kept.last().unwrap().value, "x", "the newest stays");
}

pub(crate) async fn kinds_and_people_are_apart(on: Backend) {
    let room = ShortLivedRoom::of_entries(1);
    let bert: PersonId = "bert".parse().unwrap();
    let berts = ShortLivedEntry::of(&bert, "a", "bert's".to_owned(), LIFE);
    let (other, berts_key) = (ShortLivedKind::Conversation, berts.key);
    let nobodys = ShortLivedEntry::of_nobody(Hash::of(b"a"), "nobody's".to_owned(), LIFE);
    for (kind, entry) in
        [(KIND, entry("a", "anna's")), (KIND, berts), (KIND, nobodys), (other, entry("a", "other"))]
    {
        on.short_lived.put(kind, entry, room).await.unwrap();
    }
    assert_eq!(value(&on, KIND, key("a")).await.as_deref(), Some("anna's"));
    assert_eq!(value(&on, KIND, berts_key).await.as_deref(), Some("bert's"));
    assert_eq!(value(&on, other, key("a")).await.as_deref(), Some("other"));
    let room = ShortLivedRoom::of_entries(2);
    on.short_lived.put(KIND, entry("b", "anna's second"), room).await.unwrap();
    let listed = async |person: Option<PersonId>| {
        let listed = on.short_lived.list(KIND, person.as_ref()).await.unwrap();
        listed.into_iter().map(|entry| entry.value).collect::<Vec<_>>()
    };
    assert_eq!(listed(Some(anna())).await, ["anna's", "anna's second"]);
    assert_eq!(listed(Some(bert)).await, ["bert's"]);
    assert_eq!(listed(None).await, ["nobody's"]);
    assert_eq!(on.short_lived.take(KIND, key("a")).await.unwrap().as_deref(), Some("anna's"));
    assert_eq!(value(&on, KIND, berts_key).await.as_deref(), Some("bert's"));
}
