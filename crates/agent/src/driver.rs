//! Performs what `step` decides. No decision is made here: inputs go in, effects come out, and
//! what an effect brings goes in again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use onyx_storage::{Delivery, Lease, LogState, RunOutcome, Store};
use onyx_tools::{Execution, LiveOutput, Policy, ToolCx, Toolbox};
use onyx_types::{
    Attendance, Cancel, Clock, Event, Fault, LaneId, Limits, Model, RunId, ToolCall, ToolOutcome,
    ToolUseId, Turn, TurnId,
};
use tokio::sync::mpsc;

use crate::actions::RunReport;
use crate::answers::Answers;
use crate::decisions::Decisions;
use crate::feed::Feed;
use crate::live_text::LiveNotes;
use crate::models::{ModelChoice, Models, Payer};
use crate::prompt::Conversation;
use crate::seats::Seat;
use crate::step::{DecidedDraft, Effect, Input, RunState, RunSummary, UserInput, step};

/// How long a session's lease lives without renewal, and how often it is renewed.
pub(crate) const LEASE_LIFE: Duration = Duration::from_secs(30);
const LEASE_RENEWAL: Duration = Duration::from_secs(10);
const LIVE_OUTPUT_QUEUE: usize = 64;

/// What one lane needs to act: its model, its policy, and for whom its tools work.
pub(crate) struct LaneActor {
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Models from before a change: what they cost is open until the run is booked.
    pub(crate) retired: Vec<Arc<dyn Model>>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) tool_cx: ToolCx,
}

pub(crate) struct Driver {
    pub(crate) run: RunId,
    pub(crate) state: RunState,
    pub(crate) lanes: Vec<LaneActor>,
    pub(crate) store: Store,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) lease: Lease,
    /// Given back before the end is told: who hears of it may come with the next message at once.
    pub(crate) seat: Option<Seat>,
    pub(crate) cancel: Cancel,
    pub(crate) heard: mpsc::Receiver<Whisper>,
    /// Words from the inbox that are not known to stand in the log yet.
    pub(crate) inbox: Vec<TurnId>,
    pub(crate) decisions: Decisions,
    pub(crate) live_text: LiveNotes,
    pub(crate) attendance: Attendance,
    pub(crate) execution: Execution,
    /// Given to the session where it has none yet.
    pub(crate) title: Option<String>,
    /// To be told right after `start`.
    pub(crate) notice: Option<Event>,
    /// Of an action's run.
    pub(crate) report: Option<RunReport>,
    /// For the run that asked for this one: what it cost.
    pub(crate) spent: Option<Arc<Mutex<f64>>>,
    /// How the last append left the log.
    pub(crate) log: Option<LogState>,
    pub(crate) under_way: UnderWay,
    pub(crate) opened: bool,
}

/// What others tell a run at work.
pub(crate) enum Whisper {
    Words(Delivery, UserInput),
    Decided(DecidedDraft),
    /// Of a call that a person approved.
    Output(ToolUseId, String),
}

type ToolFuture = BoxFuture<'static, Input>;

/// What a run waits for beside its models and tools, from input to input.
struct Waits {
    /// `None` once it was told.
    cancelled: Option<BoxFuture<'static, ()>>,
    renew_at: Duration,
    /// Rings when something is due, or before.
    alarm: Option<Alarm>,
}

struct Alarm {
    at: Duration,
    sleep: BoxFuture<'static, ()>,
}

async fn waited_for(future: &mut Option<BoxFuture<'static, ()>>) {
    if let Some(future) = future {
        future.await;
    }
}

async fn ringing(alarm: &mut Option<Alarm>) {
    if let Some(alarm) = alarm {
        (&mut alarm.sleep).await;
    }
}

/// What is under way outside of the state machine.
pub(crate) struct UnderWay {
    models: Answers,
    model_cancels: Vec<Cancel>,
    tools: FuturesUnordered<ToolFuture>,
    tool_cancels: Vec<Cancel>,
    live_sender: mpsc::Sender<(LaneId, ToolUseId, String)>,
    live: mpsc::Receiver<(LaneId, ToolUseId, String)>,
}

