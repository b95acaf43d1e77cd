//! The index at a size: how fast it is made, opened and searched, how much memory it takes, and how
//! much its vector search finds of what an exact one does; beside it SQLite's FTS5 with a scan of
//! all vectors. `make bench-index`, or `scale [chunks]`.
//!
//! The words follow the distribution of real text (Zipf), the vectors are those of topics: made up,
//! unless `local` gives real ones. So recall here says that nothing is lost by the codes, not how
//! good the meaning is: `make judge` tells that.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a command-line tool that reports by printing"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_knowledge::{Chunking, Index, IndexSettings, Search, SearchSettings, Weights};
use onyx_storage::{ChunkId, Home, Store};
use onyx_types::{
    Clock, Embedder, EmbedderIdentity, Hash, ModelFailure, PersonId, Scope, ScopeSet, SystemClock,
};
use rusqlite::{Connection, params};

const DIMS: usize = 384;
const WORDS: usize = 40_000;
const TOPICS: u64 = 400;
const CHUNKS_A_FILE: usize = 10;
const QUERIES: u64 = 100;

#[tokio::main]
async fn main() {
    let chunks: usize = std::env::args().nth(1).map_or(100_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), chunks / CHUNKS_A_FILE);
    println!("{:<52} {:>14}  target", "measured", "");

    let (index, store) = open(folder.path()).await;
    let began = Instant::now();
    let report = index.sync().await.unwrap();
    let took = began.elapsed();
    let anna: PersonId = "anna".parse().unwrap();
    let made = store.chunks.counts(Some(&anna)).await.unwrap().chunks;
    row("chunks in files", made as f64, "", "");
    row("files", report.checked as f64, "", "");
    row("indexing without vectors", made as f64 / took.as_secs_f64(), "/s", ">= 2000 /s");
    index.set_embedder(Some(Arc::new(Topics)));
    index.catch_up().await.unwrap();
    drop((index, store));
    tokio::time::sleep(Duration::from_millis(200)).await;

    let (index, store) = open(folder.path()).await;
    index.set_embedder(Some(Arc::new(Topics)));
    let began = Instant::now();
    index.sync().await.unwrap();
    row("looking through unchanged files", seconds(began), "s", "<= 1 s for 10k");
    let began = Instant::now();
    search(&index, "warm up").await;
    row("opening: text and vectors, first answer", seconds(began), "s", "<= 1 s");
    let mut hybrid = Vec::new();
    for number in 0..QUERIES {
        let cpu = cpu_time();
        search(&index, &query(number)).await;
        hybrid.push(cpu_time() - cpu);
    }
    let hybrid = median(hybrid);
    row("hybrid search, best 20: CPU p50", milliseconds(hybrid), "ms", "<= 5 ms");
    row("memory (resident)", resident_megabytes(), "MB", "<= 120 MB");

    let exact = all_vectors(&store).await;
    let by_meaning = Weights { text: 0.0, vectors: 1.0 };
    index.set_search(SearchSettings { weights: by_meaning, ..SearchSettings::default() });
    let mut found = 0;
    for number in 0..QUERIES {
        let wanted = nearest(&exact, &vector(&query(number)));
        let hits = search(&index, &query(number)).await;
        found += wanted.iter().filter(|chunk| hits.contains(chunk)).count();
    }
    row("recall@20 against exact", found as f64 / (QUERIES * 20) as f64, "", ">= 0.98");

    let fts = fts5(folder.path(), &store).await;
    let mut brute = Vec::new();
    for number in 0..QUERIES {
        let cpu = cpu_time();
        ask_fts5(&fts, &query(number));
        nearest(&exact, &vector(&query(number)));
        brute.push(cpu_time() - cpu);
    }
    let brute = median(brute);
    row("FTS5 and a scan of all vectors: CPU p50", milliseconds(brute), "ms", "");
    row("that is, times ours", brute.as_secs_f64() / hybrid.as_secs_f64(), "x", "");
}

fn row(what: &str, value: f64, unit: &str, target: &str) {
    println!("{what:<52} {value:>10.2} {unit:<3}  {target}");
}

async fn open(folder: &Path) -> (Index, Store) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let home = Home::open(folder).unwrap();
    let store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
    let settings = IndexSettings { home: folder.to_owned(), chunking: Chunking::default() };
    (Index::new(store.clone(), clock, settings), store)
}

async fn search(index: &Index, text: &str) -> Vec<ChunkId> {
    let scopes = ScopeSet::new("anna".parse().unwrap(), vec![Scope::Person, Scope::Shared]);
    let search = Search { text: text.to_owned(), scopes, kinds: Vec::new(), limit: 20 };
    index.search(&search).await.unwrap().hits.into_iter().map(|hit| hit.chunk).collect()
}

