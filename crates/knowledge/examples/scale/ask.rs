//! Measures how fast an existing index is opened and searched.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onyx_knowledge::{Index, SearchSettings, Weights};
use onyx_storage::{ChunkId, Store};

use crate::corpus::{Corpus, QUESTIONS};
use crate::table::{Row, at_least, at_most, shown};
use crate::vectors::Kept;
use crate::{
    BEST, anna, cpu_seconds, cpu_time, median, milliseconds, open, peer, resident_megabytes,
    search_for, seconds,
};

pub(crate) async fn measure(home: &Path, corpus: &Corpus) -> Vec<Row> {
    let questions: Vec<String> = corpus.texts().take(QUESTIONS).collect();
    let kept = Arc::new(Kept::for_questions(&questions, corpus));
    let mut rows = vec![look_again(home).await];

    let (began, before) = (Instant::now(), cpu_seconds());
    let (index, store) = open(home).await;
    index.set_embedder(Some(kept.clone()));
    assert!(!search(&index, &questions[0]).await.is_empty());
    rows.push(at_most("opening: files looked through, first answer", seconds(began), 1.0, "s"));
    rows.push(shown("opening: CPU", cpu_seconds() - before, "s"));

    let (ours, wall) = costs_of_searches(&index, &questions).await;
    rows.push(at_most("hybrid search, best 20: CPU, p50", milliseconds(ours), 5.0, "ms"));
    rows.push(shown("hybrid search, best 20: time, p50", milliseconds(wall), "ms"));
    rows.push(at_most("memory (resident)", resident_megabytes(), 120.0, "MB"));

    let exact = peer::all_vectors(&store).await;
    let found = recall(&index, &questions, &kept, &exact).await;
    rows.push(at_least("recall@20 against exact vectors", found, 0.98, ""));
    rows.extend(beside(home, &store, &questions, &kept, &exact, milliseconds(ours)).await);
    rows
}

/// Measures searches in an index with many more chunks.
pub(crate) async fn measure_large(home: &Path, corpus: &Corpus) -> Vec<Row> {
    let questions: Vec<String> = corpus.texts().take(QUESTIONS).collect();
    let (index, store) = open(home).await;
    index.set_embedder(Some(Arc::new(Kept::for_questions(&questions, corpus))));
    let (cpu, _) = costs_of_searches(&index, &questions).await;
    let chunks = store.chunks.counts(Some(&anna()), None).await.unwrap().chunks;
    let what = format!("{chunks} chunks: hybrid search, CPU, p50");
    vec![
        at_most(&what, milliseconds(cpu), 15.0, "ms"),
        shown(&format!("{chunks} chunks: memory (resident)"), resident_megabytes(), "MB"),
    ]
}

/// The median CPU time and the median duration of a search, after the first search has opened
/// everything.
pub(crate) async fn costs_of_searches(index: &Index, questions: &[String]) -> (Duration, Duration) {
    assert!(!search(index, &questions[0]).await.is_empty());
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for question in questions {
        let (began, before) = (Instant::now(), cpu_time());
        search(index, question).await;
        cpu.push(cpu_time() - before);
        wall.push(began.elapsed());
    }
    (median(cpu), median(wall))
}

/// Measures a look through unchanged files. A new index stands in for a new process, because only
/// the files are kept.
async fn look_again(home: &Path) -> Row {
    let (index, _store) = open(home).await;
    let began = Instant::now();
    let report = index.sync().await.unwrap();
    assert_eq!(report.indexed, 0);
    let what = format!("looking through {} unchanged files", report.checked);
    at_most(&what, seconds(began), 1.0, "s")
}

async fn search(index: &Index, text: &str) -> Vec<ChunkId> {
    let answer = index.search_said(&search_for(text)).await.unwrap();
    assert!(answer.degraded.is_none() && !answer.partial);
    answer.hits.into_iter().map(|hit| hit.chunk).collect()
}

async fn recall(
    index: &Index,
    questions: &[String],
    kept: &Kept,
    exact: &[(ChunkId, Vec<f32>)],
) -> f64 {
    let by_meaning = Weights { text: 0.0, vectors: 1.0 };
    index.set_search(SearchSettings { weights: Some(by_meaning), ..SearchSettings::default() });
    let mut found = 0;
    for question in questions {
        let hits = search(index, question).await;
        let wanted = peer::nearest(exact, &kept.of(question), BEST);
        found += wanted.iter().filter(|chunk| hits.contains(chunk)).count();
    }
    found as f64 / (questions.len() * BEST) as f64
}

async fn beside(
    home: &Path,
    store: &Store,
    questions: &[String],
    kept: &Kept,
    exact: &[(ChunkId, Vec<f32>)],
    ours: f64,
) -> Vec<Row> {
    let fts5 = peer::Fts5::make(&home.join("fts5.db"), store).await;
    let (mut words, mut both) = (Vec::new(), Vec::new());
    for question in questions {
        let before = cpu_time();
        fts5.ask(question, BEST);
        words.push(cpu_time() - before);
        peer::nearest(exact, &kept.of(question), BEST);
        both.push(cpu_time() - before);
    }
    let both = milliseconds(median(both));
    vec![
        shown("FTS5: indexing", fts5.chunks_a_second, "/s"),
        shown("FTS5, best 20: CPU, p50", milliseconds(median(words)), "ms"),
        shown("FTS5 and a scan of all vectors: CPU, p50", both, "ms"),
        shown("that is, times ours", both / ours, "x"),
        shown("memory of its vectors", (exact.len() * crate::corpus::DIMS * 4) as f64 / 1e6, "MB"),
    ]
}
