//! One run from its beginning to its end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::StreamExt;
use onyx_storage::{LogState, StoreError};
use onyx_tools::{Execution, LiveOutput};
use onyx_types::{Cancel, Event, LaneId, Limits, ModelId, ModelRequest, RunId, ToolOutcome};
use tokio::sync::mpsc;

use super::decisions::await_decision;
use super::parts::{
    DriveServices, EndNotes, LIVE_OUTPUT_QUEUE, LaneActor, LedgerState, Mailbox, RunOutput,
    SessionHold, UnderWay,
};
use crate::agents::{ModelChoice, Payer};
use crate::notices::NoticeKind;
use crate::prompt::History;
use crate::sessions::LEASE_LIFE;
use crate::step::{Effect, Input, Invocation, NewModel, RunState, step};

/// How often a session's lease is renewed.
const LEASE_RENEWAL: Duration = Duration::from_secs(10);

pub(crate) struct Driver {
    pub(crate) run: RunId,
    pub(crate) state: RunState,
    pub(crate) lanes: Vec<LaneActor>,
    pub(crate) limits: Limits,
    pub(crate) execution: Execution,
    pub(crate) services: Arc<DriveServices>,
    pub(crate) session: SessionHold,
    pub(crate) mailbox: Mailbox,
    pub(crate) outlet: RunOutput,
    pub(crate) end_notes: EndNotes,
    pub(crate) under_way: UnderWay,
}

/// What a run waits for besides its models and tools.
struct Waits {
    /// `None` once the cancel was handed to the state machine.
    cancelled: Option<BoxFuture<'static, ()>>,
    renew_at: Duration,
    /// Wakes the driver at the earliest moment at which something may be due.
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

impl Driver {
    /// Performs the first effects of a run, so that its question is in the log when this returns.
    /// An error means that the run is not in the ledger and the session is free.
    pub(crate) async fn open(self: Box<Self>) -> Result<Box<Self>, StoreError> {
        let mut driver = self.take(Input::Begin).await;
        match std::mem::replace(&mut driver.session.ledger, LedgerState::Open) {
            LedgerState::Refused(error) => Err(error),
            state => {
                driver.session.ledger = state;
                Ok(driver)
            }
        }
    }

    /// Drives the run to its end. Returns the session's history and the state of its log; by then
    /// the feed is closed and the session free.
    pub(crate) async fn run(mut self: Box<Self>) -> (History, Option<LogState>) {
        let mut waits = Waits {
            cancelled: Some(self.mailbox.cancel.clone().into_cancelled()),
            renew_at: self.services.clock.now().mono + LEASE_RENEWAL,
            alarm: None,
        };
        while !self.state.is_over() {
            let next = self.next_input(&mut waits).await;
            self = self.take(next).await;
        }
        self.outlet.feed.close();
        (self.state.into_history(), self.session.log)
    }

    async fn next_input(&mut self, waits: &mut Waits) -> Input {
        loop {
            self.set_alarm(waits);
            let Waits { cancelled, alarm, .. } = waits;
            let UnderWay { models, tools, live, .. } = &mut self.under_way;
            let may_hear_live = !(tools.is_empty() && live.is_empty());
            let live_text = &mut self.outlet.live_text;
            tokio::select! {
                // The branches are in the order of how often they are ready, which saves polls.
                // None starves, because a stream from the network has pauses.
                biased;
                Some(done) = tools.next() => return done,
                Some((lane, id, chunk)) = live.recv(), if may_hear_live => {
                    return Input::ToolOutput(lane, id, chunk);
                }
                Some((lane, event)) = models.next() => return Input::Model(lane, event),
                () = waited_for(cancelled), if cancelled.is_some() => {
                    *cancelled = None;
                    return Input::Cancel;
                }
                Some(message) = self.mailbox.messages.recv() => return message.into_input(),
                () = live_text.saved(&self.session.lease, &*self.services.clock),
                    if live_text.is_saving() => {}
                () = ringing(alarm) => {
                    *alarm = None;
                    if let Some(input) = self.alarm_rang(waits).await {
                        return input;
                    }
                }
            }
        }
    }

    fn set_alarm(&self, waits: &mut Waits) {
        let due = self.outlet.live_text.due();
        let wake = self.state.wake_at().min(waits.renew_at).min(due);
        if waits.alarm.as_ref().is_none_or(|alarm| wake < alarm.at) {
            let clock = &self.services.clock;
            let sleep = clock.sleep(wake.saturating_sub(clock.now().mono));
            waits.alarm = Some(Alarm { at: wake, sleep });
        }
    }

    /// Does what is due: renews the lease, saves streaming text, sends a tick.
    async fn alarm_rang(&mut self, waits: &mut Waits) -> Option<Input> {
        let now = self.services.clock.now().mono;
        if now >= waits.renew_at {
            waits.renew_at = now + LEASE_RENEWAL;
            let renewed = self.services.leases.renew(&self.session.lease, LEASE_LIFE).await;
            if let Err(error) = renewed {
                return Some(Input::StoreFailed(error.into()));
            }
        }
        if now >= self.outlet.live_text.due() {
            self.outlet.live_text.save(&self.services.turns, &self.session.lease);
        }
        (now >= self.state.wake_at()).then_some(Input::Tick)
    }

