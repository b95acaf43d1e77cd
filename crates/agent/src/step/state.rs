use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::Messages;
use onyx_types::{
    AgentId, Author, BatchId, Event, Fault, LaneId, LaneOrder, Limits, Mint, Now, Origin, RunId,
    RunStart, RunStatus, SessionKey, Spending, StatusCode, Taint, TokenCounter, ToolCall,
    ToolUseId, Turn, TurnBody, TurnId, Usage, UserTurn, Visibility,
};
use serde_json::Map;

use super::compaction::FLUSH_TOOL;
use super::input::{Batch, DecidedDraft, Effect, Speaker, UserInput};
use super::lane::{Lane, LaneSetup, Phase};
use crate::client::ClientTurn;
use crate::prompt::Conversation;

/// Everything a run starts from.
pub struct RunSetup {
    pub run: RunId,
    pub key: SessionKey,
    pub input_turn: TurnId,
    /// `None`: the message is in the log already.
    pub input: Option<UserInput>,
    /// Words that came while nobody could take them; they stand before the message.
    pub leading: Vec<UserInput>,
    /// What was decided on drafts of this session since its log was last written.
    pub decisions: Vec<DecidedDraft>,
    /// Told right after the start: what the message was given beside it.
    pub opening: Vec<Event>,
    /// Told by a client: what its tools found, or a conversation that it remembers.
    pub client_turns: Vec<ClientTurn>,
    pub lanes: Vec<LaneSetup>,
    pub order: LaneOrder,
    pub limits: Limits,
    /// What the log holds before this run, oldest first, as far as a prompt can use it.
    pub history: Conversation,
    pub mint: Mint,
    pub now: Now,
    pub describe: Describe,
}

/// One human line for a tool call.
pub type Describe = Arc<dyn Fn(&ToolCall) -> String + Send + Sync>;

/// One run at work.
pub struct RunState {
    pub(super) run: RunId,
    pub(super) key: SessionKey,
    input_turn: TurnId,
    input: Option<UserInput>,
    leading: Vec<UserInput>,
    opening: Vec<Event>,
    client_turns: Vec<ClientTurn>,
    pub(super) lanes: Vec<Lane>,
    pub(super) order: LaneOrder,
    pub(super) limits: Limits,
    pub(super) history: Conversation,
    pub(super) mint: Mint,
    pub(super) now: Now,
    describe: Describe,
    pub(super) deadline: Duration,
    /// Since when a person is waited for, which stops the clock.
    pub(super) paused_at: Option<Duration>,
    /// Set while running tools get their last moment to report.
    pub(super) stopping_until: Option<Duration>,
    pub(super) steering: Vec<UserInput>,
    pub(super) decisions: Vec<DecidedDraft>,
    pub(super) follow_ups: Vec<UserInput>,
    pub(super) usage: Usage,
    /// Cost of what this run asked others to do, booked by them.
    pub(super) spent_elsewhere: f64,
    pub(super) steps: u32,
    pub(super) tool_calls: u32,
    /// What the calls of this run are called.
    pub(super) call_ids: BTreeSet<ToolUseId>,
    pub(super) messages: Messages,
    pub(super) error: Option<Fault>,
    pub(super) unfinished_lanes: Vec<LaneId>,
    /// A lane has left calls to the client.
    pub(super) awaiting_client: bool,
    /// What models said of themselves.
    caveats: BTreeSet<String>,
    pub(super) assistant_turns: Vec<TurnId>,
    pending: VecDeque<Pending>,
    /// Decided when the last batch is appended.
    pub(super) status: Option<RunStatus>,
    over: bool,
}

/// A batch on its way to disk, and what waits for it.
pub(super) struct Pending {
    batch: BatchId,
    pub(super) events: Vec<(LaneId, Event)>,
    pub(super) then: Then,
}

/// What a durable batch makes possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    StartLanes,
    RunTools(LaneId),
    NextStep(LaneId),
    /// Room was made: call without looking again.
    CallModel(LaneId),
    AfterFlush(LaneId),
    LaneOver(LaneId),
    RunOver,
}