impl UnderWay {
    pub(crate) fn new(lanes: usize) -> Self {
        let (live_sender, live) = mpsc::channel(LIVE_OUTPUT_QUEUE);
        Self {
            models: Answers::default(),
            model_cancels: (0..lanes).map(|_| Cancel::new()).collect(),
            tools: FuturesUnordered::new(),
            tool_cancels: (0..lanes).map(|_| Cancel::new()).collect(),
            live_sender,
            live,
        }
    }
}

impl Driver {
    /// Performs what the run begins with.
    pub(crate) async fn open(mut self: Box<Self>) -> Box<Self> {
        self.opened = true;
        self.take(Input::Begin).await
    }

    /// Runs to the end and gives back the session's history as it stands then, and how its log was
    /// left. The feed is closed and the session free when it returns.
    pub(crate) async fn run(mut self: Box<Self>) -> (Conversation, Option<LogState>) {
        if !self.opened {
            self = self.open().await;
        }
        let mut waits = Waits {
            cancelled: Some(self.cancel.clone().into_cancelled()),
            renew_at: self.clock.now().mono + LEASE_RENEWAL,
            alarm: None,
        };
        while !self.state.is_over() {
            let next = self.next_input(&mut waits).await;
            self = self.take(next).await;
        }
        self.feed.close();
        (self.state.into_history(), self.log)
    }

    async fn next_input(&mut self, waits: &mut Waits) -> Input {
        loop {
            let wake = self.state.wake_at().min(waits.renew_at).min(self.live_text.due());
            let Waits { cancelled, renew_at, alarm } = waits;
            if alarm.as_ref().is_none_or(|alarm| wake < alarm.at) {
                let sleep = self.clock.sleep(wake.saturating_sub(self.clock.now().mono));
                *alarm = Some(Alarm { at: wake, sleep });
            }
            let told_live = !(self.under_way.tools.is_empty() && self.under_way.live.is_empty());
            tokio::select! {
                // What comes most often is asked for first; the rest whenever there is none of it,
                // and a stream from the network has pauses.
                biased;
                Some(done) = self.under_way.tools.next() => return done,
                Some((lane, id, chunk)) = self.under_way.live.recv(), if told_live => {
                    return Input::ToolOutput(lane, id, chunk);
                }
                Some((lane, event)) = self.under_way.models.next() => return Input::Model(lane, event),
                () = waited_for(cancelled), if cancelled.is_some() => {
                    *cancelled = None;
                    return Input::Cancel;
                }
                Some(whisper) = self.heard.recv() => match whisper {
                    Whisper::Words(delivery, words) => {
                        self.inbox.extend(words.turn);
                        for lane in self.lanes.iter().take(1) {
                            // One set for the whole run.
                            lane.tool_cx.addresses.person_wrote(&words.content.text());
                        }
                        return Input::Steer(delivery, words);
                    }
                    Whisper::Output(id, chunk) => {
                        if let Some(lane) = self.state.lane_of(&id) {
                            return Input::ToolOutput(lane, id, chunk);
                        }
                    }
                    Whisper::Decided(decided) => {
                        if let Some(decided) = self.decisions.heard(decided) {
                            return Input::Decided(decided);
                        }
                    }
                },
                () = self.live_text.saved(&self.lease, &*self.clock), if self.live_text.is_saving() => {}
                () = ringing(alarm) => {
                    *alarm = None;
                    let now = self.clock.now().mono;
                    if now >= *renew_at {
                        *renew_at = now + LEASE_RENEWAL;
                        if let Err(error) = self.store.leases.renew(&self.lease, LEASE_LIFE).await {
                            return Input::StoreFailed(error.into());
                        }
                    }
                    if now >= self.live_text.due() {
                        self.live_text.save(&self.store, &self.lease);
                    }
                    if now >= self.state.wake_at() {
                        return Input::Tick;
                    }
                }
            }
        }
    }