/// Sections of about 180 words, each on a topic of its own.
fn write_files(folder: &Path, files: usize) {
    let vault = folder.join("people/anna/vault");
    let past = SystemTime::now() - Duration::from_secs(3_600);
    let mut random = Random(7);
    for file in 0..files {
        let mut text = String::new();
        for section in 0..CHUNKS_A_FILE {
            let topic = random.next() % TOPICS;
            text.push_str(&format!("# Section {file} {section}\n\n"));
            for place in 0..180 {
                let about = random.next().is_multiple_of(6);
                let word = if about { topic_word(topic, random.next()) } else { random.word() };
                text.push_str(&format!("{word}{}", if place % 14 == 13 { ".\n" } else { " " }));
            }
            text.push('\n');
        }
        let path = vault.join(format!("{}/{file}.md", file % 100));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
    }
}

/// Eight words: some of one topic, some of any.
fn query(number: u64) -> String {
    let mut random = Random(1_000 + number);
    let topic = random.next() % TOPICS;
    let words: Vec<String> = (0..8)
        .map(|place| if place < 4 { topic_word(topic, random.next()) } else { random.word() })
        .collect();
    words.join(" ")
}

fn topic_word(topic: u64, pick: u64) -> String {
    format!("t{topic}w{}", pick % 12)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// By rank as in real text: the n-th word comes about 1/n times as often as the first.
    fn word(&mut self) -> String {
        let part = self.next() as f64 / (1_u64 << 31) as f64;
        let rank = (WORDS as f64).powf(part) as usize;
        format!("w{rank}")
    }
}

/// Vectors by topic: what words of a topic have in common, and something of their own.
struct Topics;

impl Embedder for Topics {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity { provider: "bench".into(), model: "topics".into(), dims: DIMS }
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move { Ok(texts.iter().map(|text| vector(text)).collect()) }.boxed()
    }
}

fn vector(text: &str) -> Vec<f32> {
    let topic = text.split_whitespace().find_map(|word| word.strip_prefix('t')?.split_once('w'));
    let topic = topic.and_then(|(topic, _)| topic.parse().ok()).unwrap_or(TOPICS);
    let mut common = Random(topic * 77 + 1);
    let seed = Hash::of(text.as_bytes());
    let mut own = Random(u64::from_le_bytes(seed.as_bytes()[..8].try_into().unwrap()));
    let number = |random: &mut Random| random.next() as f32 / (1_u64 << 30) as f32 - 1.0;
    (0..DIMS).map(|_| 0.8 * number(&mut common) + number(&mut own)).collect()
}

async fn all_vectors(store: &Store) -> Vec<(ChunkId, Vec<f32>)> {
    let mut all: Vec<(ChunkId, Vec<f32>)> = Vec::new();
    loop {
        let after = all.last().map_or(ChunkId(0), |(chunk, _)| *chunk);
        let page = store.chunks.vectors_after(after, 1_000).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page.into_iter().map(|stored| {
            let length = stored.vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            (stored.chunk, stored.vector.iter().map(|value| value / length).collect())
        }));
    }
}

fn nearest(all: &[(ChunkId, Vec<f32>)], query: &[f32]) -> Vec<ChunkId> {
    let dot = |vector: &[f32]| vector.iter().zip(query).map(|(a, b)| a * b).sum::<f32>();
    let mut scored: Vec<(f32, ChunkId)> =
        all.iter().map(|(chunk, vector)| (dot(vector), *chunk)).collect();
    scored.select_nth_unstable_by(19, |a, b| b.0.total_cmp(&a.0));
    scored.truncate(20);
    scored.into_iter().map(|(_, chunk)| chunk).collect()
}

async fn fts5(folder: &Path, store: &Store) -> Connection {
    let connection = Connection::open(folder.join("fts5.db")).unwrap();
    connection.execute_batch("CREATE VIRTUAL TABLE texts USING fts5(text)").unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let anna: PersonId = "anna".parse().unwrap();
    for source in store.chunks.sources(Some(&anna)).await.unwrap() {
        for chunk in store.chunks.chunks(&source.key).await.unwrap() {
            connection.execute("INSERT INTO texts VALUES (?1)", [chunk.text]).unwrap();
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
}

fn ask_fts5(connection: &Connection, query: &str) {
    let query = query.split(' ').collect::<Vec<_>>().join(" OR ");
    let mut statement = connection
        .prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rank LIMIT ?2")
        .unwrap();
    let rows = statement.query_map(params![query, 20], |row| row.get::<_, i64>(0)).unwrap();
    assert!(rows.count() > 0);
}

fn seconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Of this process, all threads.
fn cpu_time() -> Duration {
    let schedule = fs::read_to_string("/proc/self/schedstat");
    let own = schedule.ok().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0);
    let tasks = fs::read_dir("/proc/self/task").map(|tasks| {
        let of_task = |task: std::io::Result<fs::DirEntry>| {
            let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        tasks.filter_map(of_task).sum::<u64>()
    });
    Duration::from_nanos(tasks.unwrap_or(own))
}

fn resident_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages * 4_096.0 / 1e6
}
