//! A recorded run with events of every kind.

use onyx_types::{
    AgentId, CitedSource, ContextPiece, DraftId, Envelope, ErrorCode, Event, Fault, IdGenerator,
    LaneId, MatchType, Origin, Preview, RunId, RunStatus, Scope, SessionId, StatusCode, Timestamp,
    ToolUseId, TurnId, Usage,
};
use serde_json::json;

pub(crate) const SESSION: &str = "01936c00-0000-7000-8000-000000000001";
pub(crate) const RUN: &str = "01936c00-0000-7000-8000-000000000002";
pub(crate) const DRAFT: &str = "01936c00-0000-7000-8000-000000000003";

pub(crate) fn session() -> SessionId {
    SESSION.parse().unwrap()
}

pub(crate) fn run() -> RunId {
    RUN.parse().unwrap()
}

fn draft() -> DraftId {
    DRAFT.parse().unwrap()
}

fn agent() -> AgentId {
    "main".parse().unwrap()
}

pub(crate) fn turns() -> [TurnId; 3] {
    let mut mint = IdGenerator::new(1);
    [(); 3].map(|()| mint.turn(Timestamp::UNIX_EPOCH))
}

pub(crate) fn envelopes(events: impl IntoIterator<Item = Event>) -> Vec<Envelope> {
    (1..)
        .zip(events)
        .map(|(seq, event)| Envelope { seq, run_id: run(), lane: LaneId(0), event })
        .collect()
}

pub(crate) fn start() -> Event {
    Event::Start {
        session_id: session(),
        agents: vec![agent()],
        model: "mine/some-model".to_owned(),
        action: None,
    }
}

pub(crate) fn delta(turn: TurnId, text: &str) -> Event {
    Event::TextDelta { turn_id: turn, agent: agent(), text: text.to_owned() }
}

pub(crate) fn complete(turn: TurnId, text: &str) -> Event {
    Event::TextComplete { turn_id: turn, agent: agent(), text: text.to_owned() }
}

pub(crate) fn error(code: ErrorCode, message: &str) -> Event {
    Event::error(&Fault::new(code, message))
}

pub(crate) fn done(status: RunStatus) -> Event {
    Event::Done {
        session_id: session(),
        status,
        assistant_turn_ids: turns().to_vec(),
        usage: usage(),
    }
}

pub(crate) fn usage() -> Usage {
    Usage { input: 20, output: 10, cache_read: 4, cache_write: 0, cost: Some(0.5) }
}

/// A run of two steps with text, reasoning, live output, a tool that works, one that is refused, a
/// draft, a question, and every event for which NDJSON v2 has no line.
pub(crate) fn whole_run() -> Vec<Envelope> {
    let [first, call, last] = turns();
    let id = |id: &str| ToolUseId(id.to_owned());
    envelopes([
        start(),
        Event::Context {
            pieces: vec![ContextPiece {
                source: "notes.md".to_owned(),
                cited: CitedSource {
                    source_id: "notes.md".to_owned(),
                    chunk_id: "7".to_owned(),
                    title: "Notes".to_owned(),
                    session_id: None,
                    turn: None,
                },
                scope: Scope::Person,
                origin: Origin::Person,
                score: 0.5,
                match_type: MatchType::Fts,
                start_line: 1,
                end_line: 2,
            }],
        },
        Event::Status { message: "trying again".to_owned(), code: StatusCode::Retry },
        Event::ReasoningDelta { turn_id: first, agent: agent(), text: "hm".to_owned() },
        delta(first, "Let me "),
        delta(first, "look."),
        complete(first, "Let me look."),
        Event::ToolCall {
            turn_id: call,
            agent: agent(),
            tool_use_id: id("a"),
            tool: "read_file".to_owned(),
            input: json!({"path": "ä.md"}),
            summary: "Read ä.md".to_owned(),
            label: Box::new(
                onyx_types::Verb::new("read", "reading", "read").of("ä.md").about_file(),
            ),
        },
        Event::ToolOutput { tool_use_id: id("a"), chunk: "live".to_owned() },
        Event::ToolResult {
            turn_id: call,
            tool_use_id: id("a"),
            tool: "read_file".to_owned(),
            ok: true,
            output: "long".to_owned(),
            summary: "1 line".to_owned(),
            duration_ms: 3,
            report: Box::default(),
        },
        Event::Draft {
            draft_id: draft(),
            tool: "write_file".to_owned(),
            summary: "Write b.md".to_owned(),
            preview: Preview::diff("b.md", "+x\n"),
            asks_for: onyx_types::AsksFor::Approval,
        },
        Event::Confirm {
            draft_id: draft(),
            tool: "delete_file".to_owned(),
            summary: "Delete b.md".to_owned(),
            preview: Preview::Text { text: "b.md".to_owned() },
            asks_for: onyx_types::AsksFor::Approval,
            expires_at: Timestamp::UNIX_EPOCH,
        },
        Event::Usage { usage: usage() },
        delta(last, "Here \"it\" is\nnow"),
        complete(last, "Here \"it\" is\nnow!"),
        done(RunStatus::Done),
    ])
}
