//! Ranks what was found by how well it answers the question: how well each chunk matches by words
//! and by meaning, and for messages also by what was said around them, by whom, and in which
//! conversation.
//!
//! The numbers here were chosen by `scripts/choose-ranking.py`, with the half of the project's
//! labelled notes that is meant for choosing and with four conversations. `make judge` reports the
//! results.

mod time;

use std::collections::HashSet;

use onyx_storage::ChunkId;
use onyx_types::{MatchType, Timestamp};
use rustc_hash::FxHashMap;

use crate::follow::PersonOutline;
use crate::follow::outline::{AuthorId, ChunkPosition, ConversationId, MessagePosition};
use crate::settings::Weights;
use crate::visible::VisibleGroups;

pub(crate) use time::{TimeRange, times_in};

/// How many candidates each way of searching yields.
pub(crate) const CANDIDATES: usize = 100;
/// How many of the candidates and the messages around them are ranked by their tokens.
pub(crate) const RANKED_BY_TOKENS: usize = 160;
/// The least likeness of vectors that counts as a match.
pub(crate) const LEAST_LIKENESS: f32 = 0.15;
/// The least likeness of tokens that counts as a match. It is higher, because some token is always
/// near.
const LEAST_TOKEN_LIKENESS: f32 = 0.25;

/// The weight of words against meaning, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WordWeights {
    pub(crate) notes: f32,
    pub(crate) messages: f32,
}

impl WordWeights {
    /// The weights that a person chose, which are the same for notes and messages.
    pub(crate) fn chosen(weights: Weights) -> Self {
        let words = weights.text / (weights.text + weights.vectors).max(f32::MIN_POSITIVE);
        Self { notes: words, messages: words }
    }
}

/// Without token vectors words count for more, because only they tell names and places apart.
pub(crate) const WITHOUT_TOKENS: WordWeights = WordWeights { notes: 0.3, messages: 0.5 };
pub(crate) const WITH_TOKENS: WordWeights = WordWeights { notes: 0.2, messages: 0.4 };

/// How much of its neighbours' scores a message gains, by how far they are away.
const FROM_AROUND: [f32; 2] = [0.45, 0.3];
/// How much a message gains of the score of the best message in its conversation.
const FROM_CONVERSATION: f32 = 0.25;
/// How much a message gains if the question names its author.
const BY_NAMED_AUTHOR: f32 = 0.45;
/// How much a chunk gains if it is from the time that the question names.
const IN_TIME: f32 = 0.3;

/// The authors and the time that a question names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) authors: HashSet<AuthorId>,
    pub(crate) time: Option<TimeRange>,
}

/// How a chunk matches one question. Each part is from 0 to 1, where 1 is the best of all
/// candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Match {
    words: Option<f32>,
    meaning: Option<f32>,
    tokens: Option<f32>,
    /// Whether the chunk has no vector yet, so that nothing is known about its meaning.
    is_unmeasured: bool,
}

impl Match {
    /// The match of a chunk that was searched for by words alone.
    pub(crate) fn by_words(score: f32) -> Self {
        Self { words: Some(score), ..Self::default() }
    }

    /// How well the chunk matches without its neighbours.
    fn own(&self, is_message: bool, weights: WordWeights) -> f32 {
        let words = self.words.unwrap_or_default();
        let meaning = match self.tokens {
            // The words count for both parts here. Otherwise every chunk with a vector would be
            // ranked higher.
            _ if self.is_unmeasured => words,
            // If there are token vectors, the vector of the whole text adds nothing.
            Some(tokens) => tokens,
            None => self.meaning.unwrap_or_default(),
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

/// Everything that was found for a question, with the messages around it.
pub(crate) struct Ranking<'a> {
    hints: &'a Hints,
    /// Whether only words are searched for.
    is_by_words: bool,
    candidates: Vec<Candidate>,
    /// The index of each chunk among the candidates.
    places: FxHashMap<ChunkId, usize>,
    neighbours: Vec<Neighbour>,
}

#[derive(Debug)]
struct Candidate {
    chunk: ChunkId,
    found: Match,
    position: Option<ChunkPosition>,
}

/// Two candidates that were said near each other.
#[derive(Debug)]
struct Neighbour {
    of: usize,
    is: usize,
    /// How far away the neighbour is, and on which side.
    side: usize,
}

/// The results of both ways of searching, each best first with its own scores.
pub(crate) struct Candidates<'a> {
    pub(crate) words: &'a [(ChunkId, f32)],
    /// The nearest chunks by meaning; `None` if meaning was not searched for.
    pub(crate) near: Option<&'a [(ChunkId, f32)]>,
    pub(crate) unmeasured: &'a HashSet<ChunkId>,
}

/// A chunk with its score from 0 to 1, and how it matched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RankedChunk {
    pub(crate) score: f32,
    pub(crate) chunk: ChunkId,
    pub(crate) found: Match,
}

