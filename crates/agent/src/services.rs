//! Opens every room over one store, and runs the tasks that belong to no single room.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use onyx_knowledge::{FactFinder, Index};
use onyx_storage::Store;
use onyx_tools::{Skills, Toolbox};
use onyx_types::{
    AgentId, CallLabel, Cancel, Clock, Fault, Pauses, PersonId, SharedPauses, Timestamp, ToolCall,
};
use tokio::sync::broadcast;

use crate::actions::Actions;
use crate::agents::{AgentProfile, CurrentRoster, Models, PreferenceFiles, Roster, Titles};
use crate::conversations::{self, Conversations, SentMessages};
use crate::drafts::{self, Approvals, ChosenDraftLeases, DraftLeases, Undo};
use crate::drive::DriveServices;
use crate::jobs::{Jobs, JobsSetup};
use crate::memory::{ModelFacts, keeping_request};
use crate::notices::{Notice, NoticeKind, Notifier};
use crate::personas::Personas;
use crate::prompt::{SecretMask, UntrustedPiece, untrusted_block};
use crate::runs::{ContextOptions, LiveRuns, OtherGateways, Recovery, RunRequest, Runs, RunsSetup};
use crate::sessions::{Ids, RunReplay, SessionNamer, SessionSpaces, Sessions};

/// How often runs are looked for that lost their process or could not write their end.
const LOOK_AFTER: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
pub struct AgentOptions {
    /// Limits how many runs work at once; further requests get an error and may retry later.
    pub max_runs: usize,
    /// Seeds ids; unpredictable in production.
    pub seed: u64,
    /// Makes the fences of untrusted blocks unguessable.
    pub fence_secret: [u8; 32],
}

/// All rooms of the agent crate, for the surfaces. Cheap to clone.
#[derive(Clone)]
pub struct AgentServices {
    pub sessions: Sessions,
    pub runs: Runs,
    pub replay: RunReplay,
    pub approvals: Approvals,
    pub undo: Undo,
    pub conversations: Conversations,
    pub actions: Actions,
    pub personas: Personas,
    pub jobs: Jobs,
    pub preferences: PreferenceFiles,
    pub(crate) shared: Arc<ServicesCore>,
}

/// The parts that the rooms share and the services need too.
pub(crate) struct ServicesCore {
    pub(crate) store: Store,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) live: Arc<LiveRuns>,
    pub(crate) notices: Arc<Notifier>,
    pub(crate) ids: Ids,
    pub(crate) toolbox: Arc<Toolbox>,
    clock: Arc<dyn Clock>,
    roster: Arc<CurrentRoster>,
    namer: SessionNamer,
    pub(crate) recovery: Recovery,
    fence_secret: [u8; 32],
    draft_leases: Arc<ChosenDraftLeases>,
    /// The pauses by which tests hold up background work; empty in a release build.
    pauses: SharedPauses,
}

impl AgentServices {
    pub fn new(
        store: Store,
        toolbox: Arc<Toolbox>,
        models: Arc<dyn Models>,
        roster: Roster,
        clock: Arc<dyn Clock>,
        options: AgentOptions,
    ) -> Self {
        let roster = Arc::new(CurrentRoster::new(roster));
        let ids = Ids::new(options.seed, Arc::clone(&clock));
        let notices: Arc<Notifier> = Arc::default();
        let live: Arc<LiveRuns> = Arc::default();
        let sessions =
            Sessions::new(&store, Arc::clone(&roster), Arc::clone(&notices), ids.clone());
        let pauses = SharedPauses::default();
        let (named, ledger) = (sessions.clone(), Arc::clone(&store.ledger));
        let namer = SessionNamer::new(named, Arc::clone(&clock), ledger, pauses.clone());
        let drafts = Arc::clone(&store.drafts);
        let shared = Arc::new(ServicesCore {
            recovery: Recovery::new(sessions.clone(), &store, ids.clone()),
            fence_secret: options.fence_secret,
            draft_leases: Arc::default(),
            store,
            models,
            live,
            notices,
            ids,
            toolbox,
            clock,
            roster,
            namer,
            pauses,
        });
        let replay = RunReplay::new(sessions.clone(), drafts, Arc::clone(&shared.toolbox));
        let preferences = shared.preferences();
        let runs = Runs::new(RunsSetup {
            sessions: sessions.clone(),
            namer: shared.namer.clone(),
            replay: replay.clone(),
            recovery: shared.recovery.clone(),
            preferences: preferences.clone(),
            roster: Arc::clone(&shared.roster),
            ids: shared.ids.clone(),
            live: Arc::clone(&shared.live),
            drive: shared.drive_services(),
            max_runs: options.max_runs,
            context: ContextOptions { fence_secret: options.fence_secret },
            pauses: shared.pauses.clone(),
        });
        Self {
            approvals: shared.approvals(&runs),
            undo: Undo::new(&shared.store, Arc::clone(&shared.clock)),
            conversations: shared.conversations(&sessions, &replay, &runs),
            actions: shared.actions(),
            personas: Personas::new(sessions.clone(), runs.clone()),
            jobs: shared.jobs(&sessions, &runs),
            preferences,
            sessions,
            runs,
            replay,
            shared,
        }
    }

