//! What a run has told so far: one text buffer per turn, deltas as offsets into it. Readers pull
//! at their own pace from any sequence number, so a slow one costs nothing and a second viewer or
//! a rejoining client sees no gap and no repeat.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use onyx_types::{AgentId, Envelope, Event, LaneId, RunId, TurnId};

/// Live tool output beyond this is dropped from the buffer; the tool's result still holds it.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// One run's events, shared by the driver that writes and everybody who reads.
#[derive(Debug)]
pub struct Feed {
    run: RunId,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    entries: Vec<Entry>,
    texts: Vec<TextBuffer>,
    bytes: usize,
    closed: bool,
    /// Of readers that have read everything.
    waiting: Vec<Waker>,
}

#[derive(Debug)]
enum Entry {
    Whole {
        seq: u64,
        lane: LaneId,
        event: Event,
    },
    Delta {
        seq: u64,
        lane: LaneId,
        buffer: u32,
        start: u32,
        end: u32,
    },
    /// The whole of a buffer, said again as complete.
    Complete {
        seq: u64,
        lane: LaneId,
        buffer: u32,
    },
}

#[derive(Debug)]
struct TextBuffer {
    turn: TurnId,
    agent: AgentId,
    kind: DeltaKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeltaKind {
    Text,
    Reasoning,
}

impl Feed {
    pub fn new(run: RunId) -> Arc<Self> {
        Arc::new(Self { run, log: Mutex::default() })
    }

    /// Adds an event. Sequence numbers start at 1 and have no gaps.
    pub fn tell(&self, lane: LaneId, event: Event) {
        let mut log = self.lock();
        let seq = log.entries.len() as u64 + 1;
        log.add(seq, lane, event);
        log.wake_readers();
    }