/// The number of neighbours of a message: the near and the farther one, before and after it.
const SIDES: usize = FROM_AROUND.len() * 2;

impl<'a> Ranking<'a> {
    pub(crate) fn new(
        outline: &PersonOutline<'_>,
        hints: &'a Hints,
        found: &Candidates<'_>,
        seen: &VisibleGroups,
    ) -> Self {
        let mut ranking = Self {
            hints,
            is_by_words: found.near.is_none(),
            candidates: Vec::new(),
            places: FxHashMap::default(),
            neighbours: Vec::new(),
        };
        ranking.add_found(outline, found);
        if !ranking.is_by_words {
            ranking.add_around(outline, seen);
        }
        ranking.neighbours = ranking.neighbours_in(outline);
        ranking
    }

    fn add_found(&mut self, outline: &PersonOutline<'_>, found: &Candidates<'_>) {
        let most = found.words.first().map_or(1.0, |(_, best)| best.max(f32::MIN_POSITIVE));
        for (chunk, score) in found.words {
            let known = self.match_of(outline, *chunk);
            known.words = Some(score / most);
            known.is_unmeasured = found.unmeasured.contains(chunk);
        }
        let near = found.near.unwrap_or_default();
        let scale = Scale::of(near.iter().map(|(_, likeness)| *likeness), LEAST_LIKENESS);
        for (chunk, likeness) in near {
            self.match_of(outline, *chunk).meaning = Some(scale.at(*likeness));
        }
    }

    /// Adds the messages around those that were found, because one of them may be the answer
    /// although it does not match itself.
    fn add_around(&mut self, outline: &PersonOutline<'_>, seen: &VisibleGroups) {
        for place in 0..self.candidates.len() {
            let Some(message) = self.candidates[place].message() else { continue };
            outline.around_message(message, 1, |_, near| {
                let position = outline.position_of(near);
                if position.is_some_and(|position| seen.allows(position.group)) {
                    self.match_of(outline, near);
                }
            });
        }
    }

    fn match_of(&mut self, outline: &PersonOutline<'_>, chunk: ChunkId) -> &mut Match {
        let candidates = &mut self.candidates;
        let place = *self.places.entry(chunk).or_insert_with(|| {
            let position = outline.position_of(chunk);
            candidates.push(Candidate { chunk, found: Match::default(), position });
            candidates.len() - 1
        });
        &mut candidates[place].found
    }

    fn neighbours_in(&self, outline: &PersonOutline<'_>) -> Vec<Neighbour> {
        let mut neighbours = Vec::new();
        for (of, candidate) in self.candidates.iter().enumerate() {
            let Some(message) = candidate.message() else { continue };
            outline.around_message(message, FROM_AROUND.len() as i32, |away, near| {
                let side = (away.unsigned_abs() as usize - 1) * 2 + usize::from(away > 0);
                neighbours.extend(self.places.get(&near).map(|is| Neighbour { of, is: *is, side }));
            });
        }
        neighbours
    }

