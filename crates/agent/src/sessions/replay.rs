//! What a run told, as its log remembers it: for those who come back when its events are no longer
//! kept. Whole texts instead of pieces, everything else as it was.

use std::sync::Arc;

use onyx_storage::Drafts;
use onyx_tools::Toolbox;
use onyx_types::{
    Author, Envelope, ErrorCode, Event, Fault, PersonId, RunId, RunStatus, SessionId, ToolCall,
    Turn, TurnBody, TurnId, Usage,
};

use super::Sessions;

/// Turns read at a time.
const PAGE: usize = 256;

/// Tells again what runs said, from their sessions' logs.
#[derive(Clone)]
pub struct RunReplay {
    sessions: Sessions,
    drafts: Arc<dyn Drafts>,
    toolbox: Arc<Toolbox>,
}

impl RunReplay {
    pub(crate) fn new(sessions: Sessions, drafts: Arc<dyn Drafts>, toolbox: Arc<Toolbox>) -> Self {
        Self { sessions, drafts, toolbox }
    }

    /// What a run told, from its log alone.
    pub async fn of_run(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
    ) -> Result<Vec<Envelope>, Fault> {
        let turns = self.turns_since(person, session, run).await?;
        self.of_turns(person, session, run, &turns).await
    }

    /// The runs that came after one, in their order.
    pub async fn runs_after(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
    ) -> Result<Vec<RunId>, Fault> {
        let turns = self.turns_since(person, session, run).await?;
        let begun = turns.iter().filter(|turn| matches!(turn.body, TurnBody::RunStart(_)));
        Ok(begun.filter_map(|turn| turn.run).filter(|other| *other != run).collect())
    }

    async fn turns_since(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
    ) -> Result<Vec<Turn>, Fault> {
        let is_start =
            |turn: &Turn| turn.run == Some(run) && matches!(turn.body, TurnBody::RunStart(_));
        Ok(self.sessions.turns_since(person, session, PAGE, is_start).await?.0)
    }

    /// What a run told, from turns of its session that are read already.
    pub(crate) async fn of_turns(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
        turns: &[Turn],
    ) -> Result<Vec<Envelope>, Fault> {
        let mut told = Vec::new();
        let mut tell = |lane, event| {
            let seq = told.len() as u64 + 1;
            told.push(Envelope { seq, run_id: run, lane, event });
        };
        let mut calls: Vec<(&onyx_types::ToolUseId, &str)> = Vec::new();
        let mut answers = Vec::new();
        let mut has_ended = false;
        for turn in turns.iter().filter(|turn| turn.run == Some(run)) {
            let agent = match &turn.author {
                Author::Agent(agent) => Some(agent.clone()),
                Author::Person(_) | Author::System => None,
            };
            match (&turn.body, agent) {
                (TurnBody::RunStart(start), _) => {
                    let event = Event::Start {
                        session_id: session,
                        agents: start.agents.clone(),
                        model: start.model.clone().unwrap_or_default(),
                    };
                    tell(turn.lane, event);
                }
                (TurnBody::AssistantText(text), Some(agent)) => {
                    answers.push(turn.id);
                    let text = text.content.clone();
                    tell(turn.lane, Event::TextComplete { turn_id: turn.id, agent, text });
                }
                (TurnBody::ToolCall(call), Some(agent)) => {
                    calls.push((&call.tool_use_id, &call.tool_name));
                    let asked = ToolCall {
                        id: call.tool_use_id.clone(),
                        name: call.tool_name.clone(),
                        input: call.input.clone(),
                    };
                    let event = Event::ToolCall {
                        turn_id: turn.id,
                        agent,
                        tool_use_id: call.tool_use_id.clone(),
                        tool: call.tool_name.clone(),
                        input: call.input.clone(),
                        summary: self.toolbox.summary(&asked),
                    };
                    tell(turn.lane, event);
                }
                (TurnBody::ToolResult(result), _) => {
                    let named = calls.iter().rev().find(|(id, _)| **id == result.tool_use_id);
                    let tool = named.map_or_else(String::new, |(_, tool)| (*tool).to_owned());
                    let summary = turn.extra.get("summary").and_then(|line| line.as_str());
                    let event = Event::ToolResult {
                        turn_id: turn.id,
                        tool_use_id: result.tool_use_id.clone(),
                        tool: tool.clone(),
                        ok: !result.is_error,
                        output: result.output.clone(),
                        summary: summary.unwrap_or_default().to_owned(),
                        duration_ms: result.duration_ms,
                    };
                    tell(turn.lane, event);
                    if let Some(id) = result.draft_id
                        // A draft that is gone has nothing more to be decided.
                        && let Ok(Some(draft)) = self.drafts.draft(person, id).await
                    {
                        let plan = draft.plan;
                        let event = Event::Draft {
                            draft_id: id,
                            tool,
                            summary: plan.summary,
                            preview: plan.preview,
                        };
                        tell(turn.lane, event);
                    }
                }
                (TurnBody::RunEnd(end), _) => {
                    has_ended = true;
                    if let Some(fault) = &end.error {
                        tell(turn.lane, Event::error(fault));
                    }
                    let answers = answers.clone();
                    tell(turn.lane, done(session, end.status, answers, end.usage));
                }
                _ => {}
            }
        }
        if !has_ended {
            let lane = onyx_types::LaneId::default();
            tell(lane, Event::error(&Fault::plain(ErrorCode::Interrupted)));
            let usage = Usage::default();
            tell(lane, done(session, RunStatus::Interrupted, answers, usage));
        }
        Ok(told)
    }
}

fn done(
    session_id: SessionId,
    status: RunStatus,
    assistant_turn_ids: Vec<TurnId>,
    usage: Usage,
) -> Event {
    Event::Done { session_id, status, assistant_turn_ids, usage }
}
