//! The state of a run at work.

use std::collections::{BTreeSet, VecDeque};
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::Messages;
use onyx_types::{
    ActionRun, AgentId, Attendance, BatchId, CallLabel, DraftId, Event, Fault, IdGenerator, LaneId,
    LaneOrder, Limits, Now, RunId, RunStatus, SessionKey, Spending, StatusCode, Taint, TextStatus,
    ToolCall, ToolOutcome, ToolUseId, Turn, TurnBody, TurnId, Usage,
};

use super::client::ClientTurn;
use super::input::{Batch, DecidedDraft, Effect, RunSummary, StopReason, UserInput};
use super::lane::{Lane, LaneSetup};
use crate::prompt::History;

/// The beginning of a run's state.
pub struct RunSetup {
    pub run: RunId,
    pub key: SessionKey,
    pub input_turn: TurnId,
    /// `None`: the message is in the log already.
    pub input: Option<UserInput>,
    /// Messages that came while no run could take them. They come before the new message.
    pub leading: Vec<UserInput>,
    /// Decisions on drafts of this session that are not in its log yet.
    pub decisions: Vec<DecidedDraft>,
    /// Events that are sent right after the start. They tell which context the message was given.
    pub opening: Vec<Event>,
    /// The turns that a client sent: results of its tools, or its conversation.
    pub client_turns: Vec<ClientTurn>,
    pub lanes: Vec<LaneSetup>,
    pub order: LaneOrder,
    pub limits: Limits,
    /// Whether a person is there to be asked.
    pub attendance: Attendance,
    /// The turns before this run, oldest first, as far as prompts can use them.
    pub history: History,
    pub mint: IdGenerator,
    pub now: Now,
    pub describe: DescribeCall,
    /// The action that this run performs, if there is one.
    pub action: Option<ActionRun>,
}

/// Describes a tool call for people.
pub type DescribeCall = Arc<dyn Fn(&ToolCall) -> CallLabel + Send + Sync>;

/// A run at work.
pub struct RunState {
    pub(super) run: RunId,
    pub(super) key: SessionKey,
    pub(super) lanes: Vec<Lane>,
    pub(super) order: LaneOrder,
    pub(super) limits: Limits,
    pub(super) attendance: Attendance,
    pub(super) history: History,
    pub(super) opening: Opening,
    pub(super) clock: RunClock,
    pub(super) waiting: WaitingInputs,
    pub(super) spent: Spent,
    /// The ids of this run's tool calls.
    pub(super) call_ids: BTreeSet<ToolUseId>,
    pub(super) ending: Ending,
    pub(super) mint: IdGenerator,
    pending: VecDeque<Pending>,
    describe: DescribeCall,
    /// Limits that models reported of themselves, so that each is shown once.
    caveats: BTreeSet<String>,
}

/// What a run writes first, and its first events.
pub(super) struct Opening {
    pub(super) input_turn: TurnId,
    pub(super) input: Option<UserInput>,
    pub(super) leading: Vec<UserInput>,
    pub(super) client_turns: Vec<ClientTurn>,
    pub(super) events: Vec<Event>,
    pub(super) action: Option<ActionRun>,
}

/// The time limit of a run, which is paused while the run waits for a person.
pub(super) struct RunClock {
    pub(super) now: Now,
    pub(super) deadline: Duration,
    pub(super) paused_at: Option<Duration>,
    /// Until when running tools may report after a stop.
    pub(super) stopping_until: Option<Duration>,
}

/// Messages and decisions that the model has not seen yet.
#[derive(Default)]
pub(super) struct WaitingInputs {
    /// Messages for the next step.
    pub(super) steering: Vec<UserInput>,
    /// Messages for the end of the answer.
    pub(super) follow_ups: Vec<UserInput>,
    /// Messages of the inbox that this run has taken and that are not in the log yet.
    pub(super) inbox: Vec<TurnId>,
    pub(super) decisions: Vec<DecidedDraft>,
    /// Drafts of this run's calls that are awaited or decided. Their decisions come with the calls'
    /// results and not as turns of their own.
    pub(super) awaited_drafts: BTreeSet<DraftId>,
    /// Calls that wait for a person, each with the outcome that it has if nobody decides.
    pub(super) undecided: Vec<(ToolUseId, ToolOutcome)>,
    /// Drafts whose decisions are part of results that are not written yet.
    pub(super) decided_drafts: Vec<DraftId>,
}

