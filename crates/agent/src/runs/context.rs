//! Phase 3 of a start, load context: models, prompt files, history and retrieved text are read, and
//! the plan becomes a run. Nothing of the run is written yet.

use std::sync::Arc;

use onyx_knowledge::Retrieval;
use onyx_storage::{Area, BeginIn, BeginRun, Lease, ObjectKey, title_of};
use onyx_tools::{Addresses, GrantedSites, ToolCx};
use onyx_types::{AgentId, Cancel, Fault, RunId, Scope, SessionOrigin, Taint};

use super::RunsCore;
use super::hooks::before_run;
use super::lanes::{self, Lanes};
use super::live::{LiveRun, RunContact};
use super::opening::{MessageToAnswer, OpenedSession};
use super::plan::{RunPlan, SessionAddress};
use super::request::{Privacy, RunInput, RunRequest, RunTerms, SessionRef};
use super::retrieval::{RetrievedContext, known_addresses, retrieve};
use crate::drive::{
    DriveServices, Driver, EndNotes, LaneActor, LedgerState, LiveNotes, Mailbox, RememberAnswers,
    RunOutput, RunReport, SessionHold, UnderWay, messages,
};
use crate::feed::Feed;
use crate::prompt::{
    ForeignFile, History, HistoryCache, PromptSnapshots, SecretMask, UntrustedBlock,
    UntrustedPiece, untrusted_block,
};
use crate::sessions::{self, SessionToName};
use crate::step::client::{ClientTurn, MemoryUse, open_calls, with_all_results};
use crate::step::{RunSetup, RunState};

/// What the context of a run is loaded from.
pub(super) struct ContextSources {
    pub(super) snapshots: PromptSnapshots,
    pub(super) histories: HistoryCache,
    pub(super) mask: SecretMask,
    options: ContextOptions,
}

pub(crate) struct ContextOptions {
    /// Makes the fences of untrusted blocks unguessable.
    pub(crate) fence_secret: [u8; 32],
}

/// A run that is ready to begin; nothing of it is written yet.
pub(super) struct Run {
    /// The session to create with the run; `None` if the session exists.
    pub(super) new_session: Option<NewSession>,
    pub(super) live: LiveRun,
    pub(super) driver: Box<Driver>,
    pub(super) beside: BesideRun,
}

/// What is done for a run besides driving it.
pub(super) struct BesideRun {
    /// The person is asked about these files when the run begins.
    pub(super) foreign: Option<FilesToAccept>,
    /// The session that gets a title after the run.
    pub(super) to_name: Option<SessionToName>,
}

/// Foreign files that would give agents instructions, and the context in which the person is asked.
pub(super) struct FilesToAccept {
    pub(super) files: Vec<(Area, ObjectKey)>,
    pub(super) cx: ToolCx,
}

/// A session that is created together with its first run, before anything is in its log.
pub(super) struct NewSession {
    pub(super) row: BeginRun,
    pub(super) origin: SessionOrigin,
    /// The agents that answer in the session.
    pub(super) agents: Vec<AgentId>,
}

impl ContextSources {
    pub(super) fn new(drive: &DriveServices, options: ContextOptions) -> Self {
        let mask = SecretMask::new(Arc::clone(&drive.toolbox));
        let (files, clock) = (Arc::clone(&drive.files), Arc::clone(&drive.clock));
        Self {
            snapshots: PromptSnapshots::new(files, clock, mask.clone()),
            histories: HistoryCache::new(Arc::clone(&drive.turns)),
            mask,
            options,
        }
    }
}

/// What was read for a run.
struct LoadedContext {
    lanes: Lanes,
    history: History,
    client_turns: Vec<ClientTurn>,
    retrieved: RetrievedContext,
}

