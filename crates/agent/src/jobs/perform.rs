//! Fires one slot: first the check, then the prompt, command or system work, then the result is recorded.

use std::time::Duration;

use onyx_storage::{DraftFilter, JobChange, JobRow, JobSlot, SlotDelivery, SlotEnding, SlotState};
use onyx_tools::{CommandAccess, ToolCx};
use onyx_types::{
    Attendance, Cancel, DraftState, ErrorCode, Event, Fault, ModelId, RunId, RunStatus, SessionId,
    SessionKey, SessionOrigin, UserContent,
};

use super::spec::{Check, Deliver, JobSpec, SessionUse, SystemWork, Work};
use super::{JobsCore, heartbeat, keeping, system, words};
use crate::actions::{ActionRequest, Confirmation, fill_in};
use crate::drive::tool_context;
use crate::runs::{DryRun, RunInput, RunRequest, RunTerms, SessionRef};

const CHECK_SECONDS: u64 = 60;
const COMMAND_SECONDS: u64 = 600;
/// The most bytes of an answer or output that the history of a job keeps.
const LONGEST_DETAIL: usize = 4 * 1024;
/// Failures in a row that pause a job.
const MOST_FAILURES: u32 = 3;

/// Answers by which an agent says that it has nothing to report.
const NOTHING: [&str; 2] = ["NO_REPLY", "HEARTBEAT_OK"];

/// A slot that this process has claimed.
pub(super) struct ClaimedSlot {
    pub(super) spec: JobSpec,
    pub(super) row: JobRow,
    pub(super) slot: JobSlot,
    pub(super) cancel: Cancel,
}

/// The outcome of a slot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SlotOutcome {
    pub(super) state: SlotState,
    pub(super) detail: String,
    pub(super) session: Option<SessionId>,
    pub(super) cost: Option<f64>,
    /// The run reached a limit on its cost.
    pub(super) over_budget: bool,
}

impl SlotOutcome {
    pub(super) fn new(state: SlotState, detail: impl Into<String>) -> Self {
        let detail = shortened(&detail.into());
        Self { state, detail, session: None, cost: None, over_budget: false }
    }

    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::new(SlotState::Failed, why)
    }

    pub(super) fn nothing(why: impl Into<String>) -> Self {
        Self::new(SlotState::Nothing, why)
    }

    pub(super) fn replaced(self, why: &str) -> Self {
        Self { state: SlotState::Replaced, detail: why.to_owned(), ..self }
    }
}

/// Whether this kind of work asks a model.
pub(super) fn asks_model(system: &SystemWork) -> bool {
    match system {
        SystemWork::Heartbeat { .. } | SystemWork::MemoryKeeping => true,
        SystemWork::MemorySync | SystemWork::SessionCleanup { .. } | SystemWork::Backup(_) => false,
    }
}

pub(super) async fn perform(shared: &JobsCore, firing: &ClaimedSlot) -> SlotOutcome {
    match check_and_work(shared, firing).await {
        Ok(outcome) => outcome,
        Err(fault) => SlotOutcome::failed(fault.message),
    }
}

async fn check_and_work(shared: &JobsCore, firing: &ClaimedSlot) -> Result<SlotOutcome, Fault> {
    if let Some(check) = &firing.spec.when
        && let Some(why_not) = says_no(shared, firing, check).await?
    {
        return Ok(SlotOutcome::nothing(why_not));
    }
    match &firing.spec.work {
        Work::Prompt(prompt) => run_prompt(shared, firing, prompt).await,
        Work::Action(action) => run_action(shared, firing, action).await,
        Work::Command(argv) => run_command(shared, firing, argv).await,
        Work::System(SystemWork::Heartbeat { max_cost_per_day }) => {
            heartbeat::beat(shared, firing, *max_cost_per_day).await
        }
        Work::System(SystemWork::MemorySync) => system::sync(shared).await,
        Work::System(SystemWork::MemoryKeeping) => keeping::keep(shared, firing).await,
        Work::System(SystemWork::SessionCleanup { older_than, keep_newest }) => {
            system::clean_up(shared, *older_than, *keep_newest).await
        }
        Work::System(SystemWork::Backup(plan)) => system::back_up(shared, firing, plan).await,
    }
}

