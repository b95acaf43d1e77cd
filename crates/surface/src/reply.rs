//! A whole run as one reply.

use onyx_types::{
    AgentId, DraftId, Envelope, Fault, LaneId, Preview, RunId, RunStatus, SessionId, ToolUseId,
    Usage,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::Encoder;
use crate::fold::{Part, RunFold};
use crate::words::PARAGRAPH;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChatReply {
    pub session_id: SessionId,
    pub run_id: RunId,
    pub message: String,
    pub tools: Vec<ToolView>,
    pub drafts: Vec<DraftView>,
    pub usage: Usage,
    /// The run's status. It is not part of the body of a good answer, because any other end is
    /// reported as a problem.
    #[serde(skip)]
    pub status: RunStatus,
    #[serde(skip)]
    pub error: Option<Fault>,
}

/// One tool call in a complete answer.
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

/// The state of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    Running,
    Ok,
    Failed,
}

impl ToolState {
    /// The state by a call's result, which is `None` while there is none.
    pub const fn of(ok: Option<bool>) -> Self {
        match ok {
            None => Self::Running,
            Some(true) => Self::Ok,
            Some(false) => Self::Failed,
        }
    }
}

/// Collects a run and emits it as one frame at the end.
#[derive(Debug, Default)]
pub struct Collect {
    fold: RunFold,
    /// The text of each agent, in the order of their lanes.
    texts: Vec<(AgentId, String)>,
    reply: Option<ChatReply>,
}

impl Encoder for Collect {
    type Frame = ChatReply;

    fn encode(&mut self, envelope: &Envelope) -> Vec<ChatReply> {
        for part in self.fold.parts(envelope) {
            self.add(envelope.run_id, envelope.lane, &part);
        }
        Vec::new()
    }

    fn finish(&mut self) -> Vec<ChatReply> {
        let Some(mut reply) = self.reply.take() else { return Vec::new() };
        reply.message = joined(std::mem::take(&mut self.texts));
        vec![reply]
    }
}

impl Collect {
    fn add(&mut self, run_id: RunId, lane: LaneId, part: &Part<'_>) {
        match part {
            Part::Start { session_id, agents, .. } => {
                self.reply = Some(ChatReply::new(*session_id, run_id));
                self.texts = agents.iter().map(|agent| (agent.clone(), String::new())).collect();
            }
            Part::Text { turn_id: _, words } => {
                if let Some((_, text)) = self.texts.get_mut(usize::from(lane.0)) {
                    text.push_str(words.lead_in_answer());
                    text.push_str(words.text);
                }
            }
            part => {
                if let Some(reply) = &mut self.reply {
                    reply.add(part);
                }
            }
        }
    }
}

/// The text of a single agent as it is; the texts of several agents, each with the agent's name
/// before it.
fn joined(mut texts: Vec<(AgentId, String)>) -> String {
    if let [(_, text)] = texts.as_mut_slice() {
        return std::mem::take(text);
    }
    let said = texts.iter().filter(|(_, text)| !text.is_empty());
    let named: Vec<_> = said.map(|(agent, text)| format!("[{agent}]: {text}")).collect();
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
            // This status stays if no `done` event comes.
            status: RunStatus::Interrupted,
            error: None,
        }
    }

    fn add(&mut self, part: &Part<'_>) {
        match part {
            Part::ToolCall { turn_id: _, id, tool, input, summary, label: _ } => {
                self.tools.push(ToolView {
                    id: (*id).clone(),
                    tool: (*tool).to_owned(),
                    args: (*input).clone(),
                    ok: None,
                    summary: (*summary).to_owned(),
                })
            }
            Part::ToolResult { id, ok, summary, .. } => {
                if let Some(call) = self.tools.iter_mut().rfind(|call| call.id == **id) {
                    call.ok = Some(*ok);
                    (*summary).clone_into(&mut call.summary);
                }
            }
            Part::Proposal { draft_id, tool, summary, preview, .. } => {
                self.drafts.push(DraftView {
                    draft_id: *draft_id,
                    tool: (*tool).to_owned(),
                    summary: (*summary).to_owned(),
                    preview: (*preview).clone(),
                });
            }
            Part::Error { code, message, hint, retry_after } => {
                let mut fault = Fault::new(*code, *message).with_hint(*hint);
                fault.retry_after = *retry_after;
                self.error = Some(fault);
            }
            Part::Done { status, assistant_turn_ids: _, usage } => {
                self.status = *status;
                self.usage = *usage;
            }
            Part::Start { .. }
            | Part::Text { .. }
            | Part::TextComplete { .. }
            | Part::Reasoning { .. }
            | Part::ToolOutput { .. }
            | Part::Context { .. }
            | Part::Status { .. }
            | Part::Usage(_) => {}
        }
    }
}