    /// Steps once and performs the effects until none follows at once. Effects that write are
    /// performed on the thread on which the store groups its writes, because each hand-over between
    /// threads would cost more than the step.
    async fn take(mut self: Box<Self>, input: Input) -> Box<Self> {
        let effects = self.step(input);
        if !effects.iter().any(writes) {
            self.perform_all(effects).await;
            return self;
        }
        let steps = self.services.steps.clone();
        let all = async move {
            self.perform_all(effects).await;
            self
        };
        steps.follow(all).await
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        let now = self.services.clock.now();
        let mut effects = Vec::new();
        for (lane, actor) in (0..).map(LaneId).zip(&mut self.lanes) {
            if let Some(tools) = actor.changed_tools() {
                effects.extend(step(&mut self.state, now, Input::ToolsChanged(lane, tools)));
            }
        }
        effects.extend(step(&mut self.state, now, input));
        effects
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
            Effect::Append(batch) => return Some(self.append(batch).await),
            Effect::Emit(lane, event) => self.emit(lane, event),
            Effect::CallModel(lane, request) => self.call_model(lane, *request),
            Effect::UseModel(lane, model) => return Some(self.use_model(lane, model)),
            Effect::StopModel(lane) => {
                self.under_way.model_cancels[usize::from(lane.0)].cancel();
                self.under_way.models.remove(lane);
            }
            Effect::Invoke(lane, invocation) => self.invoke(lane, *invocation),
            Effect::AwaitDecision(lane, id, draft, patience) => {
                let cancel = self.under_way.tool_cancels[usize::from(lane.0)].clone();
                let person = self.session.lease.key.person.clone();
                let decided = await_decision(&self.services, person, draft, patience, cancel);
                let wait =
                    async move { Input::DecisionWaitOver(lane, id, decided.await.map(Box::new)) };
                self.under_way.tools.push(Box::pin(wait));
            }
            Effect::NotifyDraft(draft) => {
                let key = &self.session.lease.key;
                self.services.notices.tell(&key.person, key.session, NoticeKind::Draft(draft));
            }
            Effect::NoteAddresses(text) => {
                // All lanes share one set of addresses.
                if let Some(lane) = self.lanes.first() {
                    lane.tool_cx.addresses.person_wrote(&text);
                }
            }
            Effect::StopTools(lane) => self.under_way.tool_cancels[usize::from(lane.0)].cancel(),
            Effect::Finish(summary) => self.finish(&summary).await,
            // Saved text of unfinished answers stays in the notes, because recovery needs it to
            // close the run.
            Effect::Abandon => self.release().await,
        }
        None
    }

    fn emit(&mut self, lane: LaneId, event: Event) {
        self.outlet.live_text.add(lane, &event, &*self.services.clock);
        if let Some(report) = &mut self.outlet.report {
            report.add_event(&event);
        }
        self.outlet.feed.tell(lane, event);
    }

    fn call_model(&mut self, lane: LaneId, request: ModelRequest) {
        let index = usize::from(lane.0);
        let Some(model) = &self.lanes[index].model else { return };
        let cancel = Cancel::new();
        self.under_way.model_cancels[index] = cancel.clone();
        self.under_way.models.add(lane, model.stream(request, cancel));
    }

    fn use_model(&mut self, lane: LaneId, id: ModelId) -> Input {
        let actor = &mut self.lanes[usize::from(lane.0)];
        let payer = Payer {
            person: &actor.tool_cx.key.person,
            agent: &actor.tool_cx.agent,
            limits: &self.limits,
        };
        let (models, choice) = (&self.services.models, ModelChoice::only(id.clone()));
        let resolved = if actor.tool_cx.audience.only_local {
            models.resolve_local(&choice, payer)
        } else {
            models.resolve(&choice, payer)
        };
        match resolved {
            Ok(model) => {
                let context_window = model.context_window();
                let tokens = self.services.models.token_counter(id.as_str());
                actor.retired.extend(actor.model.replace(model));
                let new = NewModel { id: id.to_string(), context_window, tokens };
                actor.tool_cx.audience.model = Some(id);
                Input::ModelChanged(lane, new)
            }
            Err(fault) => Input::ModelRefused(lane, fault),
        }
    }

    fn invoke(&mut self, lane: LaneId, invocation: Invocation) {
        let Invocation { call, attendance, taint, offered, cost_left } = invocation;
        let index = usize::from(lane.0);
        let actor = &self.lanes[index];
        let (sender, mut chunks) = mpsc::channel::<String>(LIVE_OUTPUT_QUEUE);
        if self.under_way.tool_cancels[index].is_cancelled() {
            self.under_way.tool_cancels[index] = Cancel::new();
        }
        let mut cx = actor.tool_cx.clone();
        cx.cancel = self.under_way.tool_cancels[index].clone();
        cx.taint = taint;
        cx.offered = offered;
        if let Some(standing) = &mut cx.standing {
            standing.cost_left = cost_left;
        }
        cx.live = LiveOutput::to(sender);
        let (toolbox, policy) =
            (Arc::clone(&self.services.toolbox), Arc::clone(&actor.tools.policy));
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
            // Live output is dropped when the queue is full; the result holds all of it.
            let show = |chunk| drop(live.try_send((lane, id.clone(), chunk)));
            tokio::pin!(work);
            let outcome = loop {
                tokio::select! {
                    biased;
                    Some(chunk) = chunks.recv() => show(chunk),
                    outcome = &mut work => break outcome,
                }
            };
            // A task that the call started may still hold a sender, so the queue is closed when the
            // call is over.
            chunks.close();
            while let Some(chunk) = chunks.recv().await {
                show(chunk);
            }
            Input::ToolDone(lane, id, outcome)
        }));
    }
}

/// Whether performing the effect waits for the store.
fn writes(effect: &Effect) -> bool {
    match effect {
        Effect::Append(_) | Effect::Finish(_) | Effect::Abandon => true,
        Effect::Emit(..)
        | Effect::CallModel(..)
        | Effect::UseModel(..)
        | Effect::StopModel(_)
        | Effect::Invoke(..)
        | Effect::AwaitDecision(..)
        | Effect::NotifyDraft(_)
        | Effect::NoteAddresses(_)
        | Effect::StopTools(_) => false,
    }
}