/// The reason why the check found nothing to do, or `None` if there is something to do.
async fn says_no(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    check: &Check,
) -> Result<Option<String>, Fault> {
    match check {
        Check::Command(argv) => {
            let (limit, look) = (Duration::from_secs(CHECK_SECONDS), CommandAccess::Look);
            let cx = command_context(shared, firing);
            let end = shared.outside().command(argv.clone(), look, limit, &cx).await?;
            let why = end.why.unwrap_or_default();
            Ok((!end.succeeded).then(|| format!("Nothing to do: the check said no. {why}")))
        }
        Check::Http { url, status, contains } => {
            let answer = shared.outside().get(url).await?;
            let is_expected = match status {
                Some(status) => answer.status == *status,
                None => (200..300).contains(&answer.status),
            };
            let has_words = contains.as_ref().is_none_or(|words| answer.body.contains(words));
            let no = !(is_expected && has_words);
            Ok(no.then(|| format!("Nothing to do: the address answered {}.", answer.status)))
        }
    }
}

async fn run_command(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    argv: &[String],
) -> Result<SlotOutcome, Fault> {
    let limit = Duration::from_secs(COMMAND_SECONDS);
    let cx = command_context(shared, firing);
    let end = shared.outside().command(argv.to_vec(), CommandAccess::Change, limit, &cx).await?;
    let said = end.output.trim();
    Ok(match (end.succeeded, said.is_empty()) {
        (true, true) => SlotOutcome::nothing("It said nothing."),
        (true, false) => SlotOutcome::new(SlotState::Done, said),
        (false, _) => SlotOutcome::failed(format!("{}\n{said}", end.why.unwrap_or_default())),
    })
}

/// The context of a job's command: it works for the person, unattended and without an agent.
fn command_context(shared: &JobsCore, firing: &ClaimedSlot) -> ToolCx {
    let setup = &shared.setup;
    let roster = setup.roster.get();
    let agent = roster.default_agent().id.clone();
    let session = setup.ids.session();
    let key = SessionKey { person: firing.row.person.clone(), agent: agent.clone(), session };
    let run = firing.slot.run.unwrap_or_else(|| setup.ids.mint().run(setup.ids.now()));
    let cx = tool_context(&setup.files, &setup.clock, &key, &agent, run, roster.limits());
    ToolCx { cancel: firing.cancel.clone(), ..cx.of_this_life() }
}

async fn run_prompt(
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

async fn run_action(
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

/// Writes the outcome of a slot, and its consequences for the job.
pub(super) async fn finish(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    outcome: SlotOutcome,
) -> Result<(), Fault> {
    let ClaimedSlot { spec, row, slot, .. } = firing;
    let failures = match outcome.state {
        SlotState::Failed => row.failures + 1,
        SlotState::Done | SlotState::Nothing => 0,
        _ => row.failures,
    };
    let cost_too_much = || spec.max_cost.zip(outcome.cost).is_some_and(|(most, cost)| cost > most);
    let paused = if outcome.over_budget || cost_too_much() {
        Some("It cost more than its limit. Raise `max_cost`, or resume it as it is.".to_owned())
    } else if outcome.state == SlotState::Failed && failures >= MOST_FAILURES {
        Some(format!("It failed {failures} times in a row. The last time: {}", outcome.detail))
    } else {
        None
    };
    let kept = outcome.session.filter(|_| spec.session == SessionUse::Kept);
    let is_told = outcome.state != SlotState::Nothing;
    if let Some(session) = outcome.session {
        // A session counts as unread only if it has a result and the job delivers to its session.
        if !is_told || !spec.deliver.contains(&Deliver::Session) {
            shared.setup.sessions.mark_read(&row.person, session).await?;
        }
    }
    let detail = match &paused {
        Some(why) => format!("{}\nPaused: {why}", outcome.detail),
        None => outcome.detail,
    };
    let ending = SlotEnding {
        slot: slot.key(),
        from: SlotState::Running,
        state: outcome.state,
        session: outcome.session,
        ended_at: shared.setup.clock.wall(),
        cost: outcome.cost,
        detail,
        delivery: is_told.then_some(SlotDelivery::Pending),
        job: JobChange {
            failures: Some(failures),
            paused: paused.map(Some),
            session: kept,
            ..JobChange::default()
        },
    };
    shared.setup.jobs.end_slot(ending).await?;
    Ok(())
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= LONGEST_DETAIL {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST_DETAIL);
    format!("{}\n[{} more bytes]", &text[..end], text.len() - end)
}