pub(super) async fn load_context(
    runs: &RunsCore,
    plan: RunPlan,
    mut opened: OpenedSession,
    lease: &Lease,
) -> Result<Run, Fault> {
    let SessionAddress { key, is_new, .. } = &plan.session;
    let space = plan.space.as_ref();
    let lanes = lanes::set_up(runs, &plan, &opened, space).await?;
    let mut history = if *is_new {
        History::default()
    } else {
        runs.context.histories.load(key, lanes.widest).await?
    };
    history.tell_times_in(runs.drive.clock.zone_of(&key.person));
    let client_turns = std::mem::take(&mut opened.message.client.turns);
    let client_turns = runs.repeated.recognise(&key.person, client_turns);
    let client_turns = with_all_results(client_turns, open_calls(history.turns()))?;
    let groups = retrieval_groups(&plan, opened.message.client.memory);
    let index = runs.drive.index.get();
    let mut retrieved =
        retrieve(index, key, opened.run, &opened.message, groups, &lanes.setups).await;
    before_run(runs, &plan, &opened, &mut retrieved).await?;
    let context = LoadedContext { lanes, history, client_turns, retrieved };
    Ok(assemble(runs, plan, opened, context, lease))
}

/// Where context for the message is searched: in the scopes that the caller named, else in those of
/// the session's space, else in those of a chat whose agents ask for it.
fn retrieval_groups(plan: &RunPlan, memory: MemoryUse) -> Vec<Vec<Scope>> {
    if !plan.scopes.is_empty() {
        return Retrieval::separately(plan.scopes.iter().cloned());
    }
    let agents = plan.agents.iter().map(|agent| &agent.id);
    match &plan.space {
        Some(space) => space.retrieval_groups(agents),
        None if retrieves_in_chat(plan, memory) => {
            let agents = agents.cloned().map(Scope::Agent);
            sessions::retrieval_groups(agents.chain([Scope::Person, Scope::Shared]))
        }
        None => Vec::new(),
    }
}

/// Whether the message is one of a person's chat in which every answering agent asks for context.
/// All agents of a run get the same context, so one that does not ask must not get any.
fn retrieves_in_chat(plan: &RunPlan, memory: MemoryUse) -> bool {
    let is_chat = match plan.session.origin {
        SessionOrigin::Chat | SessionOrigin::Temporary | SessionOrigin::Connector => true,
        SessionOrigin::Companion
        | SessionOrigin::Thread
        | SessionOrigin::AgentEditor
        | SessionOrigin::Job
        | SessionOrigin::Api => false,
    };
    let RunTerms { privacy, delegated, light, .. } = &plan.request.terms;
    // What is found belongs to the person, so others must not hear of it, and a client can leave it
    // out. A message from another agent is not the person's.
    let may_have_memory = *privacy == Privacy::Private && memory == MemoryUse::Include;
    let is_by_person = delegated.is_none() && light.is_none();
    let agents_ask = plan.agents.iter().all(|agent| agent.retrieves_in_chats);
    is_chat && may_have_memory && is_by_person && agents_ask
}

/// Makes the run from the plan and what was read.
fn assemble(
    runs: &RunsCore,
    plan: RunPlan,
    mut opened: OpenedSession,
    mut context: LoadedContext,
    lease: &Lease,
) -> Run {
    let granted = GrantedSites::default();
    share_conditions(&plan, &opened, &mut context, &granted);
    let words = opened.message.words.as_ref();
    let text = words.map(|words| words.content.text()).unwrap_or_default();
    add_untrusted_block(runs, &plan, &mut opened.message, &mut context);

    let (sender, receiver) = messages();
    let (feed, stop) = (Feed::new(opened.run), Cancel::new());
    let cancel = stop.child();
    let contact = RunContact {
        run: opened.run,
        key: plan.session.key.clone(),
        feed: Arc::clone(&feed),
        cancel: cancel.clone(),
        stop,
        messages: sender,
        granted,
    };
    let live = live_run(&plan, &opened, contact);
    let (ledger, new_session) = ledger_state(&plan, row(&plan, &opened));
    let actors = std::mem::take(&mut context.lanes.actors);
    let beside = BesideRun {
        foreign: files_to_accept(&mut context.lanes.foreign, &actors),
        to_name: session_to_name(runs, &plan, &actors),
    };
    let model = context.lanes.setups.first().map(|lane| lane.model_id.clone()).unwrap_or_default();
    let terms = &plan.request.terms;
    let title = terms.title.clone().or_else(|| title_of(&text));
    let spent = terms.delegated.as_ref().map(|parent| Arc::clone(&parent.spent));
    let action = terms.action.clone();
    let report = action.map(|name| RunReport::new(opened.run, name, text, opened.now.wall));
    let driver = Driver {
        run: opened.run,
        limits: plan.limits.clone(),
        execution: plan.request.dry_run.execution(),
        services: Arc::clone(&runs.drive),
        under_way: UnderWay::new(actors.len()),
        lanes: actors,
        mailbox: Mailbox { cancel, messages: receiver },
        outlet: RunOutput { feed, live_text: LiveNotes::new(model), report },
        end_notes: EndNotes { title, spent, remember: to_remember(runs, &plan, opened.run) },
        state: run_state(runs, &plan, opened, context),
        session: SessionHold { lease: lease.clone(), slot: Some(plan.slot), log: None, ledger },
    };
    Run { new_session, live, driver: Box::new(driver), beside }
}

