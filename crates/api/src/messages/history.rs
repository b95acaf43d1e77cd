//! The conversation as a person reads it: turns of the log folded into messages.

use onyx_surface::{PARAGRAPH, ToolView};
use onyx_types::{
    AgentId, Author, DraftId, Fault, LaneId, RunEnd, RunId, RunStatus, TextStatus, Timestamp,
    ToolResultTurn, Turn, TurnBody, TurnId, Usage, UserTurn,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The longest summary of a tool's output, in characters.
const SUMMARY: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryMessage {
    /// The first turn of the message.
    pub id: TurnId,
    pub role: MessageRole,
    /// The agent that answered; absent for a person's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub content: String,
    pub status: MessageStatus,
    pub created_at: Timestamp,
    pub tools: Vec<ToolView>,
    /// The reason why there is no answer, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// Details for surfaces that show them.
    #[serde(skip)]
    pub trace: Trace,
}

/// Details that belong to an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The turns of the answer's texts: a rating names one of them.
    pub texts: Vec<TurnId>,
    pub draft_ids: Vec<DraftId>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The usage of the whole run, once it is over.
    pub usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    User,
    Assistant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    Complete,
    Cancelled,
    Error,
    Interrupted,
    /// The run is still in progress.
    Streaming,
}

/// Folds turns into messages. Each user turn is a message; everything that an agent said and did in
/// one run is one message.
pub fn messages(turns: &[Turn]) -> Vec<HistoryMessage> {
    let mut fold = Fold::default();
    for turn in turns {
        fold.add(turn);
    }
    fold.messages
}

#[derive(Default)]
pub(crate) struct Fold {
    messages: Vec<HistoryMessage>,
    /// Answers that may still get more turns: run, lane and index in `messages`.
    open: Vec<(Option<RunId>, LaneId, usize)>,
    /// The agents of the newest run, in the order of their lanes.
    newest_run: Option<(Option<RunId>, Vec<AgentId>)>,
}

impl Fold {
    /// Takes the messages that no later turn can change. Each is returned once.
    pub(crate) fn take_finished(&mut self) -> Vec<HistoryMessage> {
        let first_open = self.open.iter().map(|(.., index)| *index).min();
        let finished = first_open.unwrap_or(self.messages.len());
        self.open.iter_mut().for_each(|(.., index)| *index -= finished);
        self.messages.drain(..finished).collect()
    }

    pub(crate) fn take_all(&mut self) -> Vec<HistoryMessage> {
        self.open.clear();
        std::mem::take(&mut self.messages)
    }

    pub(crate) fn add(&mut self, turn: &Turn) {
        match &turn.body {
            TurnBody::User(user) => {
                // A message in the middle of a run ends the answer so far.
                self.close(turn.run, |_| (MessageStatus::Complete, None));
                self.messages.push(HistoryMessage {
                    id: turn.id,
                    role: MessageRole::User,
                    agent: None,
                    content: user.content.text(),
                    status: status_of_words(user),
                    created_at: turn.ts,
                    tools: Vec::new(),
                    error: None,
                    trace: Trace::default(),
                });
            }
            TurnBody::AssistantText(text) => {
                let answer = self.answer(turn);
                if !answer.content.is_empty() && !text.content.is_empty() {
                    answer.content.push_str(PARAGRAPH);
                }
                answer.content.push_str(&text.content);
                answer.trace.texts.push(turn.id);
                answer.trace.model = Some(text.model.clone());
                answer.status = status_of_text(text.status);
            }
            TurnBody::ToolCall(call) => self.answer(turn).tools.push(ToolView {
                id: call.tool_use_id.clone(),
                tool: call.tool_name.clone(),
                args: call.input.clone(),
                ok: None,
                summary: String::new(),
            }),
            TurnBody::ToolResult(result) => {
                let answer = self.answer(turn);
                answer.trace.draft_ids.extend(result.draft_id);
                let call = answer.tools.iter_mut().rfind(|call| call.id == result.tool_use_id);
                if let Some(call) = call {
                    call.ok = Some(!result.is_error);
                    call.summary = summary_of(turn, result);
                }
            }
            TurnBody::RunStart(start) => {
                self.newest_run = Some((turn.run, start.agents.clone()));
            }
            TurnBody::RunEnd(end) => self.end(turn, end),
            TurnBody::Reasoning(_)
            | TurnBody::Decision(_)
            | TurnBody::Summary(_)
            | TurnBody::Feedback(_)
            | TurnBody::Unknown(_) => {}
        }
    }

