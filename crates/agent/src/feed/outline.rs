//! The feed of an ended run without what the session's log holds: some fifty bytes for a short
//! answer. Together with the log it becomes the feed again, with the same numbers.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use onyx_types::{Envelope, Event, LaneId, RunId, RunStatus, TurnId, Usage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Feed;
use super::log::{EntryBody, Log, PieceStream, Pieces, lengths};

#[derive(Clone, Debug)]
pub(crate) struct Outline(Arc<[u8]>);

/// The kind of an entry. The contents of the first five are in the log, found by their turn.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Mark {
    Start,
    Complete,
    Call,
    Result,
    Done,
    /// A usage event, which is filled from the `Done` event.
    Usage,
    /// Pieces of a text that the log holds.
    Logged,
    /// Pieces whose text is stored here.
    Kept,
    /// Pieces whose text is dropped, because the tool's result holds the output.
    Gone,
    /// An event that is stored as it was.
    Whole,
}

const MARKS: [Mark; 10] = [
    Mark::Start,
    Mark::Complete,
    Mark::Call,
    Mark::Result,
    Mark::Done,
    Mark::Usage,
    Mark::Logged,
    Mark::Kept,
    Mark::Gone,
    Mark::Whole,
];

impl Outline {
    pub(crate) fn of(feed: &Feed) -> Self {
        Self(outlined(&feed.lock()).into())
    }

    pub(crate) fn weight(&self) -> usize {
        self.0.len()
    }

    /// Rebuilds the feed from the outline and the run's log. `None`: the log lacks one of its
    /// texts.
    pub(crate) fn filled(&self, run: RunId, logged: &[Envelope]) -> Option<Arc<Feed>> {
        let mut reader = Reader { bytes: &self.0, at: 0 };
        let mut log = Log::default();
        fill(&mut log, &mut reader, &LoggedEvents(logged))?;
        log.end();
        let heard_by = AtomicU32::new(0);
        Some(Arc::new(Feed { run, log: Mutex::new(log), heard_by }))
    }
}

fn outlined(log: &Log) -> Vec<u8> {
    let mut completed = vec![false; log.streams.len()];
    for entry in &log.entries {
        if let EntryBody::Complete(stream) = entry.body {
            completed[stream as usize] = true;
        }
    }
    let end = told_by_log(log);
    let mut out = Writer(Vec::with_capacity(64));
    out.number(u64::from(log.coalesced));
    out.number(log.streams.len() as u64);
    for (stream, completed) in log.streams.iter().zip(&completed) {
        match stream {
            PieceStream::Text { turn, .. } if *completed => {
                out.number(0);
                out.turn(*turn);
            }
            PieceStream::Text { .. } | PieceStream::Reasoning { .. } | PieceStream::Output(_) => {
                out.number(1);
                out.json(stream);
            }
        }
    }
    let mut before = 0;
    for entry in &log.entries {
        let mark = match &entry.body {
            EntryBody::Whole(event) => match &**event {
                Event::Start { .. } => Mark::Start,
                Event::ToolCall { .. } => Mark::Call,
                Event::ToolResult { .. } => Mark::Result,
                Event::Done { .. } if end.is_some() => Mark::Done,
                Event::Usage { usage } if end == Some(*usage) => Mark::Usage,
                _ => Mark::Whole,
            },
            EntryBody::Complete(_) => Mark::Complete,
            EntryBody::Pieces(pieces) => match log.streams[pieces.stream as usize] {
                PieceStream::Output(_) => Mark::Gone,
                PieceStream::Text { .. } if completed[pieces.stream as usize] => Mark::Logged,
                PieceStream::Text { .. } | PieceStream::Reasoning { .. } => Mark::Kept,
            },
        };
        out.0.push(mark as u8);
        out.number(u64::from(entry.lane.0));
        out.number(entry.first - before - 1);
        before = entry.last();
        match &entry.body {
            EntryBody::Complete(stream) => out.number(u64::from(*stream)),
            EntryBody::Pieces(pieces) => {
                out.number(u64::from(pieces.stream));
                out.number(u64::from(entry.count));
                match mark {
                    Mark::Logged => out.number(pieces.text.len() as u64),
                    Mark::Kept => out.bytes(pieces.text.as_bytes()),
                    _ => continue,
                }
                out.bytes(&pieces.lengths);
            }
            EntryBody::Whole(event) => match (mark, &**event) {
                (Mark::Call, Event::ToolCall { turn_id, .. }) => out.turn(*turn_id),
                (Mark::Result, Event::ToolResult { turn_id, summary, .. }) => {
                    out.turn(*turn_id);
                    out.bytes(summary.as_bytes());
                }
                (Mark::Whole, event) => out.json(event),
                _ => {}
            },
        }
    }
    out.0
}

/// The usage of the whole run, if the log leads to exactly the same `Done` event.
fn told_by_log(log: &Log) -> Option<Usage> {
    let EntryBody::Whole(last) = &log.entries.last()?.body else { return None };
    let Event::Done { status: RunStatus::Done, assistant_turn_ids, usage, .. } = &**last else {
        return None;
    };
    let answers = log.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Complete(stream) => match log.streams[*stream as usize] {
            PieceStream::Text { turn, .. } => Some(turn),
            PieceStream::Reasoning { .. } | PieceStream::Output(_) => None,
        },
        EntryBody::Whole(_) | EntryBody::Pieces(_) => None,
    });
    answers.eq(assistant_turn_ids.iter().copied()).then_some(*usage)
}