/// What is counted against the run's limits.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) usage: Usage,
    /// The cost of runs that this run asked for. Those runs record it themselves.
    pub(super) elsewhere: f64,
    pub(super) steps: u32,
    pub(super) tool_calls: u32,
}

/// What is known about the run's end.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) error: Option<Fault>,
    pub(super) unfinished_lanes: Vec<LaneId>,
    /// Lanes that a person stopped while others continued.
    pub(super) cancelled_lanes: Vec<LaneId>,
    /// Whether a lane has left calls to the client.
    pub(super) awaiting_client: bool,
    pub(super) assistant_turns: Vec<TurnId>,
    pub(super) messages: Messages,
    /// The run's status, set when its last batch is handed over.
    pub(super) status: Option<RunStatus>,
    pub(super) over: bool,
}

/// A batch on its way to disk, with its events and what follows.
pub(super) struct Pending {
    batch: BatchId,
    pub(super) events: Vec<(LaneId, Event)>,
    pub(super) next: Next,
}

/// What happens next, in the same step or after a batch is durable.
#[derive(Debug)]
pub(super) enum Next {
    /// Do nothing until the next input.
    Wait,
    StartLanes,
    /// Call the model again, unless a limit forbids it. Room is made first if it is needed.
    TakeStep(LaneId),
    MakeRoom(LaneId),
    /// The provider said that the prompt is too long.
    Overflowed(LaneId, Fault),
    /// Call the model without checking whether the prompt is too long.
    CallModel(LaneId),
    RunTools(LaneId),
    /// The silent turn before compaction is over.
    AfterFlush(LaneId),
    /// End the lane with its text, and with the reason if it failed.
    EndLane(LaneId, TextStatus, Option<Fault>),
    /// All turns of a lane are durable.
    LaneOver,
    Stop(StopReason),
    /// Every tool has reported, or the time for that is over.
    FinishStopping,
    /// All turns of the run are durable.
    RunOver(Box<RunSummary>),
}

impl RunState {
    pub fn new(setup: RunSetup) -> Self {
        let lanes = setup.lanes.into_iter().enumerate();
        let inbox = setup.leading.iter().chain(&setup.input).filter_map(|words| words.turn);
        let waiting = WaitingInputs {
            inbox: inbox.collect(),
            decisions: setup.decisions,
            ..WaitingInputs::default()
        };
        Self {
            run: setup.run,
            key: setup.key,
            lanes: lanes.map(|(index, setup)| Lane::new(LaneId(index as u16), setup)).collect(),
            order: setup.order,
            attendance: setup.attendance,
            history: setup.history,
            opening: Opening {
                input_turn: setup.input_turn,
                input: setup.input,
                leading: setup.leading,
                client_turns: setup.client_turns,
                events: setup.opening,
                action: setup.action,
            },
            clock: RunClock {
                now: setup.now,
                deadline: setup.now.mono + setup.limits.run_time(),
                paused_at: None,
                stopping_until: None,
            },
            limits: setup.limits,
            waiting,
            spent: Spent::default(),
            call_ids: BTreeSet::new(),
            ending: Ending::default(),
            mint: setup.mint,
            pending: VecDeque::new(),
            describe: setup.describe,
            caveats: BTreeSet::new(),
        }
    }

    /// The session's history including the turns of this run.
    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn into_history(self) -> History {
        self.history
    }

    /// The latest time at which the driver must send a `Tick`.
    pub fn wake_at(&self) -> Duration {
        let deadline = if self.clock.is_paused() { Duration::MAX } else { self.clock.deadline };
        self.clock.stopping_until.unwrap_or(deadline)
    }

    /// Whether this lane read content from outside.
    pub fn taint(&self, lane: LaneId) -> Taint {
        self.lanes[usize::from(lane.0)].setup.taint
    }

    pub fn is_over(&self) -> bool {
        self.ending.over
    }

