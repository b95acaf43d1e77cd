//! In which order what was found answers a question: how well each chunk matches by words and by
//! meaning, and for messages what was said around them, by whom, and in which conversation.
//!
//! The numbers here were chosen by `scripts/choose-ranking.py` on the choosing half of our own labelled
//! notes and on four conversations; `make judge` reports what comes of them.

mod time;

use std::collections::{HashMap, HashSet};

use onyx_storage::ChunkId;
use onyx_types::{MatchType, Timestamp};

use crate::follow::outline::{AuthorId, ChunkPosition, ConversationId, Outline};
use crate::settings::Weights;
use crate::visible::Visible;

pub(crate) use time::{TimeRange, times_in};

/// Candidates that each side brings.
pub(crate) const CANDIDATES: usize = 100;
/// Of these, and what was said around them, as many are ranked by their tokens.
pub(crate) const RANKED_BY_TOKENS: usize = 160;
/// Further from the question in meaning is no match.
pub(crate) const LEAST_LIKENESS: f32 = 0.15;
/// The same for tokens, of which some always lie near.
const LEAST_TOKEN_LIKENESS: f32 = 0.25;

/// How much words count against meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WordWeights {
    pub(crate) notes: f32,
    pub(crate) messages: f32,
}

impl WordWeights {
    /// As a person chose them, for notes and messages alike.
    pub(crate) fn chosen(weights: Weights) -> Self {
        let words = weights.text / (weights.text + weights.vectors).max(f32::MIN_POSITIVE);
        Self { notes: words, messages: words }
    }
}

/// Before there are token vectors words count for more: they tell names and places apart.
pub(crate) const WITHOUT_TOKENS: WordWeights = WordWeights { notes: 0.3, messages: 0.5 };
pub(crate) const WITH_TOKENS: WordWeights = WordWeights { notes: 0.2, messages: 0.4 };
/// What the vector of a whole note counts beside those of its tokens. Messages are too short for it
/// to add anything.
const WHOLE_NOTE: f32 = 0.3;

/// What a message takes over from those around it, by how far they are away.
const FROM_AROUND: [f32; 2] = [0.4, 0.3];
/// What it takes over from the best message of its conversation.
const FROM_CONVERSATION: f32 = 0.2;
/// What it gains where the question names who said it.
const BY_NAMED_AUTHOR: f32 = 0.45;
/// What anything gains that is of the time the question names.
const IN_TIME: f32 = 0.3;

/// What a question says beside its words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) authors: HashSet<AuthorId>,
    pub(crate) time: Option<TimeRange>,
}

/// What is known of a chunk for one question. Each part is from 0 to 1, where 1 is the best there is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Match {
    words: Option<f32>,
    meaning: Option<f32>,
    tokens: Option<f32>,
    /// Its vector is still to be made: nothing is known of how near it is.
    is_unmeasured: bool,
}

impl Match {
    /// A chunk that was searched for by words alone.
    pub(crate) fn by_words(score: f32) -> Self {
        Self { words: Some(score), ..Self::default() }
    }

    /// How well it matches by itself.
    fn own(&self, is_message: bool, weights: WordWeights) -> f32 {
        let words = self.words.unwrap_or_default();
        let whole = self.meaning.unwrap_or_default();
        let meaning = match self.tokens {
            // Its words count for both sides. Else every chunk with a vector would come before it.
            _ if self.is_unmeasured => words,
            Some(tokens) if is_message => tokens,
            Some(tokens) => (1.0 - WHOLE_NOTE) * tokens + WHOLE_NOTE * whole,
            None => whole,
        };
        let weight = if is_message { weights.messages } else { weights.notes };
        weight * words + (1.0 - weight) * meaning
    }

    pub(crate) const fn match_type(&self) -> MatchType {
        match (self.words, self.meaning) {
            (Some(_), Some(_)) => MatchType::Hybrid,
            (Some(_), None) => MatchType::Fts,
            (None, _) => MatchType::Vec,
        }
    }
}

/// Everything that was found for a question.
pub(crate) struct Ranking<'a> {
    outline: &'a Outline,
    hints: &'a Hints,
    /// Meaning was not searched for: words alone tell what matches.
    is_by_words: bool,
    pub(crate) matches: HashMap<ChunkId, Match>,
}