/// Remembers the answers of a run that began a session of a client of the API. Such a client may
/// send them back.
fn to_remember(runs: &RunsCore, plan: &RunPlan, run: RunId) -> Option<RememberAnswers> {
    let SessionAddress { key, origin, is_new, .. } = &plan.session;
    if !is_new || *origin != SessionOrigin::Api {
        return None;
    }
    let (repeated, person) = (Arc::clone(&runs.repeated), key.person.clone());
    Some(Box::new(move |history: &History| repeated.remember(&person, run, history)))
}

fn files_to_accept(files: &mut Vec<ForeignFile>, actors: &[LaneActor]) -> Option<FilesToAccept> {
    let cx = actors.first()?.tool_cx.clone();
    let files: Vec<_> = files.drain(..).map(|file| (file.area, file.path)).collect();
    (!files.is_empty()).then_some(FilesToAccept { files, cx })
}

/// Gives all lanes what they share: taint, what a person allows, and addresses that may be fetched.
fn share_conditions(
    plan: &RunPlan,
    opened: &OpenedSession,
    context: &mut LoadedContext,
    granted: &GrantedSites,
) {
    let delegated = plan.request.terms.delegated.as_ref();
    let budget = delegated.map(|parent| Arc::clone(&parent.fetches)).unwrap_or_default();
    let (message, client_turns) = (&opened.message, &context.client_turns);
    let addresses = Addresses::sharing(budget);
    let addresses = known_addresses(&context.history, message, client_turns, addresses);
    let addresses = Arc::new(addresses);
    for actor in &mut context.lanes.actors {
        actor.tool_cx.decisions.granted = granted.clone();
        actor.tool_cx.addresses = Arc::clone(&addresses);
    }
    let taint = match plan.request.terms.privacy {
        Privacy::Private => taint(opened, context),
        Privacy::Shared => Taint::Tainted,
    };
    for lane in &mut context.lanes.setups {
        lane.taint = taint;
    }
}

/// The row of a run in an existing session is written with the run's first turns. In a new session
/// it is written before them, together with the session's row.
fn ledger_state(plan: &RunPlan, row: BeginRun) -> (LedgerState, Option<NewSession>) {
    if !plan.session.is_new {
        return (LedgerState::ToBegin(Box::new(row)), None);
    }
    let agents = plan.agents.iter().map(|agent| agent.id.clone()).collect();
    (LedgerState::Open, Some(NewSession { row, origin: plan.session.origin, agents }))
}

/// Whether the run begins with content from outside in its prompt.
fn taint(opened: &OpenedSession, context: &LoadedContext) -> Taint {
    let message = &opened.message;
    let mut words = message.leading.iter().chain(&message.words);
    let foreign = !context.lanes.untrusted.is_empty()
        || context.retrieved.taints
        || context.client_turns.iter().any(ClientTurn::is_from_outside)
        || opened.decisions.iter().any(|decided| decided.origin.taints())
        || words.any(|words| words.by.origin().taints());
    if foreign { Taint::Tainted } else { context.history.taint() }
}

