//! Measures conversations with token vectors: how fast messages are indexed, how much disk and
//! memory they take, and what a search among them costs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_test_support::OnyxProcess;
use onyx_types::{
    Embedded, Embedder, EmbedderIdentity, Hash, IdGenerator, ModelFailure, Timestamp, TokenVectors,
};

use crate::ask::costs_of_searches;
use crate::corpus::{Corpus, DIMS, QUESTIONS, server_with};
use crate::logs::log_of;
use crate::table::{Row, at_least, at_most, shown};
use crate::{anna, milliseconds, open, resident_megabytes, seconds};

/// Messages have about thirty words, and sessions twenty messages, as conversations of people do.
const WORDS: usize = 30;
const A_SESSION: usize = 20;
/// How many messages are embedded by the real model.
const BY_THE_MODEL: usize = 2_000;
const PATIENCE: Duration = Duration::from_secs(900);

/// The kind of vectors that searches use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    OfTokens,
    OfWholeTexts,
}

/// Indexes conversations with token vectors, and measures what that takes.
pub(crate) async fn make(home: &Path, corpus: &Corpus, messages: usize) -> Vec<Row> {
    write_logs(&home.join("people/anna/sessions/main"), corpus, messages);
    let (index, store) = open(home).await;
    let rebuild = onyx_storage::rebuild_person;
    rebuild(&*store.turns, &*store.ledger, &*store.files, &anna()).await.unwrap();
    let before = bytes_in(home);
    index.set_embedder(Some(Arc::new(OfWords::new(Vectors::OfTokens, &[]))));
    let began = Instant::now();
    index.rebuild().await.unwrap();
    index.catch_up().await.unwrap();
    let took = seconds(began);
    let made = store.chunks.counts(Some(&anna()), None).await.unwrap().chunks;
    assert!(made >= messages as u64, "{made} chunks of {messages} messages");
    let kilobytes = (bytes_in(home) - before) as f64 / 1e3 / messages as f64;
    vec![
        shown(
            &format!("{messages} messages: taken in, vectors of tokens there"),
            made as f64 / took,
            "/s",
        ),
        at_most("disk for a message, vectors of tokens among it", kilobytes, 15.0, "kB"),
    ]
}

/// Searches what `make` has indexed, with vectors of whole texts and then with token vectors.
pub(crate) async fn ask(home: &Path, corpus: &Corpus) -> Vec<Row> {
    let questions: Vec<String> = corpus.texts().take(QUESTIONS).collect();
    let (index, _store) = open(home).await;
    index.set_embedder(Some(Arc::new(OfWords::new(Vectors::OfWholeTexts, &questions))));
    let (whole, _) = costs_of_searches(&index, &questions).await;
    let before = resident_megabytes();
    index.set_embedder(Some(Arc::new(OfWords::new(Vectors::OfTokens, &questions))));
    let (cpu, _) = costs_of_searches(&index, &questions).await;
    let more = resident_megabytes() - before;
    vec![
        shown("search among messages by whole texts: CPU, p50", milliseconds(whole), "ms"),
        shown("search among messages by whole texts: memory", before, "MB"),
        at_most("search among messages by tokens: CPU, p50", milliseconds(cpu), 5.0, "ms"),
        at_most("search among messages by tokens: memory more", more, 60.0, "MB"),
    ]
}

/// Measures indexing through the server, with the embedded model.
pub(crate) async fn by_the_model(onyx: &Path, weights: &Path, corpus: &Corpus) -> Vec<Row> {
    let mut server = server_with(onyx, weights).await;
    server.terminate().await;
    write_logs(&server.home().join("people/owner/sessions/main"), corpus, BY_THE_MODEL);
    server.restart().await;
    let began = Instant::now();
    let _ = server.post("/api/admin/reindex", &serde_json::json!({})).await.expect(200);
    until_whole(&server).await;
    let rate = BY_THE_MODEL as f64 / seconds(began);
    vec![at_least("messages a second with the model's vectors of tokens", rate, 40.0, "/s")]
}