fn fill(log: &mut Log, from: &mut Reader<'_>, logged: &LoggedEvents<'_>) -> Option<()> {
    log.coalesced = from.number()? == 1;
    let mut texts = Vec::new();
    for _ in 0..from.number()? {
        let (stream, text) = match from.number()? {
            0 => logged.text(from.turn()?)?,
            _ => (from.json()?, ""),
        };
        log.streams.push(stream);
        texts.push(text);
    }
    let mut answers = Vec::new();
    while from.at < from.bytes.len() {
        let mark = *MARKS.get(usize::from(from.byte()?))?;
        let lane = LaneId(u16::try_from(from.number()?).ok()?);
        log.skip(from.number()?);
        let mut count = 1;
        let told = match mark {
            Mark::Logged | Mark::Kept | Mark::Gone => {
                let stream = u32::try_from(from.number()?).ok()?;
                count = u32::try_from(from.number()?).ok()?;
                let text = match mark {
                    Mark::Logged => {
                        let length = usize::try_from(from.number()?).ok()?;
                        let text = texts.get_mut(stream as usize)?;
                        let (said, rest) = text.split_at_checked(length)?;
                        *text = rest;
                        Some(said.to_owned())
                    }
                    Mark::Kept => Some(String::from_utf8(from.some()?.to_vec()).ok()?),
                    _ => None,
                };
                Some(EntryBody::Pieces(Box::new(match text {
                    Some(text) => {
                        Pieces { stream, text, lengths: from.some()?.to_vec(), gone: false }
                    }
                    None => Pieces { stream, gone: true, ..Pieces::default() },
                })))
            }
            Mark::Complete => {
                let stream = u32::try_from(from.number()?).ok()?;
                if let PieceStream::Text { turn, .. } = log.streams.get(stream as usize)? {
                    answers.push(*turn);
                }
                Some(EntryBody::Complete(stream))
            }
            Mark::Start => logged.start(),
            Mark::Call => logged.call(from.turn()?),
            Mark::Result => {
                let (turn, line) = (from.turn()?, from.some()?);
                logged.result(turn, String::from_utf8(line.to_vec()).ok()?)
            }
            Mark::Usage => logged.usage(),
            Mark::Done => logged.done(&answers),
            Mark::Whole => Some(EntryBody::Whole(Box::new(from.json()?))),
        };
        match told {
            Some(told) => log.push(lane, count, told),
            None => log.skip(1),
        }
    }
    Some(())
}

/// The events of the run as its log tells them.
struct LoggedEvents<'a>(&'a [Envelope]);

impl<'a> LoggedEvents<'a> {
    fn find(&self, is_it: impl Fn(&Event) -> bool) -> Option<&'a Event> {
        self.0.iter().map(|envelope| &envelope.event).find(|event| is_it(event))
    }

    fn text(&self, turn: TurnId) -> Option<(PieceStream, &'a str)> {
        self.0.iter().find_map(|envelope| match &envelope.event {
            Event::TextComplete { turn_id, agent, text } if *turn_id == turn => {
                Some((PieceStream::Text { turn, agent: agent.clone() }, text.as_str()))
            }
            _ => None,
        })
    }

    fn start(&self) -> Option<EntryBody> {
        self.find(|event| matches!(event, Event::Start { .. })).map(whole)
    }

    fn call(&self, turn: TurnId) -> Option<EntryBody> {
        let is_it =
            |event: &Event| matches!(event, Event::ToolCall { turn_id, .. } if *turn_id == turn);
        self.find(is_it).map(whole)
    }

    fn result(&self, turn: TurnId, line: String) -> Option<EntryBody> {
        let is_it =
            |event: &Event| matches!(event, Event::ToolResult { turn_id, .. } if *turn_id == turn);
        let mut event = self.find(is_it)?.clone();
        if let Event::ToolResult { summary, .. } = &mut event {
            *summary = line;
        }
        Some(EntryBody::Whole(Box::new(event)))
    }

    fn done(&self, answers: &[TurnId]) -> Option<EntryBody> {
        let mut event = self.find(|event| matches!(event, Event::Done { .. }))?.clone();
        if let Event::Done { assistant_turn_ids, .. } = &mut event {
            *assistant_turn_ids = answers.to_vec();
        }
        Some(EntryBody::Whole(Box::new(event)))
    }

    fn usage(&self) -> Option<EntryBody> {
        self.0.iter().find_map(|envelope| match &envelope.event {
            Event::Done { usage, .. } => Some(whole(&Event::Usage { usage: *usage })),
            _ => None,
        })
    }
}

fn whole(event: &Event) -> EntryBody {
    EntryBody::Whole(Box::new(event.clone()))
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        lengths::write(&mut self.0, number);
    }

    fn turn(&mut self, turn: TurnId) {
        self.0.extend_from_slice(turn.as_uuid().as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn json(&mut self, value: &impl Serialize) {
        // Serialising our own types cannot fail; if it did, the value would be left out.
        self.bytes(&serde_json::to_vec(value).unwrap_or_default());
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        lengths::read(self.bytes, &mut self.at)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn some(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn turn(&mut self) -> Option<TurnId> {
        Some(TurnId::from_bytes(self.take(16)?.try_into().ok()?))
    }

    fn json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_slice(self.some()?).ok()
    }
}