    /// Nothing more comes.
    pub fn close(&self) {
        let mut log = self.lock();
        log.end();
        log.wake_readers();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The last event is told: there is nothing left to stop.
    pub fn is_done(&self) -> bool {
        let log = self.lock();
        log.closed
            || matches!(log.entries.last(), Some(Entry::Whole { event: Event::Done { .. }, .. }))
    }

    /// The newest event.
    pub fn last(&self) -> Option<Envelope> {
        let log = self.lock();
        log.get(self.run, log.entries.len() as u64)
    }

    /// Bytes this feed holds, about.
    pub fn weight(&self) -> usize {
        let log = self.lock();
        log.bytes
            + log.entries.capacity() * std::mem::size_of::<Entry>()
            + log.texts.capacity() * std::mem::size_of::<TextBuffer>()
            + std::mem::size_of::<Self>()
    }

    /// Everything after `seq`, then what comes.
    pub fn read_after(self: &Arc<Self>, seq: u64) -> EventReader {
        EventReader { feed: Arc::clone(self), after: seq }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        // A panic while holding it leaves whole entries only: each is pushed in one move.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// It may be kept for a while, so it gives back what it had for growing.
    fn end(&mut self) {
        self.closed = true;
        self.entries.shrink_to_fit();
        self.texts.shrink_to_fit();
        for buffer in &mut self.texts {
            buffer.text.shrink_to_fit();
        }
    }

    fn wake_readers(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn wake_later(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    fn add(&mut self, seq: u64, lane: LaneId, event: Event) {
        let entry = match event {
            Event::TextDelta { turn_id, agent, text } => {
                self.delta(seq, lane, DeltaKind::Text, turn_id, agent, &text)
            }
            Event::ReasoningDelta { turn_id, agent, text } => {
                self.delta(seq, lane, DeltaKind::Reasoning, turn_id, agent, &text)
            }
            Event::TextComplete { turn_id, agent, text } => {
                let told = self.buffer_of(turn_id, DeltaKind::Text);
                match told.filter(|index| self.texts[*index].text == text) {
                    Some(index) => Entry::Complete { seq, lane, buffer: index as u32 },
                    None => {
                        self.bytes += text.len();
                        let event = Event::TextComplete { turn_id, agent, text };
                        Entry::Whole { seq, lane, event }
                    }
                }
            }
            Event::ToolOutput { tool_use_id, chunk } => {
                let chunk = if self.bytes > MAX_BYTES { String::new() } else { chunk };
                self.bytes += chunk.len();
                Entry::Whole { seq, lane, event: Event::ToolOutput { tool_use_id, chunk } }
            }
            event => {
                self.bytes += event_weight(&event);
                Entry::Whole { seq, lane, event }
            }
        };
        self.entries.push(entry);
    }

    fn buffer_of(&self, turn: TurnId, kind: DeltaKind) -> Option<usize> {
        self.texts.iter().rposition(|buffer| buffer.turn == turn && buffer.kind == kind)
    }

    fn delta(
        &mut self,
        seq: u64,
        lane: LaneId,
        kind: DeltaKind,
        turn: TurnId,
        agent: AgentId,
        text: &str,
    ) -> Entry {
        let index = self.buffer_of(turn, kind).unwrap_or_else(|| {
            self.texts.push(TextBuffer { turn, agent, kind, text: String::new() });
            self.texts.len() - 1
        });
        let buffer = &mut self.texts[index].text;
        let start = buffer.len() as u32;
        buffer.push_str(text);
        self.bytes += text.len();
        Entry::Delta { seq, lane, buffer: index as u32, start, end: buffer.len() as u32 }
    }

    /// The event numbered `seq`; numbers start at 1 and are dense.
    fn get(&self, run: RunId, seq: u64) -> Option<Envelope> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        Some(match self.entries.get(index)? {
            Entry::Whole { seq, lane, event } => {
                Envelope { seq: *seq, run_id: run, lane: *lane, event: event.clone() }
            }
            Entry::Delta { seq, lane, buffer, start, end } => {
                let buffer = &self.texts[*buffer as usize];
                let text = buffer.text[*start as usize..*end as usize].to_owned();
                let (turn_id, agent) = (buffer.turn, buffer.agent.clone());
                let event = match buffer.kind {
                    DeltaKind::Text => Event::TextDelta { turn_id, agent, text },
                    DeltaKind::Reasoning => Event::ReasoningDelta { turn_id, agent, text },
                };
                Envelope { seq: *seq, run_id: run, lane: *lane, event }
            }
            Entry::Complete { seq, lane, buffer } => {
                let TextBuffer { turn, agent, text, .. } = &self.texts[*buffer as usize];
                let (turn_id, agent, text) = (*turn, agent.clone(), text.clone());
                let event = Event::TextComplete { turn_id, agent, text };
                Envelope { seq: *seq, run_id: run, lane: *lane, event }
            }
        })
    }
}

fn event_weight(event: &Event) -> usize {
    match event {
        Event::TextComplete { text, .. } => text.len(),
        Event::ToolResult { output, summary, .. } => output.len() + summary.len(),
        Event::ToolCall { input, .. } => input.to_string().len(),
        Event::Context { pieces } => pieces.len() * 64,
        Event::Draft { summary, .. } | Event::Confirm { summary, .. } => summary.len(),
        Event::Status { message, .. } | Event::Error { message, .. } => message.len(),
        Event::TextDelta { text, .. } | Event::ReasoningDelta { text, .. } => text.len(),
        Event::ToolOutput { chunk, .. } => chunk.len(),
        Event::Start { .. } | Event::Usage { .. } | Event::Done { .. } => 0,
    }
}

/// One reader's place in a feed.
#[derive(Debug)]
pub struct EventReader {
    feed: Arc<Feed>,
    after: u64,
}

impl EventReader {
    /// The next event; `None` after the last one of a closed feed.
    pub async fn next(&mut self) -> Option<Arc<Envelope>> {
        std::future::poll_fn(|cx| self.read(Some(cx.waker()))).await
    }

    /// As `next`, without waiting. `Pending`: nothing is there yet.
    pub fn next_now(&mut self) -> Poll<Option<Arc<Envelope>>> {
        self.read(None)
    }

    /// The reader is woken for what is not there yet.
    fn read(&mut self, waker: Option<&Waker>) -> Poll<Option<Arc<Envelope>>> {
        let mut log = self.feed.lock();
        if let Some(envelope) = log.get(self.feed.run, self.after + 1) {
            self.after += 1;
            return Poll::Ready(Some(Arc::new(envelope)));
        }
        if log.closed {
            return Poll::Ready(None);
        }
        waker.into_iter().for_each(|waker| log.wake_later(waker));
        Poll::Pending
    }
}
