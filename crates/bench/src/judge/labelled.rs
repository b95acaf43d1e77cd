//! The labelled set: a person's notes, and questions with the notes that answer them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    #[cfg_attr(not(test), allow(dead_code, reason = "the tests of the set name questions by it"))]
    pub(crate) id: String,
    pub(crate) question: String,
    /// Every note that answers the question, as a path within the notes.
    pub(crate) relevant: Vec<String>,
    pub(crate) kind: Kind,
    pub(crate) half: Half,
}

/// The reason why a question is hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Paraphrase,
    Name,
    Date,
    CodeIdentifier,
    OtherLanguage,
    Conversational,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Paraphrase,
        Self::Name,
        Self::Date,
        Self::CodeIdentifier,
        Self::OtherLanguage,
        Self::Conversational,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Half {
    /// The half with which weights are chosen.
    Tune,
    /// The half whose results are reported.
    HeldOut,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judged")
}

pub(crate) fn questions() -> Result<Vec<Question>> {
    let path = folder().join("questions.jsonl");
    let lines = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let parse =
        |line| serde_json::from_str(line).with_context(|| format!("not a question: {line}"));
    lines.lines().map(parse).collect()
}

/// Every note by its path within the notes, sorted.
pub(crate) fn notes() -> Result<Vec<(String, String)>> {
    let root = folder().join("notes");
    let mut notes = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
                notes.push((name, std::fs::read_to_string(&path)?));
            }
        }
    }
    notes.sort();
    Ok(notes)
}

/// The notes in an answer of the server in order, each only once.
pub(crate) fn notes_in(answer: &Value) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for hit in answer["results"].as_array().into_iter().flatten() {
        let path = hit["path"].as_str().unwrap_or_default();
        let note = path.strip_prefix("vault/").unwrap_or(path);
        if !notes.iter().any(|known| known == note) {
            notes.push(note.to_owned());
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashSet};

    use super::*;

    #[test]
    fn the_set_is_large_enough_and_every_note_is_there_once() {
        let (notes, questions) = (notes().unwrap(), questions().unwrap());
        assert!(notes.len() >= 320, "{} notes", notes.len());
        assert!(questions.len() >= 130, "{} questions", questions.len());
        let texts: HashSet<&str> = notes.iter().map(|(_, text)| text.trim()).collect();
        assert_eq!(texts.len(), notes.len(), "two notes say the same");
        assert!(texts.iter().all(|text| text.chars().count() >= 20));
    }

    #[test]
    fn every_label_names_a_note_and_no_question_stands_twice() {
        let paths: BTreeSet<String> = notes().unwrap().into_iter().map(|(path, _)| path).collect();
        let questions = questions().unwrap();
        for question in &questions {
            assert!(!question.relevant.is_empty(), "{}", question.id);
            for path in &question.relevant {
                assert!(paths.contains(path), "{}: no note {path}", question.id);
            }
        }
        let ids: HashSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
        let texts: HashSet<&str> =
            questions.iter().map(|question| question.question.as_str()).collect();
        assert_eq!((ids.len(), texts.len()), (questions.len(), questions.len()));
    }

    #[test]
    fn the_halves_hold_every_kind_alike() {
        let mut counts: BTreeMap<Kind, [usize; 2]> = BTreeMap::new();
        for question in questions().unwrap() {
            counts.entry(question.kind).or_default()
                [usize::from(question.half == Half::HeldOut)] += 1;
        }
        for kind in Kind::ALL {
            let [tune, held_out] = counts[&kind];
            assert!(tune + held_out >= 20, "{kind:?}: {}", tune + held_out);
            assert!(tune.abs_diff(held_out) <= 1, "{kind:?}: {tune} against {held_out}");
        }
    }

    #[test]
    fn no_question_repeats_four_words_of_its_notes() {
        let notes: BTreeMap<String, String> = notes().unwrap().into_iter().collect();
        for question in questions().unwrap() {
            for path in &question.relevant {
                let shared: Vec<_> =
                    runs(&question.question).intersection(&runs(&notes[path])).cloned().collect();
                assert_eq!(shared, Vec::<Vec<String>>::new(), "{} and {path}", question.id);
            }
        }
    }

    /// Every sequence of four words.
    fn runs(text: &str) -> BTreeSet<Vec<String>> {
        let lowered = text.to_lowercase();
        let words: Vec<&str> = lowered
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| !word.is_empty())
            .collect();
        words.windows(4).map(|run| run.iter().map(|word| (*word).to_owned()).collect()).collect()
    }
}
