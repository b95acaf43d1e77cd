//! `/api/agent/chat`: the whole run as one answer.

use onyx_types::{
    AgentId, DraftId, Envelope, Event, Fault, Preview, RunId, RunStatus, SessionId, ToolUseId,
    Usage,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Encoder;
use super::text::{PARAGRAPH, TextFold};

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChatReply {
    pub session_id: SessionId,
    pub run_id: RunId,
    pub message: String,
    pub tools: Vec<ToolView>,
    pub drafts: Vec<DraftView>,
    pub usage: Usage,
    /// Not part of the body of a good answer: any other end is told as a problem.
    #[serde(skip)]
    pub status: RunStatus,
    #[serde(skip)]
    pub error: Option<Fault>,
}

/// One tool call, wherever a whole answer is shown.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToolView {
    pub id: ToolUseId,
    pub tool: String,
    pub args: Value,
    /// `None` while there is no result.
    pub ok: Option<bool>,
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DraftView {
    pub draft_id: DraftId,
    pub tool: String,
    pub summary: String,
    pub preview: Preview,
}

#[derive(Debug)]
struct Answer {
    agent: AgentId,
    fold: TextFold,
    text: String,
}

/// Yields one frame, at the end.
#[derive(Debug, Default)]
pub struct Collect {
    /// Each agent's words, in the order of their lanes.
    answers: Vec<Answer>,
    reply: Option<ChatReply>,
}

impl Encoder for Collect {
    type Frame = ChatReply;

    fn encode(&mut self, envelope: &Envelope) -> Vec<ChatReply> {
        if let Event::Start { session_id, agents, model: _ } = &envelope.event {
            self.reply = Some(ChatReply::new(*session_id, envelope.run_id));
            self.answers = agents.iter().cloned().map(Answer::by).collect();
        }
        let answer = self.answers.get_mut(usize::from(envelope.lane.0));
        match (&envelope.event, answer, &mut self.reply) {
            (Event::TextDelta { turn_id, agent: _, text }, Some(answer), _) => {
                answer.text += &answer.fold.delta(*turn_id, text);
            }
            (Event::TextComplete { turn_id, agent: _, text }, Some(answer), _) => {
                answer.text += &answer.fold.complete(*turn_id, text);
            }
            (event, _, Some(reply)) => reply.fold(event),
            (_, _, None) => {}
        }
        Vec::new()
    }

    fn finish(&mut self) -> Vec<ChatReply> {
        let Some(mut reply) = self.reply.take() else { return Vec::new() };
        reply.message = joined(std::mem::take(&mut self.answers));
        vec![reply]
    }
}

impl Answer {
    fn by(agent: AgentId) -> Self {
        Self { agent, fold: TextFold::default(), text: String::new() }
    }
}

/// One agent's words as they are; of several, each with its name before it.
fn joined(mut answers: Vec<Answer>) -> String {
    if let [answer] = answers.as_mut_slice() {
        return std::mem::take(&mut answer.text);
    }
    let said = answers.iter().filter(|answer| !answer.text.is_empty());
    let named: Vec<_> = said.map(|answer| format!("[{}]: {}", answer.agent, answer.text)).collect();
    named.join(PARAGRAPH)
}

impl ChatReply {
    fn new(session_id: SessionId, run_id: RunId) -> Self {
        Self {
            session_id,
            run_id,
            message: String::new(),
            tools: Vec::new(),
            drafts: Vec::new(),
            usage: Usage::default(),
            // What it is if no `done` comes.
            status: RunStatus::Interrupted,
            error: None,
        }
    }

    fn fold(&mut self, event: &Event) {
        match event {
            Event::ToolCall { turn_id: _, agent: _, tool_use_id, tool, input, summary } => {
                self.tools.push(ToolView {
                    id: tool_use_id.clone(),
                    tool: tool.clone(),
                    args: input.clone(),
                    ok: None,
                    summary: summary.clone(),
                });
            }
            Event::ToolResult { tool_use_id, ok, summary, .. } => {
                let call = self.tools.iter_mut().rfind(|call| call.id == *tool_use_id);
                if let Some(call) = call {
                    call.ok = Some(*ok);
                    call.summary.clone_from(summary);
                }
            }
            Event::Draft { draft_id, tool, summary, preview }
            | Event::Confirm { draft_id, tool, summary, preview, expires_at: _ } => {
                self.drafts.push(DraftView {
                    draft_id: *draft_id,
                    tool: tool.clone(),
                    summary: summary.clone(),
                    preview: preview.clone(),
                });
            }
            Event::Error { code, message, hint } => {
                self.error = Some(Fault::new(*code, message.clone()).with_hint(hint.clone()));
            }
            Event::Done { status, usage, .. } => {
                self.status = *status;
                self.usage = *usage;
            }
            Event::Start { .. }
            | Event::TextDelta { .. }
            | Event::TextComplete { .. }
            | Event::ReasoningDelta { .. }
            | Event::ToolOutput { .. }
            | Event::Context { .. }
            | Event::Status { .. }
            | Event::Usage { .. } => {}
        }
    }
}
