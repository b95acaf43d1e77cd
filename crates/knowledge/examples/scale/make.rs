//! Measures how fast an index is made: files are written as another program would write them, and
//! then read and cut.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::corpus::{Corpus, QUESTIONS};
use crate::table::{Row, at_least, shown};
use crate::vectors::{Kept, heading};
use crate::{anna, cpu_seconds, open, peak_megabytes, search_for, seconds};

const TEXTS_A_FILE: usize = 10;
const WORDS_A_LINE: usize = 14;

pub(crate) async fn measure(home: &Path, corpus: &Corpus, chunks: usize) -> Vec<Row> {
    let texts: Vec<String> = corpus.texts().skip(QUESTIONS).collect();
    write_files(home, &texts, chunks);
    let distinct = texts.len().min(chunks);
    drop(texts);
    let (index, store) = open(home).await;
    let (began, before) = (Instant::now(), cpu_seconds());
    let report = index.sync().await.unwrap();
    let (took, cpu) = (seconds(began), cpu_seconds() - before);
    let peak = peak_megabytes();
    let made = store.chunks.counts(Some(&anna()), None).await.unwrap().chunks as f64;
    let kept = Kept::for_texts(corpus);
    let real = kept.real();
    index.set_embedder(Some(Arc::new(kept)));
    let began = Instant::now();
    index.catch_up().await.unwrap();
    let filled = seconds(began);
    vec![
        shown("chunks", made, ""),
        shown("of different texts", distinct as f64, ""),
        shown("vectors of the model's own", real as f64, ""),
        shown("files", report.checked as f64, ""),
        at_least("indexing without embedding", made / took, 2_000.0, "/s"),
        shown("indexing: for each second of CPU", made / cpu, "/s"),
        shown("indexing: most memory", peak, "MB"),
        shown("taking in vectors that are there", made / filled, "/s"),
    ]
}

/// A text with this number. If there are too few texts, it consists of halves of two others.
fn text(texts: &[String], number: usize) -> String {
    match number.checked_sub(texts.len()) {
        None => texts[number].clone(),
        Some(over) => {
            let (one, other) = (&texts[over % texts.len()], &texts[(over * 7 + 3) % texts.len()]);
            let half = |text: &str| text[..text.floor_char_boundary(text.len() / 2)].to_owned();
            format!("{} {}", half(one), half(other))
        }
    }
}

fn write_files(home: &Path, texts: &[String], chunks: usize) {
    let vault = home.join("people/anna/vault");
    for file in 0..chunks.div_ceil(TEXTS_A_FILE) {
        let mut page = String::new();
        for number in file * TEXTS_A_FILE..((file + 1) * TEXTS_A_FILE).min(chunks) {
            page.push_str(&format!("{}\n\n", heading(number)));
            let text = text(texts, number);
            let words: Vec<&str> = text.split(' ').collect();
            for line in words.chunks(WORDS_A_LINE) {
                page.push_str(&format!("{}\n", line.join(" ")));
            }
            page.push('\n');
        }
        write(&vault.join(format!("{}/{file}.md", file % 100)), &page);
    }
}

/// Writes a file as if an hour ago, because files that were just written when they are read are
/// read again later.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let past = SystemTime::now() - Duration::from_secs(3_600);
    fs::File::options().write(true).open(path).unwrap().set_modified(past).unwrap();
}

pub(crate) async fn measure_tiny(home: &Path, files: usize) -> Vec<Row> {
    let vault = home.join("people/anna/vault");
    for file in 0..files {
        write(&vault.join(format!("{}/{file}.md", file % 300)), &format!("note {file}\n"));
    }
    let (index, _store) = open(home).await;
    let (began, before) = (Instant::now(), cpu_seconds());
    let indexed = index.sync().await.unwrap().indexed;
    let (took, cpu) = (seconds(began), cpu_seconds() - before);
    let began = Instant::now();
    let again = index.sync().await.unwrap();
    let looked = seconds(began);
    let all = files as u64;
    assert_eq!((indexed, again.checked, again.indexed), (all, all, 0));
    let state = index.status(&anna()).await.unwrap();
    assert_eq!((state.complete, state.error, state.progress), (true, None, None));
    assert_eq!((state.sources, state.chunks, state.problem_count), (all, all, 0));
    let last = format!("note {}", files - 1);
    let answer = index.search(&search_for(&last)).await.unwrap();
    assert_eq!(answer.hits[0].text, last, "the last of them is found");
    assert!(!answer.partial);
    vec![
        shown(&format!("{files} files of one line: indexed in"), took, "s"),
        shown("of CPU", cpu, "s"),
        shown("looked through again, unchanged, in", looked, "s"),
        shown("files of one line: most memory", peak_megabytes(), "MB"),
    ]
}
