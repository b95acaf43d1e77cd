//! Tests that the intact lines of a log are read and that it can be appended to, whatever happened
//! to it.

use std::fs;
use std::sync::{Mutex, PoisonError};

use onyx_types::Turn;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::support::{Maker, TempStore};

#[derive(Clone, Debug)]
enum LogDamage {
    Flip(Index, u8),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    Repeat(Index, usize),
}

fn mishap() -> impl Strategy<Value = LogDamage> {
    let bytes = vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'}'), Just(b'"')], 1..40);
    prop_oneof![
        (any::<Index>(), 1..=255_u8).prop_map(|(at, bits)| LogDamage::Flip(at, bits)),
        (any::<Index>(), 1..400_usize).prop_map(|(at, length)| LogDamage::Remove(at, length)),
        (any::<Index>(), bytes).prop_map(|(at, bytes)| LogDamage::Insert(at, bytes)),
        (any::<Index>(), 1..400_usize).prop_map(|(at, length)| LogDamage::Repeat(at, length)),
    ]
}

fn suffer(log: &mut Vec<u8>, mishap: &LogDamage) {
    if log.is_empty() {
        return;
    }
    let range = |at: &Index, length: usize| {
        let start = at.index(log.len());
        start..(start + length).min(log.len())
    };
    match mishap {
        LogDamage::Flip(at, bits) => {
            let at = at.index(log.len());
            log[at] ^= bits;
        }
        LogDamage::Remove(at, length) => drop(log.drain(range(at, *length))),
        LogDamage::Insert(at, bytes) => {
            let at = at.index(log.len() + 1);
            log.splice(at..at, bytes.iter().copied());
        }
        LogDamage::Repeat(at, length) => log.extend_from_within(range(at, *length)),
    }
}

/// Returns the turns of the lines that are byte for byte as they were written.
fn intact(log: &[u8], lines: &[&[u8]], turns: &[Turn]) -> Vec<Turn> {
    let found = log.split(|byte| *byte == b'\n');
    found
        .filter_map(|line| lines.iter().position(|own| *own == line))
        .map(|n| turns[n].clone())
        .collect()
}

fn contains_in_order(all: &[Turn], some: &[Turn]) -> bool {
    let mut all = all.iter();
    some.iter().all(|wanted| all.any(|turn| turn == wanted))
}

#[test]
fn intact_lines_survive_any_mishap() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let temp = runtime.block_on(TempStore::unsynced());
    let make = Mutex::new(Maker::new());
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() };
    let result = TestRunner::new(config).run(&vec(mishap(), 1..5), |mishaps| {
        runtime.block_on(survive(
            &temp,
            &mut make.lock().unwrap_or_else(PoisonError::into_inner),
            &mishaps,
        ));
        Ok(())
    });
    result.unwrap();
}

async fn survive(temp: &TempStore, make: &mut Maker, mishaps: &[LogDamage]) {
    let key = make.key();
    let lease = temp.lease(&key).await;
    let mut turns = make.users(["one", "two", "three \"ü\"", "four"]);
    turns.push(make.future_turn());
    temp.store.turns.append(&lease, &turns).await.unwrap();
    let path = temp.log_path(&key);
    let whole = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.trim_ascii_end().split(|byte| *byte == b'\n').collect();
    let mut log = whole.clone();
    mishaps.iter().for_each(|mishap| suffer(&mut log, mishap));
    fs::write(&path, &log).unwrap();

    let kept = intact(&log, &lines, &turns);
    let page = temp.store.turns.tail(&key, None, 1000).await.unwrap();
    assert!(contains_in_order(&page.turns, &kept), "{page:#?}");
    assert!(page.turns.iter().all(|turn| !turn.extra.contains_key("crc")));

    let next = make.user("next");
    temp.store.turns.append(&lease, std::slice::from_ref(&next)).await.unwrap();
    let after = temp.store.turns.tail(&key, None, 1000).await.unwrap();
    assert_eq!(after.turns.last(), Some(&next));
    assert_eq!(after.turns.len(), page.turns.len() + 1);
}