/// Two ways of finding, each best first with its own scores.
pub(crate) struct Candidates<'a> {
    pub(crate) words: &'a [(ChunkId, f32)],
    /// `None`: meaning was not searched for.
    pub(crate) near: Option<&'a [(ChunkId, f32)]>,
    pub(crate) unmeasured: &'a HashSet<ChunkId>,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(outline: &'a Outline, hints: &'a Hints, found: &Candidates<'_>) -> Self {
        let mut matches = HashMap::<ChunkId, Match>::new();
        let most = found.words.first().map_or(1.0, |(_, best)| best.max(f32::MIN_POSITIVE));
        for (chunk, score) in found.words {
            let known = matches.entry(*chunk).or_default();
            known.words = Some(score / most);
            known.is_unmeasured = found.unmeasured.contains(chunk);
        }
        let near = found.near.unwrap_or_default();
        let scale = Scale::of(near.iter().map(|(_, likeness)| *likeness), LEAST_LIKENESS);
        for (chunk, likeness) in near {
            matches.entry(*chunk).or_default().meaning = Some(scale.at(*likeness));
        }
        Self { outline, hints, is_by_words: found.near.is_none(), matches }
    }

    /// Adds the messages around those that were found: one of them may be meant although it matches
    /// nothing itself.
    pub(crate) fn add_around(&mut self, seen: &Visible) {
        let found: Vec<ChunkId> = self.matches.keys().copied().collect();
        for chunk in found {
            for (_, near) in self.outline.around(chunk, 1) {
                let position = self.outline.position_of(near);
                if position.is_some_and(|position| seen.allows(position.group)) {
                    self.matches.entry(near).or_default();
                }
            }
        }
    }

    /// Takes over how near the tokens of chunks are. A chunk without tokens keeps the nearness of its
    /// whole text.
    pub(crate) fn take_tokens(&mut self, likeness: &[(ChunkId, f32)]) {
        let scale = Scale::of(likeness.iter().map(|(_, likeness)| *likeness), LEAST_TOKEN_LIKENESS);
        for (chunk, likeness) in likeness {
            if let Some(known) = self.matches.get_mut(chunk) {
                known.tokens = Some(scale.at(*likeness));
            }
        }
    }

    /// The chunks with their scores from 0 to 1, best first; of equals the oldest.
    pub(crate) fn ranked(&self, weights: WordWeights) -> Vec<(f32, ChunkId)> {
        let own: HashMap<ChunkId, f32> = self
            .matches
            .iter()
            .map(|(chunk, found)| (*chunk, self.own(*chunk, found, weights)))
            .collect();
        let mut best = HashMap::<ConversationId, f32>::new();
        for (chunk, own) in &own {
            if let Some(message) =
                self.outline.position_of(*chunk).and_then(|position| position.message)
            {
                let best = best.entry(message.conversation).or_default();
                *best = best.max(*own);
            }
        }
        let mut notes = Vec::new();
        let mut messages = Vec::new();
        for (chunk, own_score) in &own {
            let position = self.outline.position_of(*chunk);
            let in_time = self.in_time(position);
            match position.and_then(|position| position.message) {
                Some(message) => {
                    let named = self.hints.authors.contains(&message.author);
                    let mut score = own_score + in_time;
                    score += if named { BY_NAMED_AUTHOR } else { 0.0 };
                    score += FROM_CONVERSATION * best.get(&message.conversation).unwrap_or(&0.0);
                    score += self.said_around(*chunk, &own);
                    messages.push((score, *own_score, *chunk));
                }
                None => notes.push((own_score + in_time, *own_score, *chunk)),
            }
        }
        let mut all = scaled(notes);
        all.extend(scaled(messages));
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all
    }

    fn own(&self, chunk: ChunkId, found: &Match, weights: WordWeights) -> f32 {
        if self.is_by_words {
            return found.words.unwrap_or_default();
        }
        found.own(self.is_message(chunk), weights)
    }

    fn is_message(&self, chunk: ChunkId) -> bool {
        self.outline.position_of(chunk).is_some_and(|position| position.message.is_some())
    }

    fn said_around(&self, chunk: ChunkId, own: &HashMap<ChunkId, f32>) -> f32 {
        // Of a message that was cut into parts the best part counts.
        let mut best = [0.0_f32; FROM_AROUND.len() * 2];
        for (away, near) in self.outline.around(chunk, FROM_AROUND.len() as i32) {
            let place = (away.unsigned_abs() as usize - 1) * 2 + usize::from(away > 0);
            best[place] = best[place].max(own.get(&near).copied().unwrap_or_default());
        }
        best.chunks(2).zip(FROM_AROUND).map(|(sides, share)| share * (sides[0] + sides[1])).sum()
    }

    fn in_time(&self, position: Option<&ChunkPosition>) -> f32 {
        let holds = |at: Timestamp| self.hints.time.as_ref().is_some_and(|range| range.holds(at));
        if position.is_some_and(|position| holds(position.at)) { IN_TIME } else { 0.0 }
    }
}

/// Messages gain by more than notes do: the best of either keeps the score it has by itself, so that
/// the two can stand in one list.
fn scaled(scores: Vec<(f32, f32, ChunkId)>) -> Vec<(f32, ChunkId)> {
    let most = scores.iter().map(|(score, ..)| *score).fold(f32::MIN_POSITIVE, f32::max);
    let most_own = scores.iter().map(|(_, own, _)| *own).fold(0.0, f32::max);
    let factor = most_own / most;
    scores.into_iter().map(|(score, _, chunk)| (score * factor, chunk)).collect()
}

/// The scores of the best candidate and of the hundredth.
struct Scale {
    least: f32,
    most: f32,
}

impl Scale {
    /// `least` where there are fewer than a hundred.
    fn of(scores: impl Iterator<Item = f32>, least: f32) -> Self {
        let mut scores: Vec<f32> = scores.collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let most = scores.first().copied().unwrap_or(1.0);
        let hundredth = scores.get(CANDIDATES - 1).copied();
        Self { least: hundredth.unwrap_or(least).min(most), most }
    }

    fn at(&self, score: f32) -> f32 {
        let width = self.most - self.least;
        if width > f32::EPSILON { ((score - self.least) / width).max(0.0) } else { 1.0 }
    }
}