    pub fn roster(&self) -> Arc<Roster> {
        self.shared.roster.get()
    }

    /// Replaces the roster. Runs at work keep the agents that they began with.
    pub fn set_roster(&self, roster: Roster) {
        self.shared.roster.set(roster);
    }

    pub fn set_max_runs(&self, most: usize) {
        self.runs.set_max(most);
    }

    /// Sets where titles of sessions come from, beginning with the next run.
    pub fn set_titles(&self, titles: Titles) {
        self.shared.namer.set(titles);
    }

    /// Sets the pauses by which tests hold up background work.
    pub fn set_pauses(&self, pauses: Pauses) {
        self.shared.pauses.set(pauses);
    }

    /// Waits if a test asks for it; in a release build this does nothing.
    pub async fn pause(&self, point: &'static str) {
        self.shared.pauses.at(point).await;
    }

    /// The request for a run in which an agent proposes, as drafts, what its memory should hold.
    /// `None` if there is nothing to look at.
    pub async fn memory_keeping(
        &self,
        person: PersonId,
        agent: AgentId,
    ) -> Result<Option<RunRequest>, Fault> {
        let store = &self.shared.store;
        keeping_request(&*store.files, &*store.drafts, person, agent).await
    }

    /// Makes a finder that lets a model of the config read texts for facts.
    pub fn fact_finder(&self, model: String) -> Arc<dyn FactFinder> {
        Arc::new(ModelFacts {
            model,
            models: Arc::clone(&self.shared.models),
            ledger: Arc::clone(&self.shared.store.ledger),
            clock: Arc::clone(&self.shared.clock),
            roster: Arc::clone(&self.shared.roster),
            ids: self.shared.ids.clone(),
        })
    }

    pub fn set_index(&self, index: Index) {
        self.jobs.set_index(index.clone());
        self.runs.set_index(index);
    }

    /// Sets the skills that prompts list and agents open.
    pub fn set_skills(&self, skills: Skills) {
        self.runs.set_skills(skills);
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.shared.clock)
    }

    pub fn now(&self) -> Timestamp {
        self.shared.ids.now()
    }

    /// The person's current date, by which spending is counted.
    pub fn today(&self, person: &PersonId) -> String {
        self.shared.clock.zone_of(person).date(self.now())
    }

    /// A new id for a request or for an answer that is not stored.
    pub fn fresh_id(&self) -> String {
        let now = self.now();
        self.shared.ids.mint().uuid(now).simple().to_string()
    }

    /// Subscribes to all notices from now on, of all people; the listener filters them.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.shared.notices.listen()
    }

    /// Connects other gateways: their runs become reachable, and drafts are leased among all
    /// gateways.
    pub fn set_others(&self, others: Arc<dyn OtherGateways>, leases: Arc<dyn DraftLeases>) {
        self.runs.set_others(others);
        self.shared.draft_leases.choose(leases);
    }

    /// Subscribes to notices of this gateway from now on, without those of other gateways.
    pub fn own_notices(&self) -> broadcast::Receiver<Notice> {
        self.shared.notices.listen_to_own()
    }

    /// Takes a notice from another gateway.
    pub async fn take_notice(&self, notice: Notice) {
        if let NoticeKind::Draft(draft) = notice.kind
            && self.runs.on_session(&notice.person, notice.session).is_some()
            && let Err(fault) = self.approvals.take_decision(&notice.person, draft).await
        {
            // The decision is in the ledger, so the session's next run gets it.
            tracing::warn!(%draft, %fault, "a decision of another gateway could not be read");
        }
        self.shared.notices.announce(notice);
    }

    /// The names of the tools that an agent has now.
    pub fn tools_of(&self, agent: &AgentProfile) -> Vec<String> {
        let tools = self.shared.toolbox.tools();
        let policy = agent.policy.for_tools(&tools.known());
        policy.tools().map(ToOwned::to_owned).collect()
    }

    /// Masks this stored secret from now on, in everything that models and people are shown.
    pub fn mask_stored(&self, secret: &str) {
        self.shared.toolbox.mask_stored(secret);
    }

    /// One line that says what a call would do, for people.
    pub fn call_summary(&self, call: &ToolCall) -> String {
        self.shared.toolbox.summary(call)
    }

    /// The description of a call for people.
    pub fn call_label(&self, call: &ToolCall) -> CallLabel {
        self.shared.toolbox.label(call)
    }

    /// Puts evidence from a client into a fence, so that nothing in it can pass for instructions.
    pub fn untrusted_block(&self, pieces: &[UntrustedPiece]) -> Option<String> {
        let (session, turn) = (self.shared.ids.session(), self.shared.ids.turn());
        let block = untrusted_block(&self.shared.fence_secret, session, turn, pieces);
        block.map(|block| block.text)
    }

    /// Closes runs that an earlier process, a dead gateway, or a store that refused to write left
    /// open, and settles drafts. It is called before the first request and at intervals. Returns
    /// how many runs it closed.
    pub async fn recover(&self) -> Result<usize, Fault> {
        let closed = self.shared.recovery.close_all().await?;
        self.approvals.settle().await?;
        Ok(closed)
    }

    /// Answers the messages that an earlier process left waiting, then recovers at intervals until
    /// it is stopped. Where there are other gateways, it also looks at intervals for messages that
    /// one of them left waiting.
    pub async fn tend(&self, stop: &Cancel) {
        self.tend_every(LOOK_AFTER, stop).await;
    }

    /// Does what `tend` does, with this interval between recoveries.
    pub async fn tend_every(&self, look_after: Duration, stop: &Cancel) {
        if !self.runs.has_others()
            && let Err(fault) = self.conversations.resume_promises().await
        {
            tracing::error!(%fault, "waiting messages could not be looked up");
        }
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.take_over_messages() => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.shared.clock.sleep(look_after) => {}
            }
            if let Err(fault) = self.recover().await {
                tracing::warn!(%fault, "open runs could not be looked up");
            }
        }
    }

    /// Answers the messages that other gateways left waiting, if there are any.
    async fn take_over_messages(&self) {
        if self.runs.has_others()
            && let Err(fault) = self.conversations.take_over_promises().await
        {
            tracing::warn!(%fault, "waiting messages of other gateways could not be looked up");
        }
    }

    /// Gives runs time to finish, then stops them. Returns when none is left or the time is over.
    pub async fn drain(&self, patience: Duration) {
        self.runs.drain(patience).await;
    }

    /// Waits a moment for work that follows runs, such as titles that are being made.
    pub async fn settle(&self) {
        self.runs.settle().await;
    }
}