    /// Takes over the token likeness of chunks. A chunk without token vectors keeps the likeness of
    /// its whole text.
    pub(crate) fn take_tokens(&mut self, likeness: &[(ChunkId, f32)]) {
        let scale = Scale::of(likeness.iter().map(|(_, likeness)| *likeness), LEAST_TOKEN_LIKENESS);
        for (chunk, likeness) in likeness {
            if let Some(place) = self.places.get(chunk) {
                self.candidates[*place].found.tokens = Some(scale.at(*likeness));
            }
        }
    }

    /// The candidates, best first; the older one first if scores are equal.
    pub(crate) fn ranked(&self, weights: WordWeights) -> Vec<RankedChunk> {
        let own: Vec<f32> =
            self.candidates.iter().map(|candidate| self.own(candidate, weights)).collect();
        let mut best = FxHashMap::<ConversationId, f32>::default();
        for (candidate, own) in self.candidates.iter().zip(&own) {
            if let Some(message) = candidate.message() {
                let best = best.entry(message.conversation).or_default();
                *best = best.max(*own);
            }
        }
        let around = self.around(&own);
        let mut notes = Vec::new();
        let mut messages = Vec::new();
        for ((candidate, own), around) in self.candidates.iter().zip(own).zip(around) {
            let in_time = self.in_time(candidate.position.as_ref());
            match candidate.message() {
                Some(message) => {
                    let named = self.hints.authors.contains(&message.author);
                    let mut score = own + in_time;
                    score += if named { BY_NAMED_AUTHOR } else { 0.0 };
                    score += FROM_CONVERSATION * best.get(&message.conversation).unwrap_or(&0.0);
                    score += around;
                    messages.push((own, candidate.ranked(score)));
                }
                None => notes.push((own, candidate.ranked(own + in_time))),
            }
        }
        let mut all = scaled(notes);
        all.extend(scaled(messages));
        all.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        all
    }

    fn own(&self, candidate: &Candidate, weights: WordWeights) -> f32 {
        let found = &candidate.found;
        if self.is_by_words {
            return found.words.unwrap_or_default();
        }
        found.own(candidate.message().is_some(), weights)
    }

    /// How much each candidate gains from its neighbours.
    fn around(&self, own: &[f32]) -> Vec<f32> {
        // If a message was cut into parts, its best part counts.
        let mut best = vec![[0.0_f32; SIDES]; own.len()];
        for neighbour in &self.neighbours {
            let best = &mut best[neighbour.of][neighbour.side];
            *best = best.max(own[neighbour.is]);
        }
        let sum = |best: [f32; SIDES]| {
            let sides = best.as_chunks::<2>().0.iter().zip(FROM_AROUND);
            sides.map(|([before, after], share)| share * (before + after)).sum()
        };
        best.into_iter().map(sum).collect()
    }

    fn in_time(&self, position: Option<&ChunkPosition>) -> f32 {
        let holds = |at: Timestamp| self.hints.time.as_ref().is_some_and(|range| range.holds(at));
        if position.is_some_and(|position| holds(position.at)) { IN_TIME } else { 0.0 }
    }
}

impl Candidate {
    fn message(&self) -> Option<MessagePosition> {
        self.position.and_then(|position| position.message)
    }

    fn ranked(&self, score: f32) -> RankedChunk {
        RankedChunk { score, chunk: self.chunk, found: self.found }
    }
}

/// Scales the scores of one kind. Messages gain more than notes do, so the best chunk of each kind
/// is given the score that it has on its own; then both kinds can be in one list.
fn scaled(chunks: Vec<(f32, RankedChunk)>) -> Vec<RankedChunk> {
    let most = chunks.iter().map(|(_, chunk)| chunk.score).fold(f32::MIN_POSITIVE, f32::max);
    let most_own = chunks.iter().map(|(own, _)| *own).fold(0.0, f32::max);
    let factor = most_own / most;
    chunks
        .into_iter()
        .map(|(_, chunk)| RankedChunk { score: chunk.score * factor, ..chunk })
        .collect()
}

/// The scores of the best candidate and of the hundredth one, to which others are compared.
struct Scale {
    least: f32,
    most: f32,
}

impl Scale {
    /// The scale of these scores. `least` is used if there are fewer than a hundred.
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
