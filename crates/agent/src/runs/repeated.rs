//! Remembers answers that were given to clients lately. A client without a session sends its whole
//! conversation with every request, and anyone could have written the assistant's part of it. Only
//! a text that is remembered as an answer of Onyx keeps its origin; all others count as from
//! outside. After a restart nothing is remembered, so more texts count as from outside.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onyx_types::{Hash, Origin, PersonId, RunId, TurnBody};

use crate::prompt::History;
use crate::step::client::ClientTurn;

/// The most texts that are remembered: more than the answers of a busy day. Each takes some hundred
/// bytes.
const MOST: usize = 4_096;
/// The separators with which a client may join the texts of one run.
const JOINTS: [&str; 2] = ["\n\n", ""];

#[derive(Debug, Default)]
pub(super) struct RepeatedAnswers(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    origins: HashMap<(PersonId, Hash), Origin>,
    oldest_first: VecDeque<(PersonId, Hash)>,
}

impl RepeatedAnswers {
    /// Remembers the texts of a run, singly and joined.
    pub(super) fn remember(&self, person: &PersonId, run: RunId, history: &History) {
        let of_run = history.turns().iter().filter(|turn| turn.run == Some(run));
        let mut texts = Vec::new();
        let mut origin = Origin::Agent;
        for turn in of_run {
            if let TurnBody::AssistantText(text) = &turn.body {
                texts.push(text.content.as_str());
                origin = origin.max(turn.origin);
            }
        }
        let whole = JOINTS.map(|joint| texts.join(joint));
        let mut answers = self.lock();
        for text in texts.into_iter().map(str::to_owned).chain(whole) {
            answers.add((person.clone(), print(&text)), origin);
        }
    }

    /// Marks the assistant turns that are remembered as answers of Onyx.
    pub(super) fn recognise(&self, person: &PersonId, turns: Vec<ClientTurn>) -> Vec<ClientTurn> {
        let answers = self.lock();
        let recognise = |turn: ClientTurn| match turn {
            ClientTurn::Assistant(text) => {
                match answers.origins.get(&(person.clone(), print(&text))) {
                    Some(origin) => ClientTurn::OwnAnswer(text, *origin),
                    None => ClientTurn::Assistant(text),
                }
            }
            other => other,
        };
        turns.into_iter().map(recognise).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn add(&mut self, key: (PersonId, Hash), origin: Origin) {
        // If two answers have the same text, the less trusted origin counts.
        let known = self.origins.get(&key).copied();
        if known.is_none() {
            self.oldest_first.push_back(key.clone());
        }
        self.origins.insert(key, known.map_or(origin, |known| known.max(origin)));
        while self.oldest_first.len() > MOST {
            if let Some(oldest) = self.oldest_first.pop_front() {
                self.origins.remove(&oldest);
            }
        }
    }
}

fn print(text: &str) -> Hash {
    Hash::of(text.trim().as_bytes())
}
