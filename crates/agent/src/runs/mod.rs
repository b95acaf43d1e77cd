//! Runs: how they start, are steered, stopped, read and rejoined, and how those that a crash left
//! open are closed. At most one run works on a session at a time.
//!
//! Surfaces, `conversations`, `drafts` and `personas` come in. A request becomes a plan
//! (`plan.rs`), the session is opened (`opening.rs`), the context is loaded (`context.rs`), and the
//! run is begun and driven by one task (`start.rs`). What a run does next is decided in `step` and
//! performed in `drive`, never here.

mod context;
mod elsewhere;
mod figures;
mod hooks;
mod inbox;
mod lanes;
mod live;
mod opening;
mod owned;
mod plan;
mod recovery;
mod rejoin;
mod repeated;
mod request;
mod retrieval;
mod start;
mod stopping;
mod subscription;
mod table;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onyx_knowledge::Index;
use onyx_storage::Draft;
use onyx_tools::Skills;
use onyx_types::{
    AgentId, DraftId, DraftState, Fault, PersonId, RunId, SessionId, SessionKey, SharedPauses,
    TurnId,
};

use crate::agents::{CurrentRoster, PreferenceFiles};
use crate::drive::DriveServices;
use crate::notices::Notifier;
use crate::sessions::{Ids, RunReplay, SessionNamer, SessionSpaces, Sessions};
use context::ContextSources;
use elsewhere::RunsElsewhere;
use repeated::RepeatedAnswers;
use table::RunTable;

pub(crate) use context::ContextOptions;
pub use elsewhere::{GatewayAddress, OtherGateways, RunOrder};
pub use figures::{RUN_SECONDS, RunFigures};
pub use inbox::SendOutcome;
pub(crate) use live::{LiveRuns, RunContact};
pub(crate) use owned::CollectedAnswer;
pub use owned::{Canceller, OwnedRun, RunHandle};
pub(crate) use plan::check_content;
pub(crate) use recovery::Recovery;
pub use request::{
    Delegated, DryRun, LightPrompt, Privacy, RunInput, RunRequest, RunTerms, SessionRef, StopTarget,
};

/// Starts, stops and finds runs. Cheap to clone.
#[derive(Clone)]
pub struct Runs {
    shared: Arc<RunsCore>,
}

struct RunsCore {
    sessions: Sessions,
    spaces: SessionSpaces,
    namer: SessionNamer,
    replay: RunReplay,
    recovery: Recovery,
    preferences: PreferenceFiles,
    roster: Arc<CurrentRoster>,
    notices: Arc<Notifier>,
    ids: Ids,
    table: RunTable,
    drive: Arc<DriveServices>,
    context: ContextSources,
    repeated: Arc<RepeatedAnswers>,
    elsewhere: Arc<RunsElsewhere>,
    pauses: SharedPauses,
}

/// What the room is opened with.
pub(crate) struct RunsSetup {
    pub(crate) sessions: Sessions,
    pub(crate) namer: SessionNamer,
    pub(crate) replay: RunReplay,
    pub(crate) recovery: Recovery,
    pub(crate) preferences: PreferenceFiles,
    pub(crate) roster: Arc<CurrentRoster>,
    pub(crate) ids: Ids,
    pub(crate) live: Arc<LiveRuns>,
    pub(crate) drive: DriveServices,
    pub(crate) max_runs: usize,
    pub(crate) context: ContextOptions,
    pub(crate) pauses: SharedPauses,
}