impl ServicesCore {
    fn drive_services(&self) -> DriveServices {
        DriveServices {
            turns: Arc::clone(&self.store.turns),
            ledger: Arc::clone(&self.store.ledger),
            run_log: Arc::clone(&self.store.runs),
            drafts: Arc::clone(&self.store.drafts),
            leases: Arc::clone(&self.store.leases),
            duties: Arc::clone(&self.store.duties),
            files: Arc::clone(&self.store.files),
            steps: self.store.steps.clone(),
            toolbox: Arc::clone(&self.toolbox),
            models: Arc::clone(&self.models),
            clock: Arc::clone(&self.clock),
            notices: Arc::clone(&self.notices),
            index: OnceLock::new(),
            has_others: AtomicBool::new(false),
        }
    }

    fn preferences(&self) -> PreferenceFiles {
        PreferenceFiles::new(Arc::clone(&self.store.files), Arc::clone(&self.clock))
    }

    fn approvals(&self, runs: &Runs) -> Approvals {
        Approvals::new(drafts::ApprovalsCore {
            drafts: Arc::clone(&self.store.drafts),
            files: Arc::clone(&self.store.files),
            toolbox: Arc::clone(&self.toolbox),
            clock: Arc::clone(&self.clock),
            roster: Arc::clone(&self.roster),
            notices: Arc::clone(&self.notices),
            live: Arc::clone(&self.live),
            runs: runs.clone(),
            leases: Arc::clone(&self.draft_leases) as Arc<dyn DraftLeases>,
        })
    }

    fn conversations(&self, sessions: &Sessions, replay: &RunReplay, runs: &Runs) -> Conversations {
        Conversations::new(conversations::ConversationsCore {
            sessions: sessions.clone(),
            spaces: SessionSpaces::new(Arc::clone(&self.store.files)),
            replay: replay.clone(),
            runs: runs.clone(),
            roster: Arc::clone(&self.roster),
            notices: Arc::clone(&self.notices),
            files: Arc::clone(&self.store.files),
            ledger: Arc::clone(&self.store.ledger),
            clock: Arc::clone(&self.clock),
            ids: self.ids.clone(),
            mask: SecretMask::new(Arc::clone(&self.toolbox)),
            promises: Arc::default(),
            sent: SentMessages::new(Arc::clone(&self.store.short_lived)),
            opening: tokio::sync::Mutex::default(),
        })
    }

    fn jobs(&self, sessions: &Sessions, runs: &Runs) -> Jobs {
        Jobs::new(JobsSetup {
            files: Arc::clone(&self.store.files),
            ledger: Arc::clone(&self.store.ledger),
            jobs: Arc::clone(&self.store.jobs),
            duties: Arc::clone(&self.store.duties),
            drafts: Arc::clone(&self.store.drafts),
            clock: Arc::clone(&self.clock),
            roster: Arc::clone(&self.roster),
            sessions: sessions.clone(),
            actions: self.actions(),
            runs: runs.clone(),
            ids: self.ids.clone(),
        })
    }

    fn actions(&self) -> Actions {
        let (files, clock) = (Arc::clone(&self.store.files), Arc::clone(&self.clock));
        Actions::new(files, clock, Arc::clone(&self.roster))
    }
}
