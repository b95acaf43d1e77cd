//! Rebuilds a run's events from its log, for readers who return after the events were dropped.
//! Texts come whole instead of in pieces; everything else is as it was.

use std::sync::Arc;

use onyx_storage::{Draft, Drafts};
use onyx_tools::Toolbox;
use onyx_types::{
    AssistantText, Author, Envelope, ErrorCode, Event, Fault, LaneId, PersonId, RunEnd, RunId,
    RunStart, RunStatus, SessionId, Timestamp, ToolCall, ToolCallTurn, ToolResultTurn, ToolUseId,
    Turn, TurnBody, TurnId, Usage,
};

use super::Sessions;

/// How many turns are read at a time.
const PAGE: usize = 256;
/// How many turns from the newest back may hold the end of a run: waiting messages and feedback may
/// follow it.
const LAST: usize = 16;

/// Replays the events of runs from their sessions' logs.
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

    /// A run's events, rebuilt from its log alone.
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

    /// The newest run of a session and when it ended, if it has.
    pub async fn newest_ended(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<(RunId, Timestamp)>, Fault> {
        let newest = self.sessions.turns(person, session, None, LAST).await?.turns;
        let bound = |turn: &&Turn| matches!(turn.body, TurnBody::RunStart(_) | TurnBody::RunEnd(_));
        let ended = newest.iter().rfind(bound);
        let ended = ended.filter(|turn| matches!(turn.body, TurnBody::RunEnd(_)));
        Ok(ended.and_then(|turn| Some((turn.run?, turn.ts))))
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

    /// Rebuilds a run's events from turns of its session.
    pub(crate) async fn of_turns(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
        turns: &[Turn],
    ) -> Result<Vec<Envelope>, Fault> {
        let mut events = ReplayedEvents::new(session, run);
        for turn in turns.iter().filter(|turn| turn.run == Some(run)) {
            match &turn.body {
                TurnBody::RunStart(start) => events.start(turn, start),
                TurnBody::AssistantText(text) => events.text(turn, text),
                TurnBody::ToolCall(call) => events.call(turn, call, &self.toolbox),
                TurnBody::ToolResult(result) => {
                    events.result(turn, result);
                    if let Some(id) = result.draft_id
                        // A draft that was deleted cannot be decided any more, so it is not shown.
                        && let Ok(Some(draft)) = self.drafts.draft(person, id).await
                    {
                        events.draft(turn, &result.tool_use_id, draft);
                    }
                }
                TurnBody::RunEnd(end) => events.end(turn, end),
                _ => {}
            }
        }
        Ok(events.finish())
    }
}

/// The events of a run while they are rebuilt.
struct ReplayedEvents {
    session: SessionId,
    run: RunId,
    events: Vec<Envelope>,
    /// The calls so far, with the names of their tools.
    calls: Vec<(ToolUseId, String)>,
    answers: Vec<TurnId>,
    has_ended: bool,
}

impl ReplayedEvents {
    fn new(session: SessionId, run: RunId) -> Self {
        let (events, calls, answers) = (Vec::new(), Vec::new(), Vec::new());
        Self { session, run, events, calls, answers, has_ended: false }
    }

    fn tell(&mut self, lane: LaneId, event: Event) {
        let seq = self.events.len() as u64 + 1;
        self.events.push(Envelope { seq, run_id: self.run, lane, event });
    }

    fn start(&mut self, turn: &Turn, start: &RunStart) {
        let event = Event::Start {
            session_id: self.session,
            agents: start.agents.clone(),
            model: start.model.clone().unwrap_or_default(),
            action: start.action.clone(),
        };
        self.tell(turn.lane, event);
    }

    fn text(&mut self, turn: &Turn, text: &AssistantText) {
        let Author::Agent(agent) = &turn.author else { return };
        self.answers.push(turn.id);
        let (agent, text) = (agent.clone(), text.content.clone());
        self.tell(turn.lane, Event::TextComplete { turn_id: turn.id, agent, text });
    }

    fn call(&mut self, turn: &Turn, call: &ToolCallTurn, toolbox: &Toolbox) {
        let Author::Agent(agent) = &turn.author else { return };
        self.calls.push((call.tool_use_id.clone(), call.tool_name.clone()));
        let asked = ToolCall {
            id: call.tool_use_id.clone(),
            name: call.tool_name.clone(),
            input: call.input.clone(),
        };
        let label = toolbox.label(&asked);
        let event = Event::ToolCall {
            turn_id: turn.id,
            agent: agent.clone(),
            summary: label.summary(),
            label: Box::new(label),
            tool_use_id: asked.id,
            tool: asked.name,
            input: asked.input,
        };
        self.tell(turn.lane, event);
    }

    fn result(&mut self, turn: &Turn, result: &ToolResultTurn) {
        let summary = turn.extra.get("summary").and_then(|line| line.as_str());
        let event = Event::ToolResult {
            turn_id: turn.id,
            tool_use_id: result.tool_use_id.clone(),
            tool: self.tool_of(&result.tool_use_id),
            ok: !result.is_error,
            output: result.output.clone(),
            summary: summary.unwrap_or_default().to_owned(),
            duration_ms: result.duration_ms,
            report: Box::new(result.known_report()),
        };
        self.tell(turn.lane, event);
    }

    fn draft(&mut self, turn: &Turn, call: &ToolUseId, draft: Draft) {
        let tool = self.tool_of(call);
        let (draft_id, asks_for) = (draft.id, draft.plan.asks_for());
        let (summary, preview) = (draft.plan.summary, draft.plan.preview);
        self.tell(turn.lane, Event::Draft { draft_id, tool, summary, preview, asks_for });
    }

    fn end(&mut self, turn: &Turn, end: &RunEnd) {
        self.has_ended = true;
        for lane in turn.cancelled_lanes() {
            self.tell(lane, Event::error(&Fault::plain(ErrorCode::Cancelled)));
        }
        if let Some(fault) = &end.error {
            self.tell(turn.lane, Event::error(fault));
        }
        self.done(turn.lane, end.status, end.usage);
    }

    /// A run without an end in its log was interrupted.
    fn finish(mut self) -> Vec<Envelope> {
        if !self.has_ended {
            let lane = LaneId::default();
            self.tell(lane, Event::error(&Fault::plain(ErrorCode::Interrupted)));
            self.done(lane, RunStatus::Interrupted, Usage::default());
        }
        self.events
    }

    fn done(&mut self, lane: LaneId, status: RunStatus, usage: Usage) {
        let assistant_turn_ids = self.answers.clone();
        let session_id = self.session;
        self.tell(lane, Event::Done { session_id, status, assistant_turn_ids, usage });
    }

    fn tool_of(&self, call: &ToolUseId) -> String {
        let named = self.calls.iter().rev().find(|(id, _)| id == call);
        named.map(|(_, tool)| tool.clone()).unwrap_or_default()
    }
}