/// Puts memory and retrieved text beside the message, fenced as untrusted.
fn add_untrusted_block(
    runs: &RunsCore,
    plan: &RunPlan,
    message: &mut MessageToAnswer,
    context: &mut LoadedContext,
) {
    let Some(words) = &mut message.words else { return };
    let memory = std::mem::take(&mut context.lanes.untrusted);
    let found = std::mem::take(&mut context.retrieved.pieces);
    let masked = |piece: UntrustedPiece| UntrustedPiece {
        text: runs.context.mask.text(piece.text),
        ..piece
    };
    let pieces: Vec<_> = memory.into_iter().chain(found).map(masked).collect();
    let secret = &runs.context.options.fence_secret;
    let block = untrusted_block(secret, plan.session.key.session, message.turn, &pieces);
    if let Some(UntrustedBlock { text, marks }) = block {
        words.context = Some(text);
        words.pieces = marks;
    }
}

fn run_state(
    runs: &RunsCore,
    plan: &RunPlan,
    opened: OpenedSession,
    context: LoadedContext,
) -> RunState {
    let toolbox = Arc::clone(&runs.drive.toolbox);
    let notice = plan.notice.iter().cloned();
    let zone = runs.drive.clock.zone_of(&plan.session.key.person);
    RunState::new(RunSetup {
        run: opened.run,
        key: plan.session.key.clone(),
        input_turn: opened.message.turn,
        input: opened.message.words,
        leading: opened.message.leading,
        decisions: opened.decisions,
        opening: notice.chain(context.retrieved.events).collect(),
        client_turns: context.client_turns,
        lanes: context.lanes.setups,
        order: plan.order,
        limits: plan.limits.clone(),
        attendance: plan.request.attendance,
        history: context.history,
        mint: opened.mint,
        now: runs.drive.clock.now(),
        describe: Arc::new(move |call| toolbox.label(call)),
        action: plan
            .request
            .terms
            .action
            .clone()
            .map(|name| name.run(opened.run, opened.now.wall, &zone)),
    })
}

fn row(plan: &RunPlan, opened: &OpenedSession) -> BeginRun {
    BeginRun {
        run: opened.run,
        key: plan.session.key.clone(),
        input_turn: opened.message.turn,
        started_at: opened.now.wall,
        session: if plan.session.is_new {
            BeginIn::New(plan.session.origin)
        } else {
            BeginIn::Existing
        },
    }
}

fn live_run(plan: &RunPlan, opened: &OpenedSession, contact: RunContact) -> LiveRun {
    let session = plan.session.key.session;
    LiveRun {
        begun: opened.now.mono,
        contact,
        answers: opened.answers,
        follow_up: RunRequest {
            session: SessionRef::Existing(session),
            input: RunInput::Waiting,
            view: None,
            // The ids in these terms were promised for this run; the follow-up run gets its own.
            terms: RunTerms { run: None, words: None, ..plan.request.terms.clone() },
            ..plan.request.clone()
        },
        expects_words: false,
        tool_models: Vec::new(),
    }
}

/// The session if a model is to give it a title after this run. Sessions of API clients and of the
/// persona editor are in no list, so they need none.
fn session_to_name(runs: &RunsCore, plan: &RunPlan, actors: &[LaneActor]) -> Option<SessionToName> {
    let SessionAddress { key, origin, unnamed, .. } = &plan.session;
    // A job gives its sessions their titles itself.
    let is_listed =
        !origin.is_passing() && !matches!(origin, SessionOrigin::AgentEditor | SessionOrigin::Job);
    let is_asked_by_agent = plan.request.terms.delegated.is_some();
    if !unnamed || !is_listed || is_asked_by_agent || !runs.namer.asks_models() {
        return None;
    }
    let model = actors.first()?.model.clone()?;
    Some(SessionToName { key: key.clone(), model })
}
