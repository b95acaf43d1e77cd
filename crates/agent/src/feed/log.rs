//! The events of a feed. Neighbouring pieces of one text are stored together, with the length of each.

use std::collections::VecDeque;
use std::mem::size_of;
use std::task::Waker;

use onyx_types::{AgentId, Envelope, Event, LaneId, RunId, ToolUseId, TurnId};
use serde::{Deserialize, Serialize};

/// The most bytes of a feed that is read piece by piece. Beyond it a late reader gets neighbouring
/// pieces as one, and the oldest live output of tools is dropped, since their results hold it.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most bytes of live output that are kept beyond that limit, for readers who follow the run.
const RECENT_OUTPUT: usize = 256 * 1024;
/// The most bytes of neighbouring pieces that are stored as one entry.
const MOST_TOGETHER: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
    pub(super) streams: Vec<PieceStream>,
    /// Whether late readers get neighbouring pieces as one.
    pub(super) coalesced: bool,
    newest: u64,
    bytes: usize,
    /// The entries that hold live output, oldest first.
    outputs: VecDeque<usize>,
    output_bytes: usize,
    closed: bool,
    /// Wakes readers that have read everything.
    waiting: Vec<Waker>,
}

/// One event, or several neighbouring pieces of one text; its numbers begin with `first`.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) first: u64,
    pub(super) count: u32,
    pub(super) lane: LaneId,
    pub(super) body: EntryBody,
}

#[derive(Debug)]
pub(super) enum EntryBody {
    Whole(Box<Event>),
    Pieces(Box<Pieces>),
    /// The complete text of a stream, which is not stored a second time.
    Complete(u32),
}

#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) stream: u32,
    pub(super) text: String,
    /// The length of each piece, encoded by `lengths`.
    pub(super) lengths: Vec<u8>,
    /// Whether the text was dropped.
    pub(super) gone: bool,
}

/// A text that comes in pieces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum PieceStream {
    Text { turn: TurnId, agent: AgentId },
    Reasoning { turn: TurnId, agent: AgentId },
    Output(ToolUseId),
}

/// How far a reader has read.
#[derive(Debug)]
pub(super) struct Cursor {
    after: u64,
    parted_at: u64,
    entry: usize,
    position: Position,
}

/// A place in an entry, just before one of its pieces.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// How many pieces of the entry lie before the position.
    passed: u64,
    length_at: usize,
    text_at: usize,
}

impl Cursor {
    pub(super) fn part_at(&mut self, seq: u64) {
        self.parted_at = seq;
    }
}

impl Entry {
    pub(super) fn last(&self) -> u64 {
        self.first + u64::from(self.count) - 1
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
            + match &self.body {
                EntryBody::Whole(event) => size_of::<Event>() + event_weight(event),
                EntryBody::Pieces(pieces) => {
                    size_of::<Pieces>() + pieces.text.capacity() + pieces.lengths.capacity()
                }
                EntryBody::Complete(_) => 0,
            }
    }
}

impl PieceStream {
    fn says(&self, text: String) -> Event {
        match self.clone() {
            Self::Text { turn: turn_id, agent } => Event::TextDelta { turn_id, agent, text },
            Self::Reasoning { turn: turn_id, agent } => {
                Event::ReasoningDelta { turn_id, agent, text }
            }
            Self::Output(tool_use_id) => Event::ToolOutput { tool_use_id, chunk: text },
        }
    }
}

impl Pieces {
    fn add(&mut self, piece: &str) {
        self.text.push_str(piece);
        lengths::write(&mut self.lengths, piece.len() as u64);
    }

    fn pass(&self, position: &mut Position) {
        let length = lengths::read(&self.lengths, &mut position.length_at).unwrap_or_default();
        position.text_at += length as usize;
        position.passed += 1;
    }
}

impl Log {
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn is_done(&self) -> bool {
        let last = self.entries.last().map(|entry| &entry.body);
        matches!(last, Some(EntryBody::Whole(event)) if matches!(**event, Event::Done { .. }))
    }

    /// The number of the newest event.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Leaves out numbers whose events this feed never gets.
    pub(super) fn skip(&mut self, numbers: u64) {
        self.newest += numbers;
    }

