//! The run of an agent that a slot starts, and its result.

use onyx_storage::{DraftFilter, JobRow, SlotState};
use onyx_types::{
    Attendance, DraftState, ErrorCode, Event, Fault, ModelId, RunId, RunStatus, SessionId,
    SessionOrigin, UserContent,
};

use super::slot::{ClaimedSlot, SlotOutcome};
use crate::actions::{ActionRequest, Confirmation, fill_in};
use crate::jobs::spec::SessionUse;
use crate::jobs::{JobsCore, words};
use crate::runs::{DryRun, RunInput, RunRequest, RunTerms, SessionRef};

/// Answers by which an agent says that it has nothing to report.
const NOTHING: [&str; 2] = ["NO_REPLY", "HEARTBEAT_OK"];

pub(super) async fn run_prompt(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    prompt: &str,
) -> Result<SlotOutcome, Fault> {
    let JobRow { person, job, .. } = &firing.row;
    let words = fill_in(prompt, &*shared.setup.clock, person, "");
    let at = words::moment(firing.slot.scheduled_at, &firing.spec.timing.schedule.zone);
    let words = format!(
        "{words}\n\n[The job {job}, scheduled for {at}. Nobody is here now. If there is nothing \
         to tell, answer NO_REPLY and nothing else.]"
    );
    let request = request(shared, firing, RunInput::New(UserContent::Text(words))).await?;
    run(shared, firing, request).await
}

pub(super) async fn run_action(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    action: &str,
) -> Result<SlotOutcome, Fault> {
    let ask = ActionRequest {
        person: firing.row.person.clone(),
        action: action.to_owned(),
        session: None,
        agent: None,
        selection: None,
        confirmation: Confirmation::WithJob,
        dry_run: DryRun::Off,
    };
    let asked = shared.setup.actions.run_request(ask).await?;
    let base = request(shared, firing, asked.input).await?;
    let terms =
        RunTerms { max_steps: asked.terms.max_steps, action: asked.terms.action, ..base.terms };
    run(shared, firing, RunRequest { model: asked.model, terms, ..base }).await
}

/// The request for the run of this firing.
pub(super) async fn request(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    input: RunInput,
) -> Result<RunRequest, Fault> {
    let ClaimedSlot { spec, row, slot, .. } = firing;
    let agents = spec.agent.iter().cloned().collect();
    let fresh = SessionRef::New { origin: SessionOrigin::Job, agents };
    let kept = row.session.filter(|_| spec.session == SessionUse::Kept);
    let session = match kept {
        // A person may have deleted the session meanwhile.
        Some(session) if shared.setup.sessions.find(&row.person, session).await?.is_some() => {
            SessionRef::Existing(session)
        }
        Some(_) | None => fresh,
    };
    let zone = shared.setup.clock.zone_of(&row.person);
    let title = match spec.session {
        SessionUse::Fresh => format!("{} {}", row.job.name(), zone.date(slot.scheduled_at)),
        SessionUse::Kept => row.job.name().to_owned(),
    };
    Ok(RunRequest {
        person: row.person.clone(),
        session,
        input,
        view: None,
        model: spec.model.as_deref().map(ModelId::new),
        terms: RunTerms {
            max_cost: spec.max_cost,
            run: slot.run,
            title: Some(title),
            ..RunTerms::default()
        },
        attendance: Attendance::Unattended,
        dry_run: DryRun::Off,
    })
}

/// Starts the run and waits for its end.
pub(super) async fn run(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    request: RunRequest,
) -> Result<SlotOutcome, Fault> {
    let mut run = shared.setup.runs.start(request).await?;
    let (session, canceller) = (run.session_id, run.canceller());
    let mut result = RunResult::default();
    loop {
        tokio::select! {
            event = run.events.next() => match event {
                Some(envelope) => result.add(&envelope.event),
                None => break,
            },
            () = firing.cancel.cancelled(), if !result.is_stopped => {
                result.is_stopped = true;
                canceller.cancel();
            }
        }
    }
    let drafts = pending_drafts(shared, firing, session, run.run_id).await?;
    Ok(SlotOutcome { session: Some(session), ..result.outcome(drafts) })
}

/// What a run said: its answer, cost and end.
#[derive(Default)]
struct RunResult {
    answer: String,
    status: Option<RunStatus>,
    fault: Option<(ErrorCode, String)>,
    cost: Option<f64>,
    is_stopped: bool,
}

impl RunResult {
    fn add(&mut self, event: &Event) {
        match event {
            Event::TextComplete { text, .. } if !text.trim().is_empty() => {
                self.answer.clone_from(text);
            }
            Event::Error { code, message, .. } => self.fault = Some((*code, message.clone())),
            Event::Done { status, usage, .. } => {
                self.status = Some(*status);
                self.cost = usage.cost;
            }
            _ => {}
        }
    }

    fn outcome(self, drafts: usize) -> SlotOutcome {
        let cost = self.cost;
        let answer = self.answer.trim();
        let outcome = match (self.status, self.fault) {
            (Some(RunStatus::Done), _) if drafts > 0 => {
                let waits = if drafts == 1 { "One change waits" } else { "Changes wait" };
                let words = if is_nothing(answer) { "" } else { answer };
                SlotOutcome::new(SlotState::Done, format!("{waits} for your approval. {words}"))
            }
            (Some(RunStatus::Done), _) if is_nothing(answer) => {
                SlotOutcome::nothing("Nothing to report.")
            }
            (Some(RunStatus::Done), _) => SlotOutcome::new(SlotState::Done, answer),
            (Some(RunStatus::Interrupted | RunStatus::Cancelled), _) | (None, None) => {
                SlotOutcome::new(SlotState::Interrupted, "Stopped before its end.")
            }
            (_, Some((code, message))) => {
                let over_budget = code == ErrorCode::LimitBudget;
                SlotOutcome { over_budget, ..SlotOutcome::failed(message) }
            }
            (Some(RunStatus::Error | RunStatus::AwaitingClient), None) => {
                SlotOutcome::failed("It ended without an answer.")
            }
        };
        SlotOutcome { cost, ..outcome }
    }
}

fn is_nothing(answer: &str) -> bool {
    let bare = answer.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
    answer.is_empty() || NOTHING.contains(&bare)
}

async fn pending_drafts(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    session: SessionId,
    run: RunId,
) -> Result<usize, Fault> {
    let filter = DraftFilter {
        state: Some(DraftState::Pending),
        session: Some(session),
        ..DraftFilter::default()
    };
    let drafts = shared.setup.drafts.drafts(&firing.row.person, &filter).await?;
    Ok(drafts.iter().filter(|draft| draft.run == run).count())
}
