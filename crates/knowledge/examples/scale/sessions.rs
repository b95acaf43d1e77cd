//! Measures conversations that are indexed for the first time, and that the next process finds
//! unchanged. Some of them are threads, each of which is a group of its own.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use onyx_knowledge::Index;
use onyx_storage::{GroupId, Store};
use onyx_types::{IdGenerator, SessionOrigin, Timestamp};

use crate::logs::log_of;
use crate::messages::{OfWords, Vectors};
use crate::table::{Row, at_most, shown};
use crate::{anna, cpu_seconds, open, resident_megabytes, seconds};

const MESSAGES: usize = 4;
/// The numbers of conversations. One is twice another, to show how the costs grow.
const SIZES: [usize; 4] = [1_000, 10_000, 20_000, 100_000];
/// The numbers of conversations that show how the costs grow when each is a thread.
const THREADS: [usize; 2] = [10_000, 20_000];

pub(crate) async fn measure(home: &Path, most: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut anew = Vec::new();
    for count in SIZES.into_iter().filter(|count| *count <= most) {
        let home = home.join(count.to_string());
        write_logs(&home, count, SessionOrigin::Chat);
        let (index, store) = open(&home).await;
        let began = std::time::Instant::now();
        let cpu = reindex(&index, &store, count).await;
        anew.push((count, cpu));
        rows.push(shown(&format!("{count} sessions: reindex, CPU"), cpu, "s"));
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
    if THREADS.into_iter().all(|count| count <= most) {
        rows.extend(measure_threads(home).await);
    }
    rows
}

/// Measures how the cost of indexing grows with the number of groups.
async fn measure_threads(home: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut costs = Vec::new();
    for count in THREADS {
        let home = home.join(format!("threads-{count}"));
        write_logs(&home, count, SessionOrigin::Thread);
        let (index, store) = open(&home).await;
        let cpu = reindex(&index, &store, count).await;
        let groups = store.chunks.groups_after(GroupId::default()).await.unwrap();
        assert_eq!(groups.len(), count, "each thread is a group");
        rows.push(shown(&format!("{count} threads: reindex, CPU"), cpu, "s"));
        costs.push(cpu);
    }
    let what = "reindex of 20,000 threads, times that of 10,000";
    rows.push(at_most(what, costs[1] / costs[0], 2.2, "x"));
    rows
}

/// Indexes all conversations for the first time, and returns the CPU seconds that this took.
async fn reindex(index: &Index, store: &Store, count: usize) -> f64 {
    let before = cpu_seconds();
    let rebuild = onyx_storage::rebuild_person;
    let rebuilt = rebuild(&*store.turns, &*store.ledger, &*store.files, &anna()).await.unwrap();
    assert_eq!(rebuilt.sessions, count as u64);
    index.rebuild().await.unwrap();
    cpu_seconds() - before
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

fn write_logs(home: &Path, count: usize, origin: SessionOrigin) {
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
        // The log of a chat says all that is known of it.
        if origin != SessionOrigin::Chat {
            let details = serde_json::json!({
                "origin": origin, "status": "active", "root": session, "created_at": at,
            });
            fs::write(folder.join(format!("{session}.json")), details.to_string()).unwrap();
        }
    }
}
