//! Measures what one would use without this index: SQLite's FTS5, and a scan of all vectors.

use std::path::Path;
use std::time::Instant;

use onyx_storage::{ChunkId, Store};
use rusqlite::{Connection, params};

use crate::anna;

pub(crate) async fn all_vectors(store: &Store) -> Vec<(ChunkId, Vec<f32>)> {
    let model = store.chunks.served_vectors().await.unwrap().unwrap();
    let mut all: Vec<(ChunkId, Vec<f32>)> = Vec::new();
    loop {
        let after = all.last().map_or(ChunkId(0), |(chunk, _)| *chunk);
        let page = store.chunks.vectors_after(&model, after, 1_000).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page.into_iter().map(|stored| {
            let length = stored.vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            (stored.chunk, stored.vector.iter().map(|value| value / length).collect())
        }));
    }
}

pub(crate) fn nearest(all: &[(ChunkId, Vec<f32>)], query: &[f32], best: usize) -> Vec<ChunkId> {
    let mut scored: Vec<(f32, ChunkId)> =
        all.iter().map(|(chunk, vector)| (dot(vector, query), *chunk)).collect();
    scored.select_nth_unstable_by(best - 1, |a, b| b.0.total_cmp(&a.0));
    scored.truncate(best);
    scored.into_iter().map(|(_, chunk)| chunk).collect()
}

/// The dot product. It uses sixteen sums, so that the compiler can add them at the same time.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

pub(crate) struct Fts5 {
    connection: Connection,
    pub(crate) chunks_a_second: f64,
}

impl Fts5 {
    pub(crate) async fn make(path: &Path, store: &Store) -> Self {
        let mut texts = Vec::new();
        for source in store.chunks.sources(Some(&anna())).await.unwrap() {
            let chunks = store.chunks.chunks(&source.key).await.unwrap();
            texts.extend(chunks.into_iter().map(|chunk| chunk.text));
        }
        let connection = Connection::open(path).unwrap();
        let began = Instant::now();
        let table = "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')";
        connection.execute_batch(table).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        for text in &texts {
            connection.execute("INSERT INTO texts VALUES (?1)", [text]).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
        let chunks_a_second = texts.len() as f64 / began.elapsed().as_secs_f64();
        Self { connection, chunks_a_second }
    }

    pub(crate) fn ask(&self, question: &str, best: usize) {
        let word = |word: &str| format!("\"{}\"", word.replace('"', ""));
        let query = question.split(' ').map(word).collect::<Vec<_>>().join(" OR ");
        let mut statement = self
            .connection
            .prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rank LIMIT ?2")
            .unwrap();
        let rows =
            statement.query_map(params![query, best as i64], |row| row.get::<_, i64>(0)).unwrap();
        assert!(rows.count() > 0);
    }
}