    /// Steps once and performs everything that follows until nothing more follows at once.
    async fn take(mut self: Box<Self>, input: Input) -> Box<Self> {
        let effects = self.step(input);
        if !effects.iter().any(writes) {
            self.perform_all(effects).await;
            return self;
        }
        let steps = self.store.steps.clone();
        let all = async move {
            self.perform_all(effects).await;
            self
        };
        steps.follow(all).await
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        if let Input::ToolDone(_, _, outcome) = &input {
            self.decisions.proposed(outcome);
        }
        step(&mut self.state, self.clock.now(), input)
    }

    async fn perform_all(&mut self, effects: Vec<Effect>) {
        let mut inputs = VecDeque::new();
        let mut effects = effects;
        loop {
            for effect in effects {
                inputs.extend(self.perform(effect).await);
            }
            let Some(input) = inputs.pop_front() else { return };
            effects = self.step(input);
        }
    }

    async fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Append(batch) => {
                let turns = &batch.turns;
                return Some(match self.store.turns.append(&self.lease, turns).await {
                    Ok(_) => {
                        self.log = self.store.turns.state_now(&self.lease.key);
                        self.live_text.written(turns);
                        self.clear_inbox(turns).await;
                        self.decisions.written(turns).await;
                        Input::Appended(batch)
                    }
                    Err(error) => {
                        tracing::error!(run = %self.run, %error, "turns could not be written");
                        Input::StoreFailed(Fault::from(error))
                    }
                });
            }
            Effect::Emit(lane, event) => {
                self.live_text.hear(lane, &event, self.clock.now().mono);
                if let Some(report) = &mut self.report {
                    report.hear(&event);
                }
                self.feed.tell(lane, event);
                if let Some(notice) = self.notice.take() {
                    self.feed.tell(lane, notice);
                }
            }
            Effect::CallModel(lane, request) => self.call_model(lane, *request),
            Effect::UseModel(lane, model) => return Some(self.use_model(lane, model)),
            Effect::StopModel(lane) => {
                self.under_way.model_cancels[usize::from(lane.0)].cancel();
                self.under_way.models.drop_of(lane);
            }
            Effect::Invoke(lane, call) => self.invoke(lane, call),
            Effect::AwaitDecision(lane, id, outcome, patience) => {
                let cancel = self.under_way.tool_cancels[usize::from(lane.0)].clone();
                let decided = self.decisions.await_decision(*outcome, patience, cancel);
                let done = async move { Input::ToolDone(lane, id, decided.await) };
                self.under_way.tools.push(Box::pin(done));
            }
            Effect::StopTools(lane) => self.under_way.tool_cancels[usize::from(lane.0)].cancel(),
            Effect::Finish(summary) => self.finish(summary).await,
            // What was noted of a text stays: whoever closes the run keeps it.
            Effect::Abandon => self.release().await,
        }
        None
    }

    fn call_model(&mut self, lane: LaneId, request: onyx_types::ModelRequest) {
        let index = usize::from(lane.0);
        let Some(model) = &self.lanes[index].model else {
            return;
        };
        let cancel = Cancel::new();
        self.under_way.model_cancels[index] = cancel.clone();
        self.under_way.models.add(lane, model.stream(request, cancel));
    }

    fn use_model(&mut self, lane: LaneId, id: String) -> Input {
        let actor = &mut self.lanes[usize::from(lane.0)];
        let payer = Payer {
            person: &actor.tool_cx.key.person,
            agent: &actor.tool_cx.agent,
            limits: &self.limits,
        };
        match self.models.resolve(&ModelChoice::only(&id), payer) {
            Ok(model) => {
                let window = model.context_window();
                actor.retired.extend(actor.model.replace(model));
                self.state.count_with(lane, self.models.token_counter(&id));
                Input::ModelChanged(lane, id, window)
            }
            Err(fault) => Input::ModelRefused(lane, fault),
        }
    }

    fn invoke(&mut self, lane: LaneId, call: ToolCall) {
        let index = usize::from(lane.0);
        let actor = &self.lanes[index];
        let (sender, mut chunks) = mpsc::channel::<String>(LIVE_OUTPUT_QUEUE);
        if self.under_way.tool_cancels[index].is_cancelled() {
            self.under_way.tool_cancels[index] = Cancel::new();
        }
        let mut cx = actor.tool_cx.clone();
        cx.cancel = self.under_way.tool_cancels[index].clone();
        cx.taint = self.state.taint(lane);
        cx.offered = self.state.visibility(lane, &call.name);
        if let Some(standing) = &mut cx.standing {
            let limit = Some(self.limits.max_cost).filter(|limit| *limit > 0.0);
            standing.cost_left = limit.map(|limit| limit - self.state.cost());
        }
        cx.live = LiveOutput::to(sender);
        let (toolbox, policy) = (Arc::clone(&self.toolbox), Arc::clone(&actor.policy));
        // Nobody is asked about what nobody is shown.
        let attendance = match self.state.is_silent(lane) {
            true => Attendance::Unattended,
            false => self.attendance,
        };
        let execution = self.execution;
        let live = self.under_way.live_sender.clone();
        let id = call.id.clone();
        self.under_way.tools.push(Box::pin(async move {
            let work = async {
                let outcome: ToolOutcome =
                    toolbox.call(&call, &policy, attendance, execution, &cx).await;
                drop(cx);
                outcome
            };
            let forward = async {
                while let Some(chunk) = chunks.recv().await {
                    // Full: live output may be lost, the result holds the whole.
                    let _ = live.try_send((lane, id.clone(), chunk));
                }
            };
            let (outcome, ()) = tokio::join!(work, forward);
            Input::ToolDone(lane, id, outcome)
        }));
    }

    async fn clear_inbox(&mut self, turns: &[Turn]) {
        let delivered: Vec<_> =
            self.inbox.extract_if(.., |id| turns.iter().any(|turn| turn.id == *id)).collect();
        if delivered.is_empty() {
            return;
        }
        if let Err(error) = self.store.ledger.clear_inbox(&self.lease.key, &delivered).await {
            // They stand in the log under these ids, so nobody takes them for new.
            tracing::warn!(run = %self.run, %error, "delivered words could not be taken out of the inbox");
        }
    }

    async fn finish(&mut self, summary: RunSummary) {
        self.keep_report(&summary).await;
        if let Some(spent) = &self.spent {
            *spent.lock().unwrap_or_else(PoisonError::into_inner) = self.state.cost();
        }
        let outcome = RunOutcome {
            run: self.run,
            status: summary.status,
            ended_at: self.clock.wall(),
            usage: summary.usage,
            used: summary.used,
            messages_added: summary.messages.count,
            preview: summary.messages.preview,
            title: self.title.take(),
        };
        if let Err(error) = self.store.ledger.end_run(outcome).await {
            // The log has the end; the books catch up when the session is next opened.
            tracing::error!(run = %self.run, %error, "the run's end could not be booked");
        }
        self.live_text.clear(&self.store, &self.lease).await;
        self.release().await;
    }

    async fn keep_report(&mut self, summary: &RunSummary) {
        let Some(report) = self.report.take() else { return };
        let lanes = (0..self.lanes.len()).map(|index| LaneId(index as u16));
        let taint = lanes.map(|lane| self.state.taint(lane)).max().unwrap_or_default();
        let (store, key, now) = (&self.store, &self.lease.key, self.clock.wall());
        if let Err(error) = report.keep(store, key, summary, taint, now).await {
            // The session's log holds all of it.
            tracing::error!(run = %self.run, %error, "the run's page could not be written");
        }
    }

    async fn release(&mut self) {
        self.seat = None;
        if let Err(error) = self.store.leases.release(&self.lease).await {
            tracing::warn!(run = %self.run, %error, "the session's lease could not be released");
        }
    }
}

/// Is it one that waits for the store?
fn writes(effect: &Effect) -> bool {
    match effect {
        Effect::Append(_) | Effect::Finish(_) | Effect::Abandon => true,
        Effect::Emit(..)
        | Effect::CallModel(..)
        | Effect::UseModel(..)
        | Effect::StopModel(_)
        | Effect::Invoke(..)
        | Effect::AwaitDecision(..)
        | Effect::StopTools(_) => false,
    }
}