    pub(super) fn weight(&self) -> usize {
        self.entries.iter().map(Entry::weight).sum::<usize>()
            + self.streams.capacity() * size_of::<PieceStream>()
    }

    /// Frees the spare room of the buffers, because the feed of an ended run is kept for a while.
    pub(super) fn end(&mut self) {
        self.closed = true;
        self.entries.shrink_to_fit();
        self.streams.shrink_to_fit();
        for entry in &mut self.entries {
            if let EntryBody::Pieces(pieces) = &mut entry.body {
                pieces.text.shrink_to_fit();
                pieces.lengths.shrink_to_fit();
            }
        }
    }

    pub(super) fn wake_readers(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    pub(super) fn wake_later(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    pub(super) fn add(&mut self, lane: LaneId, event: Event) {
        match event {
            Event::TextDelta { turn_id: turn, agent, text } => {
                self.piece(lane, PieceStream::Text { turn, agent }, &text);
            }
            Event::ReasoningDelta { turn_id: turn, agent, text } => {
                self.piece(lane, PieceStream::Reasoning { turn, agent }, &text);
            }
            Event::ToolOutput { tool_use_id, chunk } => {
                self.piece(lane, PieceStream::Output(tool_use_id), &chunk);
            }
            Event::TextComplete { turn_id: turn, agent, text } => {
                let stream = PieceStream::Text { turn, agent: agent.clone() };
                match self.known(&stream).filter(|stream| self.has_said(*stream, &text)) {
                    Some(stream) => self.push(lane, 1, EntryBody::Complete(stream)),
                    None => {
                        let event = Event::TextComplete { turn_id: turn, agent, text };
                        self.push(lane, 1, EntryBody::Whole(Box::new(event)));
                    }
                }
            }
            event => self.push(lane, 1, EntryBody::Whole(Box::new(event))),
        }
        self.bound();
    }

    pub(super) fn push(&mut self, lane: LaneId, count: u32, body: EntryBody) {
        let entry = Entry { first: self.newest + 1, count, lane, body };
        self.newest = entry.last();
        self.bytes += entry.weight();
        self.entries.push(entry);
    }

    fn known(&self, stream: &PieceStream) -> Option<u32> {
        self.streams.iter().rposition(|known| known == stream).map(|at| at as u32)
    }

    fn piece(&mut self, lane: LaneId, stream: PieceStream, text: &str) {
        let is_output = matches!(stream, PieceStream::Output(_));
        let stream = self.known(&stream).unwrap_or_else(|| {
            self.streams.push(stream);
            self.streams.len() as u32 - 1
        });
        if is_output {
            self.output_bytes += text.len();
        }
        if let Some(Entry { lane: at, count, body: EntryBody::Pieces(pieces), .. }) =
            self.entries.last_mut()
            && (*at, pieces.stream, pieces.gone) == (lane, stream, false)
            && pieces.text.len() + text.len() <= MOST_TOGETHER
        {
            pieces.add(text);
            *count += 1;
            self.newest += 1;
            self.bytes += text.len() + 1;
            return;
        }
        if is_output {
            self.outputs.push_back(self.entries.len());
        }
        let mut pieces = Pieces { stream, ..Pieces::default() };
        pieces.add(text);
        self.push(lane, 1, EntryBody::Pieces(Box::new(pieces)));
    }

    fn bound(&mut self) {
        self.coalesced |= self.bytes > MAX_BYTES;
        while self.bytes > MAX_BYTES
            && self.output_bytes > RECENT_OUTPUT
            && self.outputs.len() > 1
            && let Some(oldest) = self.outputs.pop_front()
        {
            if let EntryBody::Pieces(pieces) = &mut self.entries[oldest].body {
                let length = pieces.text.len();
                **pieces = Pieces { stream: pieces.stream, gone: true, ..Pieces::default() };
                self.output_bytes -= length;
                self.bytes = self.bytes.saturating_sub(length);
            }
        }
    }

    pub(super) fn said_by(&self, stream: u32) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(move |entry| match &entry.body {
            EntryBody::Pieces(pieces) if pieces.stream == stream => Some(pieces.text.as_str()),
            EntryBody::Pieces(_) | EntryBody::Whole(_) | EntryBody::Complete(_) => None,
        })
    }

    fn has_said(&self, stream: u32, text: &str) -> bool {
        let rest = self.said_by(stream).try_fold(text, |rest, said| rest.strip_prefix(said));
        rest.is_some_and(str::is_empty)
    }

    pub(super) fn cursor(&self, after: u64) -> Cursor {
        let entry = self.entries.partition_point(|entry| entry.last() <= after);
        // The newest entry may still grow, so the cursor never points behind it.
        let entry = entry.min(self.entries.len().saturating_sub(1));
        Cursor { after, parted_at: 0, entry, position: Position::default() }
    }

    /// The next event after the cursor, which is moved.
    pub(super) fn next(&self, run: RunId, cursor: &mut Cursor) -> Option<Envelope> {
        let entry = loop {
            let entry = self.entries.get(cursor.entry)?;
            if entry.last() > cursor.after {
                break entry;
            }
            if cursor.entry + 1 == self.entries.len() {
                return None;
            }
            cursor.entry += 1;
            cursor.position = Position::default();
        };
        let (seq, event) = match &entry.body {
            EntryBody::Whole(event) => (entry.first, Event::clone(event)),
            EntryBody::Complete(stream) => (entry.first, self.completed(*stream)?),
            EntryBody::Pieces(pieces) => {
                let (seq, text) = self.pieces(entry, pieces, cursor);
                (seq, self.streams[pieces.stream as usize].says(text))
            }
        };
        cursor.after = seq;
        Some(Envelope { seq, run_id: run, lane: entry.lane, event })
    }

    /// The next piece, or the pieces up to the last that may be joined with it, and the number of
    /// the last one.
    fn pieces(&self, entry: &Entry, pieces: &Pieces, cursor: &mut Cursor) -> (u64, String) {
        let next = entry.first.max(cursor.after + 1);
        let last = if !self.coalesced {
            next
        } else if (next..entry.last()).contains(&cursor.parted_at) {
            cursor.parted_at
        } else {
            entry.last()
        };
        if pieces.gone {
            return (last, String::new());
        }
        let position = &mut cursor.position;
        while entry.first + position.passed < next {
            pieces.pass(position);
        }
        let start = position.text_at;
        while entry.first + position.passed <= last {
            pieces.pass(position);
        }
        (last, pieces.text[start..position.text_at].to_owned())
    }

    fn completed(&self, stream: u32) -> Option<Event> {
        let PieceStream::Text { turn, agent } = self.streams.get(stream as usize)? else {
            return None;
        };
        let mut text = String::with_capacity(self.said_by(stream).map(str::len).sum());
        text.extend(self.said_by(stream));
        Some(Event::TextComplete { turn_id: *turn, agent: agent.clone(), text })
    }
}

fn event_weight(event: &Event) -> usize {
    match event {
        Event::TextComplete { text, .. } => text.len(),
        Event::ToolResult { output, summary, .. } => output.len() + summary.len(),
        Event::ToolCall { input, label, .. } => {
            let change = label.change.as_ref().map_or(0, |change| change.unified.len());
            input.to_string().len() + size_of_val(&**label) + label.subject.len() + change
        }
        Event::Context { pieces } => pieces.len() * 64,
        Event::Draft { summary, .. } | Event::Confirm { summary, .. } => summary.len(),
        Event::Status { message, .. } | Event::Error { message, .. } => message.len(),
        Event::TextDelta { text, .. } | Event::ReasoningDelta { text, .. } => text.len(),
        Event::ToolOutput { chunk, .. } => chunk.len(),
        Event::Start { agents, model, .. } => agents.len() * size_of::<AgentId>() + model.len(),
        Event::Done { assistant_turn_ids, .. } => assistant_turn_ids.len() * size_of::<TurnId>(),
        Event::Usage { .. } => 0,
    }
}

/// Encodes numbers with seven bits in each byte; the eighth bit says that another byte follows.
pub(super) mod lengths {
    pub(crate) fn write(bytes: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    pub(crate) fn read(bytes: &[u8], at: &mut usize) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = *bytes.get(*at)?;
            *at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}