    /// The answer that a turn belongs to; a new one if this is its first turn.
    fn answer(&mut self, turn: &Turn) -> &mut HistoryMessage {
        let known = self.open.iter().find(|(run, lane, _)| (*run, *lane) == (turn.run, turn.lane));
        let index = match known {
            Some((_, _, index)) => *index,
            None => {
                self.messages.push(empty_answer(turn));
                let index = self.messages.len() - 1;
                self.open.push((turn.run, turn.lane, index));
                index
            }
        };
        &mut self.messages[index]
    }

    fn end(&mut self, turn: &Turn, end: &RunEnd) {
        let status = match end.status {
            RunStatus::Done | RunStatus::AwaitingClient => MessageStatus::Complete,
            RunStatus::Cancelled => MessageStatus::Cancelled,
            RunStatus::Error => MessageStatus::Error,
            RunStatus::Interrupted => MessageStatus::Interrupted,
        };
        let cancelled = turn.cancelled_lanes();
        self.name_unheard(turn, &cancelled);
        let answered = self.open.iter().any(|(run, ..)| *run == turn.run);
        if !answered && status != MessageStatus::Complete {
            // An agent that did not answer still gets a message, so that people see which one
            // failed.
            let newest_run = self.newest_run.take().filter(|(run, _)| *run == turn.run);
            self.answer(turn).agent = newest_run.and_then(|(_, agents)| agents.into_iter().next());
        }
        for (run, _, index) in &self.open {
            if *run == turn.run {
                self.messages[*index].trace.usage = Some(end.usage);
            }
        }
        // Where several agents answer, a failed one does not affect the others.
        let unfinished = turn.extra.get("unfinished_lanes").and_then(|lanes| lanes.as_array());
        self.close(turn.run, |lane| match unfinished {
            _ if cancelled.contains(&lane) => (MessageStatus::Cancelled, None),
            Some(lanes) if !lanes.contains(&lane.0.into()) => (MessageStatus::Complete, None),
            Some(_) | None => (status, end.error.as_ref()),
        });
    }

    /// Adds answers for agents that were stopped before their first word, so that people see it.
    fn name_unheard(&mut self, turn: &Turn, cancelled: &[LaneId]) {
        for lane in cancelled {
            let is_heard = self.open.iter().any(|(run, open, _)| *run == turn.run && open == lane);
            let newest_run = self.newest_run.as_ref().filter(|(run, _)| *run == turn.run);
            let agent = newest_run.and_then(|(_, agents)| agents.get(usize::from(lane.0))).cloned();
            if !is_heard && agent.is_some() {
                let of_lane = Turn { lane: *lane, ..turn.clone() };
                self.answer(&of_lane).agent = agent;
            }
        }
    }

    fn close<'e>(
        &mut self,
        run: Option<RunId>,
        outcome: impl Fn(LaneId) -> (MessageStatus, Option<&'e Fault>),
    ) {
        let messages = &mut self.messages;
        self.open.retain(|(open, lane, index)| {
            let belongs = *open == run;
            if belongs {
                let (status, error) = outcome(*lane);
                messages[*index].status = status;
                messages[*index].error = error.cloned();
            }
            !belongs
        });
    }
}

fn empty_answer(turn: &Turn) -> HistoryMessage {
    HistoryMessage {
        id: turn.id,
        role: MessageRole::Assistant,
        agent: match &turn.author {
            Author::Agent(agent) => Some(agent.clone()),
            Author::Person(_) | Author::System => None,
        },
        content: String::new(),
        status: MessageStatus::Streaming,
        created_at: turn.ts,
        tools: Vec::new(),
        error: None,
        trace: Trace::default(),
    }
}

pub(crate) fn status_of_words(words: &UserTurn) -> MessageStatus {
    if words.withdrawn { MessageStatus::Cancelled } else { MessageStatus::Complete }
}

/// The status of an answer after a text. A complete text does not end the run, because more may
/// follow.
fn status_of_text(status: TextStatus) -> MessageStatus {
    match status {
        TextStatus::Complete => MessageStatus::Streaming,
        TextStatus::Cancelled => MessageStatus::Cancelled,
        TextStatus::Error => MessageStatus::Error,
        TextStatus::Interrupted => MessageStatus::Interrupted,
    }
}

/// The line the tool itself gave, if the log has it, else the first line of its output.
fn summary_of(turn: &Turn, result: &ToolResultTurn) -> String {
    let own = turn.extra.get("summary").and_then(|summary| summary.as_str());
    let line = own.unwrap_or_else(|| {
        result.output.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
    });
    line.trim().chars().take(SUMMARY).collect()
}

impl MessageRole {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}
