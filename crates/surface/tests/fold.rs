//! Tests the view of a run that every surface gets, whatever the surface then writes.

#![allow(clippy::unwrap_used)]

use onyx_surface::{Part, RunFold};
use onyx_types::{
    AgentId, AsksFor, CallReport, DraftId, Envelope, ErrorCode, Event, Fault, IdGenerator, LaneId,
    Preview, RunId, RunStatus, SessionId, Timestamp, ToolUseId, TurnId, Usage, Verb,
};
use serde_json::json;

const SESSION: &str = "01936c00-0000-7000-8000-000000000001";
const RUN: &str = "01936c00-0000-7000-8000-000000000002";
const DRAFT: &str = "01936c00-0000-7000-8000-000000000003";

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn turns() -> [TurnId; 3] {
    let mut mint = IdGenerator::new(1);
    [(); 3].map(|()| mint.turn(Timestamp::UNIX_EPOCH))
}

fn start(agents: &[&str]) -> Event {
    let session_id: SessionId = SESSION.parse().unwrap();
    let agents = agents.iter().map(|name| agent(name)).collect();
    Event::Start { session_id, agents, model: "mine/some-model".to_owned(), action: None }
}

fn delta(turn_id: TurnId, text: &str) -> Event {
    Event::TextDelta { turn_id, agent: agent("main"), text: text.to_owned() }
}

fn complete(turn_id: TurnId, text: &str) -> Event {
    Event::TextComplete { turn_id, agent: agent("main"), text: text.to_owned() }
}

fn envelopes(events: impl IntoIterator<Item = (u16, Event)>) -> Vec<Envelope> {
    let run_id: RunId = RUN.parse().unwrap();
    let envelope = |(seq, (lane, event))| Envelope { seq, run_id, lane: LaneId(lane), event };
    (1..).zip(events).map(envelope).collect()
}

/// The text that a client without agents reads, and each agent's own answer.
fn texts(events: impl IntoIterator<Item = (u16, Event)>) -> (String, [String; 2]) {
    let (mut fold, mut all, mut each) =
        (RunFold::default(), String::new(), [const { String::new() }; 2]);
    for envelope in envelopes(events) {
        for part in fold.parts(&envelope) {
            if let Part::Text { turn_id: _, words } = part {
                all += &words.in_run();
                each[usize::from(envelope.lane.0)] += &words.in_answer();
            }
        }
    }
    (all, each)
}

#[test]
fn a_text_is_told_once_and_steps_are_paragraphs() {
    let [first, second, third] = turns();
    let (all, [answer, _]) = texts([
        (0, start(&["main"])),
        (0, delta(first, "Let me ")),
        (0, delta(first, "look.")),
        (0, complete(first, "Let me look.")),
        (0, complete(second, "Nothing")),
        (0, delta(third, "")),
        (0, delta(third, "Do")),
        (0, complete(third, "Done.")),
    ]);
    assert_eq!(all, "Let me look.\n\nNothing\n\nDone.");
    assert_eq!(answer, all);
}

#[test]
fn answers_of_several_agents_are_paragraphs_of_one_text_and_whole_by_themselves() {
    let [first, second, third] = turns();
    let (all, each) = texts([
        (0, start(&["main", "other"])),
        (1, delta(second, "B")),
        (0, delta(first, "A")),
        (1, delta(second, "b")),
        (0, delta(third, "more")),
    ]);
    assert_eq!(all, "B\n\nAb\n\nmore");
    assert_eq!(each, ["A\n\nmore", "Bb"]);
}

#[test]
fn tools_proposals_and_errors_are_parts_and_the_end_is_the_last() {
    let [turn, ..] = turns();
    let (id, draft_id) = (ToolUseId("a".to_owned()), DRAFT.parse::<DraftId>().unwrap());
    let (input, preview) = (json!({"path": "a.md"}), Preview::Text { text: "a.md".to_owned() });
    let fault = Fault::plain(ErrorCode::LimitSteps);
    let label = Verb::new("delete", "deleting", "deleted").of("a.md").about_file();
    let run = envelopes([
        (0, start(&["main"])),
        (
            0,
            Event::ToolCall {
                turn_id: turn,
                agent: agent("main"),
                tool_use_id: id.clone(),
                tool: "delete_file".to_owned(),
                input: input.clone(),
                summary: "Delete a.md".to_owned(),
                label: Box::new(label.clone()),
            },
        ),
        (
            0,
            Event::Confirm {
                draft_id,
                tool: "delete_file".to_owned(),
                summary: "Delete a.md".to_owned(),
                preview: preview.clone(),
                asks_for: AsksFor::Approval,
                expires_at: Timestamp::UNIX_EPOCH,
            },
        ),
        (
            0,
            Event::ToolResult {
                turn_id: turn,
                tool_use_id: id.clone(),
                tool: "delete_file".to_owned(),
                ok: false,
                output: "no".to_owned(),
                summary: "Refused".to_owned(),
                duration_ms: 3,
                report: Box::default(),
            },
        ),
        (0, Event::error(&fault)),
        (
            0,
            Event::Done {
                session_id: SESSION.parse().unwrap(),
                status: RunStatus::Error,
                assistant_turn_ids: Vec::new(),
                usage: Usage::default(),
            },
        ),
    ]);
    let mut fold = RunFold::default();
    let told: Vec<Part<'_>> = run.iter().flat_map(|envelope| fold.parts(envelope)).collect();
    let expected = [
        Part::Start {
            session_id: SESSION.parse().unwrap(),
            agents: &[agent("main")],
            model: "mine/some-model",
            action: None,
        },
        Part::ToolCall {
            turn_id: turn,
            id: &id,
            tool: "delete_file",
            input: &input,
            summary: "Delete a.md",
            label: &label,
        },
        Part::Proposal {
            draft_id,
            tool: "delete_file",
            summary: "Delete a.md",
            preview: &preview,
            asks_for: AsksFor::Approval,
            expires_at: Some(Timestamp::UNIX_EPOCH),
        },
        Part::ToolResult {
            turn_id: turn,
            id: &id,
            tool: "delete_file",
            ok: false,
            output: "no",
            summary: "Refused",
            call_summary: "Delete a.md".to_owned(),
            call_label: Some(Box::new(label.clone())),
            duration_ms: 3,
            report: &CallReport::default(),
        },
        Part::Error {
            code: fault.code,
            message: &fault.message,
            hint: fault.hint(),
            retry_after: fault.retry_after,
        },
        Part::Done { status: RunStatus::Error, assistant_turn_ids: &[], usage: Usage::default() },
    ];
    assert_eq!(told, expected);
    assert_eq!((fold.first_turn(), fold.is_over()), (Some(turn), true));
    assert_eq!(fold.finish().count(), 0);
}

#[test]
fn a_run_whose_events_break_off_was_interrupted_and_that_is_said_once() {
    let mut fold = RunFold::default();
    let run = envelopes([(0, start(&["main"])), (0, delta(turns()[0], "half"))]);
    assert_eq!(run.iter().flat_map(|envelope| fold.parts(envelope)).count(), 2);
    let code = ErrorCode::Interrupted;
    let end: Vec<Part<'_>> = fold.finish().collect();
    let expected = [
        Part::Error { code, message: code.sentence(), hint: code.hint(), retry_after: None },
        Part::Done {
            status: RunStatus::Interrupted,
            assistant_turn_ids: &[],
            usage: Usage::default(),
        },
    ];
    assert_eq!(end, expected);
    assert_eq!(fold.finish().count(), 0);
}
