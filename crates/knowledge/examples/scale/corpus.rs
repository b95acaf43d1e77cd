//! Texts with the vocabulary of real ones, and their vectors. Both are made once on each machine,
//! from the documentation that cargo has unpacked here, which a server embeds with the real model.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess};
use onyx_types::Hash;
use serde_json::{Value, json};

use crate::prose::prose_in;

pub(crate) const DIMS: usize = 384;
/// The number of questions, which come first in the files of the corpus.
pub(crate) const QUESTIONS: usize = 200;
const TEXTS: usize = 100_000;
const BATCH: usize = 64;
const QUESTION_WORDS: usize = 9;

/// A folder with texts (`texts.jsonl`, one JSON string in each line) and vectors (`vectors.f32`,
/// one after the other, fewer than texts), both in the same order.
pub(crate) struct Corpus {
    folder: PathBuf,
}

impl Corpus {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let file = BufReader::new(File::open(self.folder.join("texts.jsonl")).unwrap());
        file.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
    }

    /// The vectors one after the other, so that a measurement that needs a few does not hold all of
    /// them in memory.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = Vec<f32>> {
        let mut file = BufReader::new(File::open(self.folder.join("vectors.f32")).unwrap());
        std::iter::from_fn(move || {
            let mut bytes = [0; DIMS * 4];
            file.read_exact(&mut bytes).ok()?;
            Some(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
        })
    }

    /// Makes the missing vectors, from where an interrupted run stopped.
    pub(crate) async fn complete(
        &self,
        onyx: &Path,
        weights: &Path,
        documentation: &Path,
        real: usize,
    ) {
        self.complete_texts(documentation);
        let texts: Vec<String> = self.texts().collect();
        let wanted = (QUESTIONS + real).min(texts.len());
        let size = fs::metadata(self.folder.join("vectors.f32")).map_or(0, |file| file.len());
        let done = size as usize / (DIMS * 4);
        if done >= wanted {
            return;
        }
        eprintln!("bench-index: {} vectors to make, once for this machine", wanted - done);
        let server = server_with(onyx, weights).await;
        let path = self.folder.join("vectors.f32");
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        file.set_len((done * DIMS * 4) as u64).unwrap();
        for batch in texts[done..wanted].chunks(BATCH) {
            let bytes = embed(&server, batch).await;
            file.write_all(&bytes).unwrap();
        }
    }

    /// Gathers the texts if that was not done before.
    pub(crate) fn complete_texts(&self, documentation: &Path) {
        fs::create_dir_all(&self.folder).unwrap();
        if !self.folder.join("texts.jsonl").exists() {
            self.gather(documentation);
        }
    }

    /// Gathers the texts. The hash of each text decides which are chosen, so the order of folders
    /// does not matter.
    fn gather(&self, documentation: &Path) {
        let mut texts = BTreeMap::new();
        prose_in(documentation, &mut |text| {
            texts.insert(*Hash::of(text.as_bytes()).as_bytes(), text);
        });
        let unfinished = self.folder.join("texts.unfinished");
        let mut file = BufWriter::new(File::create(&unfinished).unwrap());
        for (place, text) in texts.into_values().take(QUESTIONS + TEXTS).enumerate() {
            let text = if place < QUESTIONS { question(&text) } else { text };
            writeln!(file, "{}", Value::from(text)).unwrap();
        }
        file.into_inner().unwrap().sync_all().unwrap();
        fs::rename(unfinished, self.folder.join("texts.jsonl")).unwrap();
    }
}

/// A question that consists of some words from the middle of a text. The text itself is not
/// indexed.
fn question(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let from = words.len() / 3;
    words[from..].iter().take(QUESTION_WORDS).copied().collect::<Vec<_>>().join(" ")
}

/// Starts a server that embeds with these weights.
pub(crate) async fn server_with(onyx: &Path, weights: &Path) -> OnyxProcess {
    let config = json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": DEFAULT_TOKEN}},
    });
    let server = OnyxProcess::builder().binary(onyx).config(config).start().await;
    let models = server.home().join("models");
    fs::create_dir_all(&models).unwrap();
    std::os::unix::fs::symlink(weights.join("minilm"), models.join("minilm")).unwrap();
    server
}

async fn embed(server: &OnyxProcess, texts: &[String]) -> Vec<u8> {
    let body = json!({"model": "local/minilm", "input": texts});
    let answer = server.post("/v1/embeddings", &body).await;
    let rows = answer.json()["data"].as_array().cloned().unwrap_or_default();
    assert!(rows.len() == texts.len(), "no vectors: {}", answer.text());
    let numbers = rows.iter().flat_map(|row| row["embedding"].as_array().unwrap().iter());
    numbers.flat_map(|number| (number.as_f64().unwrap() as f32).to_le_bytes()).collect()
}
