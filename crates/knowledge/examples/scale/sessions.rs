//! Measures conversations that are indexed for the first time, and that the next process finds
//! unchanged.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use onyx_types::{IdGenerator, Timestamp};

use crate::logs::log_of;
use crate::messages::{OfWords, Vectors};
use crate::table::{Row, at_most, shown};
use crate::{anna, cpu_seconds, open, resident_megabytes, seconds};

const MESSAGES: usize = 4;
/// The numbers of conversations. One is twice another, to show how the costs grow.
const SIZES: [usize; 4] = [1_000, 10_000, 20_000, 100_000];

pub(crate) async fn measure(home: &Path, most: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut anew = Vec::new();
    for count in SIZES.into_iter().filter(|count| *count <= most) {
        let home = home.join(count.to_string());
        write_logs(&home, count);
        let (index, store) = open(&home).await;
        let began = std::time::Instant::now();
        let before = cpu_seconds();
        let rebuilt =
            onyx_storage::rebuild_person(&*store.turns, &*store.ledger, &*store.files, &anna())
                .await
                .unwrap();
        assert_eq!(rebuilt.sessions, count as u64);
        index.rebuild().await.unwrap();
        anew.push((count, cpu_seconds() - before));
        rows.push(shown(&format!("{count} sessions: reindex, CPU"), cpu_seconds() - before, "s"));
        rows.push(shown(&format!("{count} sessions: reindex, time"), seconds(began), "s"));
        drop((index, store));
        let (index, store) = open(&home).await;
        let before = cpu_seconds();
        index.sync().await.unwrap();
        let again = cpu_seconds() - before;
        let what = format!("{count} unchanged sessions: a start, CPU");
        rows.push(at_most(&what, again, 0.1, "s"));
        drop((index, store));
        rows.push(start_with_an_embedder(&home, count).await);
    }
    let of = |wanted: usize| anew.iter().find(|(count, _)| *count == wanted).map(|(_, cpu)| *cpu);
    if let (Some(half), Some(whole)) = (of(10_000), of(20_000)) {
        rows.push(at_most(
            "reindex of 20,000 sessions, times that of 10,000",
            whole / half,
            2.2,
            "x",
        ));
    }
    rows.push(shown("memory (resident)", resident_megabytes(), "MB"));
    rows
}

/// Measures the start of a process after an earlier one has made all vectors.
async fn start_with_an_embedder(home: &Path, count: usize) -> Row {
    let embedder = || Some(Arc::new(OfWords::new(Vectors::OfTokens, &[])) as _);
    let (index, store) = open(home).await;
    index.set_embedder(embedder());
    index.catch_up().await.unwrap();
    drop((index, store));
    let (index, _store) = open(home).await;
    index.set_embedder(embedder());
    let before = cpu_seconds();
    index.sync().await.unwrap();
    index.catch_up().await.unwrap();
    let what = format!("{count} unchanged sessions: a start with an embedder, CPU");
    at_most(&what, cpu_seconds() - before, 0.1, "s")
}

fn write_logs(home: &Path, count: usize) {
    let folder = home.join("people/anna/sessions/main");
    fs::create_dir_all(&folder).unwrap();
    let mut mint = IdGenerator::new(7);
    for number in 0..count {
        let at = Timestamp::from_millis(1_700_000_000_000 + number as i64 * 60_000);
        let (session, run) = (mint.session(at), mint.run(at));
        let text =
            |message| format!("message {message} of {number} about thing{} and more", number % 997);
        let log = log_of(&mut mint, at, run, (0..MESSAGES).map(text));
        fs::write(folder.join(format!("{session}.jsonl")), log).unwrap();
    }
}