impl RunState {
    pub fn new(setup: RunSetup) -> Self {
        let lanes = setup
            .lanes
            .into_iter()
            .enumerate()
            .map(|(index, setup)| Lane::new(LaneId(index as u16), setup))
            .collect();
        Self {
            run: setup.run,
            key: setup.key,
            input_turn: setup.input_turn,
            input: setup.input,
            leading: setup.leading,
            opening: setup.opening,
            client_turns: setup.client_turns,
            lanes,
            order: setup.order,
            deadline: setup.now.mono + setup.limits.run_time(),
            limits: setup.limits,
            history: setup.history,
            mint: setup.mint,
            now: setup.now,
            describe: setup.describe,
            paused_at: None,
            stopping_until: None,
            decisions: setup.decisions,
            steering: Vec::new(),
            follow_ups: Vec::new(),
            usage: Usage::default(),
            spent_elsewhere: 0.0,
            steps: 0,
            tool_calls: 0,
            call_ids: BTreeSet::new(),
            messages: Messages::default(),
            error: None,
            unfinished_lanes: Vec::new(),
            awaiting_client: false,
            caveats: BTreeSet::new(),
            assistant_turns: Vec::new(),
            pending: VecDeque::new(),
            status: None,
            over: false,
        }
    }

    /// The session's history with everything this run has added to it.
    pub fn into_history(self) -> Conversation {
        self.history
    }

    /// When the driver must send a `Tick` at the latest.
    pub fn wake_at(&self) -> Duration {
        let deadline = if self.waits_for_person() { Duration::MAX } else { self.deadline };
        self.stopping_until.unwrap_or(deadline)
    }

    pub(super) fn waits_for_person(&self) -> bool {
        self.paused_at.is_some()
    }

    /// What goes on in this lane is not for people to see.
    pub fn is_silent(&self, lane: LaneId) -> bool {
        self.lanes[usize::from(lane.0)].silent
    }

    /// Was the tool among those that the lane's last request offered?
    pub fn visibility(&self, lane: LaneId, tool: &str) -> Visibility {
        let Lane { silent, setup, .. } = &self.lanes[usize::from(lane.0)];
        let is_offered = setup.tools.get(tool).is_some() && (!silent || tool == FLUSH_TOOL);
        if is_offered { Visibility::Offered } else { Visibility::Absent }
    }

