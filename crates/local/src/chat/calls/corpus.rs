//! Answers as small models write them, right and wrong, each with its expected result. Each line of
//! `corpus.jsonl` has the `form` of the call, the `answer`, the words that are `said`, and the
//! `calls`; or `broken`, for a call that cannot be read.

use onyx_types::{FinishReason, ModelEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tests::{read, said};

const CORPUS: &str = include_str!("corpus.jsonl");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorpusCase {
    form: String,
    answer: String,
    #[serde(default)]
    said: String,
    #[serde(default)]
    calls: Vec<(String, Value)>,
    #[serde(default)]
    broken: bool,
}

fn corpus() -> Vec<CorpusCase> {
    CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn calls(events: &[ModelEvent]) -> Vec<(String, Value)> {
    let call = |event: &ModelEvent| match event {
        ModelEvent::ToolCallEnd { name, arguments, .. } => Some((name.clone(), arguments.clone())),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

/// Describes what is wrong when an answer is read that arrives in these pieces; `None` if nothing
/// is.
fn flaw(expected: &CorpusCase, pieces: &[&str]) -> Option<String> {
    let (reason, events) = read(pieces, FinishReason::Stop);
    let found = json!({"said": said(&events).trim(), "calls": calls(&events)});
    let wanted = json!({"said": expected.said.trim(), "calls": expected.calls});
    let held = if expected.broken {
        reason.is_err() && calls(&events).is_empty()
    } else {
        reason.is_ok() && found == wanted
    };
    (!held).then(|| {
        let CorpusCase { form, answer, .. } = expected;
        format!("{form}: {answer}\n  wanted {wanted}\n  found {found} {reason:?}")
    })
}

#[test]
fn every_answer_of_the_corpus_is_read_whole_and_letter_by_letter() {
    let corpus = corpus();
    assert!(corpus.len() >= 200, "{}", corpus.len());
    let mut flaws = Vec::new();
    for expected in &corpus {
        flaws.extend(flaw(expected, &[&expected.answer]));
        let letters: Vec<String> = expected.answer.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        flaws.extend(flaw(expected, &letters));
    }
    assert!(flaws.is_empty(), "{} of {}:\n{}", flaws.len(), corpus.len(), flaws.join("\n"));
}
