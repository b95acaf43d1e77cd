use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use onyx_local::{DIMS, MINILM};
use onyx_test_support::wait_until;
use onyx_types::{Embedder, EmbedderIdentity, ModelFailureClass};
use serde_json::Value;

use crate::support::{OwnWorker, PATIENCE, embedder, minilm_folder, telling_embedder};

const LONG: Duration = Duration::from_secs(600);

struct Reference {
    text: String,
    tokens: usize,
    vector: Vec<f32>,
}

/// The reference vectors of the f32 model, made by `fixtures/reference.py`.
fn references() -> Vec<Reference> {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../fixtures/minilm.json")).unwrap();
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    rows.iter()
        .map(|row| Reference {
            text: row["text"].as_str().unwrap().to_owned(),
            tokens: row["tokens"].as_u64().unwrap() as usize,
            vector: STANDARD
                .decode(row["vector"].as_str().unwrap())
                .unwrap()
                .chunks_exact(4)
                .map(number)
                .collect(),
        })
        .collect()
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn vectors_are_those_of_the_full_model() {
    let (embedder, references) = (embedder(&minilm_folder(), LONG), references());
    let texts: Vec<String> = references.iter().map(|known| known.text.clone()).collect();

    let vectors = embedder.embed(texts.clone()).await.unwrap();
    let counts = embedder.count_tokens(&texts).await.unwrap();

    let expected =
        EmbedderIdentity { provider: "local".to_owned(), model: MINILM.to_owned(), dims: DIMS };
    assert_eq!(embedder.identity(), expected);
    for ((known, vector), count) in references.iter().zip(&vectors).zip(counts) {
        let close = cosine(&known.vector, vector);
        // In long repetitive texts the rounding of int8 adds up.
        let floor = if known.tokens <= 128 { 0.999 } else { 0.998 };
        assert!(close >= floor, "{close} for {:?}", known.text);
        assert_eq!(vector.len(), DIMS);
        // The reference also counts the two marks around each text.
        assert_eq!(count + 2, known.tokens, "{:?}", known.text);
        assert_eq!(embedder.tokens_in(&known.text), Some(count));
    }
}

#[test]
fn tokens_are_not_told_without_the_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(embedder(folder.path(), LONG).tokens_in("words"), None);
}

#[tokio::test]
async fn a_text_longer_than_the_window_is_cut_and_a_hopeless_one_refused() {
    let embedder = embedder(&minilm_folder(), LONG);
    let long = "A sentence about rain. ".repeat(500);
    let longer = format!("{long}{long}");

    let vectors = embedder.embed(vec![long, longer]).await.unwrap();

    assert_eq!(vectors[0], vectors[1]);
    for hopeless in [String::new(), "x".repeat(300 * 1024)] {
        let failure = embedder.embed(vec![hopeless]).await.unwrap_err();
        assert_eq!(failure.class, ModelFailureClass::InvalidRequest, "{failure}");
    }
}

#[tokio::test]
async fn the_process_starts_at_first_use_gets_no_environment_and_ends_when_idle() {
    let worker = OwnWorker::new();
    let embedder = worker.embedder(&minilm_folder(), Duration::from_millis(50));
    assert_eq!(worker.processes(), [] as [u32; 0]);

    let first = embedder.embed(vec!["hello".to_owned()]).await.unwrap();
    let processes = worker.processes();
    let environment = processes.first().map(|process| fs::read(format!("/proc/{process}/environ")));
    if let Some(Ok(environment)) = environment {
        assert_eq!(environment, b"");
    }
    wait_until("the process to end", PATIENCE, || worker.processes().is_empty()).await;

    assert_eq!(embedder.embed(vec!["hello".to_owned()]).await.unwrap(), first);
}

#[tokio::test]
async fn the_end_of_each_process_is_told() {
    static ENDS: AtomicUsize = AtomicUsize::new(0);
    let ended = || _ = ENDS.fetch_add(1, Ordering::SeqCst);
    let embedder = telling_embedder(&minilm_folder(), Duration::from_millis(50), ended);
    for end in 1..=2 {
        embedder.embed(vec!["hello".to_owned()]).await.unwrap();
        wait_until("its end", PATIENCE, || ENDS.load(Ordering::SeqCst) == end).await;
    }
}

#[tokio::test]
async fn a_process_that_dies_fails_what_it_was_at_and_the_next_one_answers() {
    let worker = OwnWorker::new();
    let embedder = worker.embedder(&minilm_folder(), LONG);
    let first = embedder.embed(vec!["hello".to_owned()]).await.unwrap();
    let process = worker.processes()[0];
    let texts = vec!["a text that takes a while ".repeat(80); 400];
    let long = embedder.embed(texts);

    let killing = async {
        let status = std::process::Command::new("kill").args(["-9", &process.to_string()]).status();
        assert!(status.unwrap().success());
    };
    let (failure, ()) = tokio::join!(long, killing);

    let failure = failure.unwrap_err();
    assert_eq!(failure.class, ModelFailureClass::Unavailable);
    assert!(failure.message.contains("ended by signal 9"), "{failure}");
    assert_eq!(embedder.embed(vec!["hello".to_owned()]).await.unwrap(), first);
}

#[tokio::test]
async fn a_search_does_not_wait_behind_an_index() {
    let embedder = embedder(&minilm_folder(), LONG);
    let done = std::cell::Cell::new(0);
    let index = async {
        embedder.embed(vec!["a chunk of a document ".repeat(20); 100]).await.unwrap();
        done.set(done.get() + 1);
    };
    let search = async {
        embedder.embed(vec!["a question".to_owned()]).await.unwrap();
        assert_eq!(done.get(), 0, "the index was done first");
    };

    tokio::join!(index, search);
}

#[tokio::test]
async fn damaged_weights_are_named_and_a_foreign_library_is_not_run() {
    let damage = |file: &str, bytes: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(minilm_folder()).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        fs::write(folder.path().join(file), bytes).unwrap();
        folder
    };
    for (file, bytes, why) in [
        ("libonnxruntime", b"\x7fELF" as &[u8], "not the library that was installed"),
        ("model.onnx", b"not a model", "model.onnx cannot be used"),
        ("tokenizer.json", b"{}", "tokenizer.json cannot be used"),
    ] {
        let folder = damage(file, bytes);
        let failure =
            embedder(folder.path(), LONG).embed(vec!["hello".to_owned()]).await.unwrap_err();

        assert_eq!(failure.class, ModelFailureClass::InvalidRequest);
        assert!(failure.message.contains(why), "{failure}");
        assert!(failure.message.contains("onyx models pull minilm"), "{failure}");
    }
}