    /// Where a call is under way.
    pub fn lane_of(&self, call: &ToolUseId) -> Option<LaneId> {
        let runs = |lane: &&Lane| matches!(&lane.phase, Phase::Tools(round) if round.running.contains(call));
        self.lanes.iter().find(runs).map(|lane| lane.id)
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Has this lane read anything from outside?
    pub fn taint(&self, lane: LaneId) -> Taint {
        self.lanes[usize::from(lane.0)].setup.taint
    }

    /// How the lane's model counts, when another takes its place.
    pub fn count_with(&mut self, lane: LaneId, tokens: Arc<dyn TokenCounter>) {
        self.lane(lane).setup.tokens = tokens;
    }

    /// Whether nobody was told yet. A state is said once a run, however often its model is called;
    /// of what happens, such as a retry, each time counts.
    pub(super) fn is_news(&mut self, code: StatusCode, message: &str) -> bool {
        code != StatusCode::Degraded || self.caveats.insert(message.to_owned())
    }

    pub(super) fn describe(&self, call: &ToolCall) -> String {
        (self.describe)(call)
    }

    pub(super) fn set_over(&mut self) {
        self.over = true;
    }

    pub(super) fn is_ending(&self) -> bool {
        self.status.is_some()
    }

    pub(super) fn lane(&mut self, lane: LaneId) -> &mut Lane {
        &mut self.lanes[usize::from(lane.0)]
    }

    /// Counts what a lane's model has used.
    pub(super) fn spend(&mut self, lane: LaneId, usage: &Usage) {
        self.usage.add(usage);
        self.lane(lane).spend(usage);
    }

    /// Counts what a tool has spent on models.
    pub(super) fn spend_on_tool(&mut self, lane: LaneId, spending: Spending) {
        match spending {
            Spending::OfRun { model, usage } => {
                self.usage.add(&usage);
                self.lane(lane).spend_on(model, &usage);
            }
            Spending::Elsewhere(cost) => self.spent_elsewhere += cost,
        }
    }

    /// What this run and those that it asked for have cost.
    pub fn cost(&self) -> f64 {
        self.usage.cost.unwrap_or(0.0) + self.spent_elsewhere
    }

    pub(super) fn append(
        &mut self,
        turns: Vec<Turn>,
        events: Vec<(LaneId, Event)>,
        then: Then,
    ) -> Vec<Effect> {
        turns.iter().for_each(|turn| self.messages.add(turn));
        let id = self.mint.batch(self.now.wall);
        self.pending.push_back(Pending { batch: id, events, then });
        vec![Effect::Append(Batch { id, turns })]
    }

    pub(super) fn take_pending(&mut self, batch: BatchId) -> Option<Pending> {
        let index = self.pending.iter().position(|pending| pending.batch == batch)?;
        self.pending.remove(index)
    }

    pub(super) fn turn(
        &mut self,
        lane: LaneId,
        author: Author,
        origin: Origin,
        body: TurnBody,
    ) -> Turn {
        let id = self.mint.turn(self.now.wall);
        self.turn_with_id(id, lane, author, origin, body)
    }

    pub(super) fn turn_with_id(
        &self,
        id: TurnId,
        lane: LaneId,
        author: Author,
        origin: Origin,
        body: TurnBody,
    ) -> Turn {
        Turn {
            id,
            ts: self.now.wall,
            run: Some(self.run),
            lane,
            author,
            origin,
            body,
            extra: Map::new(),
        }
    }

    pub(super) fn run_start_turn(&mut self) -> Turn {
        let body = TurnBody::RunStart(RunStart {
            agents: self.agents(),
            model: self.lanes.first().map(|lane| lane.setup.model_id.clone()),
        });
        self.turn(LaneId::default(), Author::System, Origin::Agent, body)
    }

    /// What the run answers, as far as it is not in the log yet.
    pub(super) fn opening_turns(&mut self) -> Vec<Turn> {
        let told = std::mem::take(&mut self.client_turns);
        let mut turns: Vec<_> = told.into_iter().map(|turn| self.client_turn(turn)).collect();
        turns.extend(super::waiting::decision_turns(self));
        let leading = std::mem::take(&mut self.leading);
        turns.extend(leading.into_iter().map(|words| self.user_turn(words)));
        if let Some(words) = self.input.take() {
            let words = UserInput { turn: Some(self.input_turn), ..words };
            turns.push(self.user_turn(words));
        }
        turns
    }

    pub(super) fn user_turn(&mut self, words: UserInput) -> Turn {
        let id = words.turn.unwrap_or_else(|| self.mint.turn(self.now.wall));
        let (author, origin) = (words.by.author(&self.key.person), words.by.origin());
        let body = TurnBody::User(UserTurn {
            content: words.content,
            view: words.view,
            context: words.context,
            client_id: words.client_id,
            withdrawn: words.withdrawn,
        });
        self.turn_with_id(id, LaneId::default(), author, origin, body)
    }

    fn client_turn(&mut self, turn: ClientTurn) -> Turn {
        let (author, origin) = match &turn {
            ClientTurn::User(content) => {
                let content = content.clone();
                return self.user_turn(UserInput::new(content, Speaker::Person));
            }
            ClientTurn::Assistant(_) | ClientTurn::ToolCall(_) => {
                let agent = self.lanes.first().map(|lane| lane.setup.agent.clone());
                (agent.map_or(Author::System, Author::Agent), Origin::Agent)
            }
            ClientTurn::ToolResult { .. } if turn.is_from_outside() => {
                (Author::System, Origin::External)
            }
            ClientTurn::ToolResult { .. } => (Author::System, Origin::Agent),
        };
        self.turn(LaneId::default(), author, origin, turn.into_body())
    }

    /// The start, and what the run was given with it.
    pub(super) fn opening_events(&mut self) -> Vec<(LaneId, Event)> {
        let start = Event::Start {
            session_id: self.key.session,
            agents: self.agents(),
            model: self.lanes.first().map(|lane| lane.setup.model_id.clone()).unwrap_or_default(),
        };
        let given = std::mem::take(&mut self.opening);
        let tainted = self.lanes.iter().any(|lane| lane.setup.taint == Taint::Tainted);
        let told = tainted.then(super::tools::tainted);
        [start]
            .into_iter()
            .chain(given)
            .chain(told)
            .map(|event| (LaneId::default(), event))
            .collect()
    }

    fn agents(&self) -> Vec<AgentId> {
        self.lanes.iter().map(|lane| lane.setup.agent.clone()).collect()
    }
}