    /// Whether the run's last batch is on its way to disk.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.status.is_some()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.clock.stopping_until.is_some()
    }

    pub(super) fn lane(&mut self, lane: LaneId) -> &mut Lane {
        &mut self.lanes[usize::from(lane.0)]
    }

    pub(super) fn agents(&self) -> Vec<AgentId> {
        self.lanes.iter().map(|lane| lane.setup.agent.clone()).collect()
    }

    /// Whether this status is to be shown. A lasting condition is shown once in a run, however
    /// often its model is called; an occurrence, such as a retry, is shown each time.
    pub(super) fn is_news(&mut self, code: StatusCode, message: &str) -> bool {
        code != StatusCode::Degraded || self.caveats.insert(message.to_owned())
    }

    pub(super) fn describe(&self, call: &ToolCall) -> CallLabel {
        (self.describe)(call)
    }

    /// Adds usage of a lane's model.
    pub(super) fn spend(&mut self, lane: LaneId, usage: &Usage) {
        self.spent.usage.add(usage);
        self.lane(lane).spend(usage);
    }

    /// Adds what a tool spent on models.
    pub(super) fn spend_on_tool(&mut self, lane: LaneId, spending: Spending) {
        match spending {
            Spending::OfRun { model, usage } => {
                self.spent.usage.add(&usage);
                self.lane(lane).spend_on(model, &usage);
            }
            Spending::Elsewhere(cost) => self.spent.elsewhere += cost,
        }
    }

    /// The cost of this run and of the runs that it asked for.
    pub(super) fn cost(&self) -> f64 {
        self.spent.usage.cost.unwrap_or(0.0) + self.spent.elsewhere
    }

    /// Hands turns to the driver to make them durable. After that the events are sent and the run
    /// continues with `next`.
    pub(super) fn append(
        &mut self,
        turns: Vec<Turn>,
        events: Vec<(LaneId, Event)>,
        next: Next,
        effects: &mut Vec<Effect>,
    ) -> Next {
        let batch = self.batch(turns, events, next);
        effects.push(Effect::Append(batch));
        Next::Wait
    }

    /// Hands the run's last turns to the driver, with what the ledger records of the end. After
    /// they are durable, the events are sent and the run is over.
    pub(super) fn append_last(
        &mut self,
        turns: Vec<Turn>,
        events: Vec<(LaneId, Event)>,
        status: RunStatus,
        effects: &mut Vec<Effect>,
    ) -> Next {
        let batch = self.batch(turns, events, Next::Wait);
        let end = Some(Box::new(self.summary(status)));
        effects.push(Effect::Append(Batch { end, ..batch }));
        Next::Wait
    }

    fn batch(&mut self, turns: Vec<Turn>, events: Vec<(LaneId, Event)>, next: Next) -> Batch {
        let mut decided = Vec::new();
        for turn in &turns {
            self.ending.messages.add(turn);
            match &turn.body {
                TurnBody::Decision(decision) => decided.push(decision.draft_id),
                TurnBody::ToolResult(result) => {
                    let given = &mut self.waiting.decided_drafts;
                    decided.extend(given.extract_if(.., |id| result.draft_id == Some(*id)));
                }
                _ => {}
            }
        }
        let is_written = |id: &mut TurnId| turns.iter().any(|turn| turn.id == *id);
        let from_inbox = self.waiting.inbox.extract_if(.., is_written).collect();
        let id = self.mint.batch(self.clock.now.wall);
        self.pending.push_back(Pending { batch: id, events, next });
        Batch { id, turns, decided, from_inbox, end: None }
    }

    fn summary(&mut self, status: RunStatus) -> RunSummary {
        RunSummary {
            status,
            usage: self.spent.usage,
            used: self.lanes.iter_mut().flat_map(|lane| take(&mut lane.used)).collect(),
            cost: self.cost(),
            taint: self.widest_taint(),
            messages: take(&mut self.ending.messages),
        }
    }

    /// Whether any lane read content from outside.
    pub(super) fn widest_taint(&self) -> Taint {
        self.lanes.iter().map(|lane| lane.setup.taint).max().unwrap_or_default()
    }

    pub(super) fn take_pending(&mut self, batch: BatchId) -> Option<Pending> {
        let index = self.pending.iter().position(|pending| pending.batch == batch)?;
        self.pending.remove(index)
    }
}

impl RunClock {
    pub(super) fn is_paused(&self) -> bool {
        self.paused_at.is_some()
    }

    pub(super) fn pause(&mut self) {
        self.paused_at.get_or_insert(self.now.mono);
    }

    pub(super) fn resume(&mut self) {
        if let Some(since) = self.paused_at.take() {
            self.deadline += self.now.mono.saturating_sub(since);
        }
    }
}
