//! Turns the messages of a run into chunks: one for each message, several for a long one.

use std::borrow::Cow;

use onyx_storage::{ChunkRow, Message};
use onyx_types::{Author, Hash, Origin, TextStatus, Timestamp, Turn, TurnBody};

use crate::files::transcript::speaker;
use crate::{Chunking, Document, Ruler};

/// The longest part of a message that is indexed. People do not write longer messages, and indexing
/// them would take many times their size in memory.
const LONGEST_MESSAGE: usize = 256 * 1024;
/// The longest part of a run that is indexed, counted from its end.
const LONGEST_RUN: usize = 2 * 1024 * 1024;

pub(super) struct RunText {
    /// The messages, the last one first.
    messages: Vec<SaidMessage>,
    pub(super) bytes: usize,
    pub(super) origin: Origin,
    pub(super) at: Timestamp,
}

struct SaidMessage {
    message: Message,
    /// The text; empty if the run is too long to be indexed whole. The message is still counted, so
    /// that the others are cited by the right numbers.
    text: String,
}

impl Default for RunText {
    fn default() -> Self {
        let at = Timestamp::from_millis(0);
        Self { messages: Vec::new(), bytes: 0, origin: Origin::Person, at }
    }
}

impl RunText {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Adds a turn before those that were added, because a log is read from its end.
    pub(super) fn add_before(&mut self, turn: &Turn, position: u64) {
        let words = match &turn.body {
            TurnBody::User(user) => Cow::from(user.content.text()),
            TurnBody::AssistantText(text) if text.status != TextStatus::Error => {
                Cow::from(&text.content)
            }
            _ => return,
        };
        self.at = self.at.max(turn.ts);
        let words = words.trim();
        let words = &words[..words.floor_char_boundary(LONGEST_MESSAGE)];
        if words.is_empty() {
            return;
        }
        self.origin = self.origin.max(turn.origin);
        let who = match &turn.author {
            Author::Person(person) => person.as_str(),
            Author::Agent(agent) => agent.as_str(),
            Author::System => "system",
        };
        // Several people may write through one account, and then each message begins with a name.
        let (author, mut text) = match speaker(words) {
            Some(name) => (name.to_owned(), words.to_owned()),
            None => (who.to_owned(), format!("{who}: {words}")),
        };
        if self.bytes + text.len() > LONGEST_RUN {
            text.clear();
        }
        self.bytes += text.len();
        let message = Message { turn: Some(turn.id), author, at: Some(turn.ts), position };
        self.messages.push(SaidMessage { message, text });
    }

    /// The checksum of everything in the run that can be found.
    pub(super) fn checksum(&self) -> Hash {
        let mut all = String::with_capacity(self.bytes);
        self.messages.iter().rev().for_each(|said| all.push_str(&said.text));
        Hash::of(all.as_bytes())
    }

    pub(super) fn rows(self, chunking: &Chunking, ruler: &Ruler) -> Vec<ChunkRow> {
        let origin = self.origin;
        let mut rows = Vec::with_capacity(self.messages.len());
        for (number, SaidMessage { message, text }) in (1..).zip(self.messages.into_iter().rev()) {
            for text in parts(text, chunking, ruler) {
                rows.push(ChunkRow {
                    start_line: number,
                    end_line: number,
                    heading: String::new(),
                    origin,
                    hash: Hash::of(text.as_bytes()),
                    text,
                    message: Some(message.clone()),
                });
            }
        }
        rows
    }
}

/// The parts of a message, which is one chunk if it fits.
fn parts(text: String, chunking: &Chunking, ruler: &Ruler) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    // No token is shorter than a byte, so most messages need not be measured.
    if text.len() <= chunking.tokens || ruler.count(&text) <= chunking.tokens {
        return vec![text];
    }
    let pieces = Document::read(&text, chunking, ruler).pieces.into_iter();
    pieces.map(|piece| piece.text).collect()
}
