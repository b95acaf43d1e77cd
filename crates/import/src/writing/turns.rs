//! Turns messages into the turns of a log, in runs like those that Onyx itself writes: a run begins
//! with a question and ends before the next one.

use std::collections::HashSet;

use onyx_types::{
    AgentId, AssistantText, Author, LaneId, Origin, PersonId, RunEnd, RunId, RunStart, RunStatus,
    TextStatus, Timestamp, ToolCallTurn, ToolResultTurn, ToolUseId, Turn, TurnBody, TurnId, Usage,
    UserContent,
};
use serde_json::{Map, Value};

use crate::form::{ImportedMessage, ImportedPart, ImportedSession};
use crate::ids;
use crate::source::Source;

/// The field of a run's start that names the program of the original conversation.
const IMPORTED_FROM: &str = "imported_from";

/// The id of each message's turn, which is the same at each import.
pub(super) fn message_ids(source: Source, session: &ImportedSession) -> Vec<TurnId> {
    let mut mint = ids::mint(source, &session.key);
    session.messages.iter().map(|message| mint.turn(message.at)).collect()
}

/// The people and agents that a session's turns belong to.
pub(super) struct Participants<'a> {
    pub(super) source: Source,
    pub(super) person: &'a PersonId,
    pub(super) agent: &'a AgentId,
}

/// The turns of all messages from `first` on.
pub(super) fn turns(
    session: &ImportedSession,
    ids: &[TurnId],
    first: usize,
    who: &Participants<'_>,
) -> Vec<Turn> {
    let mut log = Log {
        who,
        marks: ids::mint(who.source, &format!("{}#{first}", session.key)),
        turns: Vec::new(),
        open: None,
        at: session.created_at,
    };
    let answered = results(&session.messages[first..]);
    for (message, id) in session.messages.iter().zip(ids).skip(first) {
        log.add(message, *id, &answered);
    }
    log.end_run();
    log.turns
}

/// The ids of calls that have a result. A prompt cannot hold a call without a result.
fn results(messages: &[ImportedMessage]) -> HashSet<&str> {
    let ids = messages.iter().filter_map(|message| match &message.said {
        ImportedPart::Result { id, .. } => Some(id.as_str()),
        ImportedPart::Person { .. } | ImportedPart::Model { .. } | ImportedPart::Call { .. } => {
            None
        }
    });
    ids.collect()
}

struct Log<'a> {
    who: &'a Participants<'a>,
    /// Makes the ids of runs and of the turns that mark their beginning and end.
    marks: onyx_types::IdGenerator,
    turns: Vec<Turn>,
    open: Option<RunId>,
    /// The time of the newest turn, because a log's times must not go back.
    at: Timestamp,
}

impl Log<'_> {
    fn add(&mut self, message: &ImportedMessage, id: TurnId, answered: &HashSet<&str>) {
        self.at = self.at.max(message.at);
        if matches!(message.said, ImportedPart::Person { .. }) {
            self.end_run();
        }
        let run = self.run();
        let agent = || Author::Agent(self.who.agent.clone());
        let (author, body) = match &message.said {
            ImportedPart::Person { text } => (
                Author::Person(self.who.person.clone()),
                TurnBody::User(UserContent::Text(text.clone()).into()),
            ),
            ImportedPart::Model { text, model } => (
                agent(),
                TurnBody::AssistantText(AssistantText {
                    content: text.clone(),
                    status: TextStatus::Complete,
                    model: model.clone(),
                    provider_data: None,
                }),
            ),
            ImportedPart::Call { id, tool, input } => (
                agent(),
                TurnBody::ToolCall(ToolCallTurn {
                    tool_use_id: ToolUseId(id.clone()),
                    tool_name: tool.clone(),
                    input: input.clone(),
                    provider_data: None,
                }),
            ),
            ImportedPart::Result { id, output, is_error } => {
                (Author::System, result(id.clone(), output.clone(), *is_error))
            }
        };
        self.push(id, run, author, Origin::External, body);
        if let ImportedPart::Call { id, .. } = &message.said
            && !answered.contains(id.as_str())
        {
            let mark = self.marks.turn(self.at);
            let body = result(id.clone(), "No result was kept.".to_owned(), true);
            self.push(mark, run, Author::System, Origin::External, body);
        }
    }

    fn run(&mut self) -> RunId {
        if let Some(run) = self.open {
            return run;
        }
        let run = self.marks.run(self.at);
        self.open = Some(run);
        let start = RunStart { agents: vec![self.who.agent.clone()], ..RunStart::default() };
        let id = self.marks.turn(self.at);
        self.push(id, run, Author::System, Origin::Agent, TurnBody::RunStart(start));
        if let Some(turn) = self.turns.last_mut() {
            let source = Value::from(self.who.source.as_str());
            turn.extra.insert(IMPORTED_FROM.to_owned(), source);
        }
        run
    }

    fn end_run(&mut self) {
        let Some(run) = self.open.take() else { return };
        let end = RunEnd {
            status: RunStatus::Done,
            usage: Usage::default(),
            cost: None,
            model: None,
            error: None,
        };
        let id = self.marks.turn(self.at);
        self.push(id, run, Author::System, Origin::Agent, TurnBody::RunEnd(end));
    }

    fn push(&mut self, id: TurnId, run: RunId, author: Author, origin: Origin, body: TurnBody) {
        self.turns.push(Turn {
            id,
            ts: self.at,
            run: Some(run),
            lane: LaneId::default(),
            author,
            origin,
            body,
            extra: Map::new(),
        });
    }
}

fn result(id: String, output: String, is_error: bool) -> TurnBody {
    TurnBody::ToolResult(ToolResultTurn {
        tool_use_id: ToolUseId(id),
        output,
        is_error,
        draft_id: None,
        duration_ms: 0,
        report: None,
    })
}