impl Runs {
    pub(crate) fn new(setup: RunsSetup) -> Self {
        let drive = Arc::new(setup.drive);
        let elsewhere = RunsElsewhere::new(setup.sessions.clone(), setup.replay.clone(), &drive);
        let shared = RunsCore {
            sessions: setup.sessions,
            spaces: SessionSpaces::new(Arc::clone(&drive.files)),
            namer: setup.namer,
            replay: setup.replay,
            recovery: setup.recovery,
            preferences: setup.preferences,
            roster: setup.roster,
            notices: Arc::clone(&drive.notices),
            ids: setup.ids,
            table: RunTable::new(setup.live, setup.max_runs),
            context: ContextSources::new(&drive, setup.context),
            repeated: Arc::default(),
            elsewhere: Arc::new(elsewhere),
            pauses: setup.pauses,
            drive,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Limits how many runs work at once; further requests get an error and may retry later.
    pub(crate) fn set_max(&self, most: usize) {
        self.shared.table.set_most(most);
    }

    pub(crate) fn set_skills(&self, skills: Skills) {
        self.shared.context.snapshots.set_skills(skills);
    }

    pub(crate) fn set_index(&self, index: Index) {
        // The index is set only once, because a process serves one home.
        let _ = self.shared.drive.index.set(index);
    }

    /// Makes the runs of other gateways reachable.
    pub(crate) fn set_others(&self, others: Arc<dyn OtherGateways>) {
        self.shared.elsewhere.set(others);
        self.shared.drive.has_others.store(true, Ordering::Release);
    }

    /// Whether other gateways may work on the same sessions.
    pub(crate) fn has_others(&self) -> bool {
        self.shared.elsewhere.are_possible()
    }

    /// Whether a living gateway other than this one holds the session.
    pub(crate) async fn holds_elsewhere(&self, key: &SessionKey) -> Result<bool, Fault> {
        self.shared.elsewhere.is_held(key).await
    }

    /// Whether a living gateway other than this one began the run.
    pub(crate) async fn is_elsewhere(&self, run: RunId) -> Result<bool, Fault> {
        self.shared.elsewhere.has_begun(run).await
    }

    /// Whether a run works on the session, here or at another gateway.
    pub async fn is_at_work(&self, person: &PersonId, session: SessionId) -> Result<bool, Fault> {
        if self.on_session(person, session).is_some() {
            return Ok(true);
        }
        if !self.has_others() {
            return Ok(false);
        }
        self.holds_elsewhere(&self.shared.sessions.key(person, session).await?).await
    }

    /// Carries out an order of another gateway. `false` if the run or session is not at work here.
    pub async fn obey(&self, person: &PersonId, order: RunOrder) -> Result<bool, Fault> {
        match order {
            RunOrder::StopSession { session } => {
                Ok(self.stop_here(person, &StopTarget::Session(session)).await)
            }
            RunOrder::StopRun { run } => Ok(self.stop_here(person, &StopTarget::Run(run)).await),
            RunOrder::StopAgent { run, agent } => {
                Ok(self.stop_agent_here(person, run, &agent).await)
            }
            RunOrder::Allow { run, draft } => self.allow_as_asked(person, run, draft).await,
            RunOrder::Words { session, turn, delivery, words } => {
                Ok(self.take_words(person, session, turn, delivery, *words))
            }
        }
    }

    /// The sessions of a person that are at work, each with its run. Runs that announced their end
    /// are left out, though they may still be cleaning up.
    pub fn of_person(&self, person: &PersonId) -> Vec<(SessionId, RunId)> {
        self.shared.table.live.of_person(person)
    }

    /// The run that works on a session now.
    pub fn on_session(&self, person: &PersonId, session: SessionId) -> Option<RunId> {
        self.shared.table.live.on_session(person, session).map(|contact| contact.run)
    }

    /// The run that works on a session now, at any gateway.
    pub async fn at_work_on(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<RunId>, Fault> {
        match self.on_session(person, session) {
            Some(run) => Ok(Some(run)),
            None => self.shared.elsewhere.at_work_on(person, session).await,
        }
    }

    /// The run that answers a message and has not announced its end.
    pub fn answering(&self, person: &PersonId, message: TurnId) -> Option<RunId> {
        self.shared.table.live.answering(person, message)
    }

    /// The run that answers a message and has not ended, at any gateway.
    pub async fn answering_anywhere(
        &self,
        person: &PersonId,
        message: TurnId,
    ) -> Result<Option<RunId>, Fault> {
        match self.answering(person, message) {
            Some(run) => Ok(Some(run)),
            None => self.shared.elsewhere.answering(person, message).await,
        }
    }

    /// Lets the run that proposed a draft do for its rest what the draft did. The run may work at
    /// another gateway. `false` if it is over.
    pub(crate) async fn allow(&self, draft: &Draft) -> Result<bool, Fault> {
        if self.allow_here(draft) {
            return Ok(true);
        }
        let (person, run) = (&draft.key.person, draft.run);
        let order = RunOrder::Allow { run, draft: draft.id };
        self.shared.elsewhere.ask_runner(person, run, order).await
    }

    fn allow_here(&self, draft: &Draft) -> bool {
        let contact = self.shared.table.live.get(draft.run);
        contact.is_some_and(|contact| contact.granted.allow(&draft.plan))
    }

    async fn allow_as_asked(
        &self,
        person: &PersonId,
        run: RunId,
        draft: DraftId,
    ) -> Result<bool, Fault> {
        let draft = self.shared.drive.drafts.draft(person, draft).await?;
        let was_done = |draft: &Draft| draft.run == run && draft.state == DraftState::Applied;
        Ok(draft.filter(was_done).is_some_and(|draft| self.allow_here(&draft)))
    }

    /// How many runs are at work, including those that announced their end and are cleaning up.
    pub fn count(&self) -> usize {
        self.shared.table.live.count()
    }

    pub fn figures(&self) -> RunFigures {
        self.shared.table.figures()
    }

    /// Stops a run and waits until its end is written. `false` if no run was at work.
    pub async fn stop(&self, person: &PersonId, target: StopTarget) -> Result<bool, Fault> {
        if self.stop_here(person, &target).await {
            return Ok(true);
        }
        match target {
            StopTarget::Session(session) => {
                let order = RunOrder::StopSession { session };
                self.shared.elsewhere.ask_holder(person, session, order).await
            }
            StopTarget::Run(run) => {
                self.shared.elsewhere.ask_runner(person, run, RunOrder::StopRun { run }).await
            }
        }
    }

    async fn stop_here(&self, person: &PersonId, target: &StopTarget) -> bool {
        stopping::stop(&self.shared.table, &self.shared.drive.clock, person, target).await
    }

    /// Stops one of the agents that answer in a run and waits for that event; the others continue.
    /// `false` if the run was not at work.
    pub async fn stop_agent(
        &self,
        person: &PersonId,
        run: RunId,
        agent: &AgentId,
    ) -> Result<bool, Fault> {
        if self.stop_agent_here(person, run, agent).await {
            return Ok(true);
        }
        let order = RunOrder::StopAgent { run, agent: agent.clone() };
        self.shared.elsewhere.ask_runner(person, run, order).await
    }

    async fn stop_agent_here(&self, person: &PersonId, run: RunId, agent: &AgentId) -> bool {
        stopping::stop_agent(&self.shared.table, &self.shared.drive.clock, person, run, agent).await
    }

    /// Gives runs time to finish, then stops them. Returns when none is left or the time is over.
    pub async fn drain(&self, patience: Duration) {
        stopping::drain(&self.shared.table, &self.shared.drive.clock, patience).await;
    }

    /// Waits a moment for titles that are being made. This happens after the runs have ended.
    pub async fn settle(&self) {
        self.shared.namer.settle().await;
    }
}