async fn until_whole(server: &OnyxProcess) {
    let began = Instant::now();
    loop {
        let status = server.get("/v1/memory/status").await.expect(200).json();
        let chunks = status["chunks"].as_u64().unwrap_or(0);
        if status["complete"] == true
            && chunks >= BY_THE_MODEL as u64
            && status["vectors"] == status["chunks"]
        {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "the index is not whole: {status}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn write_logs(folder: &Path, corpus: &Corpus, messages: usize) {
    fs::create_dir_all(folder).unwrap();
    let texts: Vec<String> = corpus.texts().skip(QUESTIONS).collect();
    let mut mint = IdGenerator::new(7);
    for first in (0..messages).step_by(A_SESSION) {
        let at = Timestamp::from_millis(1_700_000_000_000 + first as i64 * 60_000);
        let (session, run) = (mint.session(at), mint.run(at));
        let numbers = first..(first + A_SESSION).min(messages);
        let log = log_of(&mut mint, at, run, numbers.map(|number| message(&texts, number)));
        fs::write(folder.join(format!("{session}.jsonl")), log).unwrap();
    }
}

/// A message of thirty words of a text. If there are too few texts, other words of the same text
/// are used.
fn message(texts: &[String], number: usize) -> String {
    let words: Vec<&str> = texts[number % texts.len()].split_whitespace().collect();
    let from = (number / texts.len() * WORDS) % words.len().max(1);
    words
        .iter()
        .cycle()
        .skip(from)
        .take(WORDS.min(words.len()))
        .copied()
        .collect::<Vec<_>>()
        .join(" ")
}

fn bytes_in(folder: &Path) -> u64 {
    let entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let of = |path: PathBuf| match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => bytes_in(&path),
        Ok(meta) => meta.len(),
        // The file was deleted meanwhile.
        Err(_) => 0,
    };
    entries.into_iter().map(of).sum()
}

/// An embedder that gives each piece of a word a direction, which is the same wherever the piece
/// occurs. The vector of a text is the sum of its pieces.
pub(crate) struct OfWords {
    vectors: Vectors,
    /// The vectors of the questions, which are made in advance so that the cost of a search does
    /// not include them.
    known: HashMap<String, Embedded>,
}

/// How many letters a piece has. The embedded model cuts these questions into 12.8 tokens and these
/// messages into 44.6; pieces of six letters give 13.3 and 45.1.
const PIECE: usize = 6;

impl OfWords {
    pub(crate) fn new(vectors: Vectors, questions: &[String]) -> Self {
        let known = questions.iter().map(|question| (question.clone(), embedded(question)));
        Self { vectors, known: known.collect() }
    }

    fn of(&self, text: &str) -> Embedded {
        self.known.get(text).cloned().unwrap_or_else(|| embedded(text))
    }
}

fn embedded(text: &str) -> Embedded {
    let mut tokens = TokenVectors::default();
    let mut sum = vec![0.0_f32; DIMS];
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        let letters: Vec<char> = word.to_lowercase().chars().collect();
        for piece in letters.chunks(PIECE) {
            let piece: String = piece.iter().collect();
            let direction = direction(&piece);
            for (sum, value) in sum.iter_mut().zip(&direction) {
                *sum += f32::from(*value);
            }
            tokens.words.push(word.to_lowercase());
            tokens.values.extend(direction);
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(1.0);
    let vector = sum.iter().map(|value| value / length).collect();
    Embedded { vector, tokens: Some(tokens) }
}

fn direction(piece: &str) -> Vec<i8> {
    let blocks = (0..DIMS.div_ceil(32))
        .map(|block| *Hash::of(format!("{block} {piece}").as_bytes()).as_bytes());
    blocks.flatten().take(DIMS).map(|byte| byte as i8).collect()
}

impl Embedder for OfWords {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity { provider: "bench".into(), model: "words".into(), dims: DIMS }
    }

    fn gives_tokens(&self) -> bool {
        self.vectors == Vectors::OfTokens
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move { Ok(texts.iter().map(|text| self.of(text).vector).collect()) }.boxed()
    }

    fn embed_tokens(
        &self,
        texts: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Embedded>, ModelFailure>> {
        let embedded = |text: &String| {
            let Embedded { vector, tokens } = self.of(text);
            Embedded { vector, tokens: tokens.filter(|_| self.gives_tokens()) }
        };
        let embedded = texts.iter().map(embedded).collect();
        async move { Ok(embedded) }.boxed()
    }
}
