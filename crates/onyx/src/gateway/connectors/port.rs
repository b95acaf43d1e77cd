//! Implements the port by which connectors reach the agent services.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use base64::Engine as _;
use onyx_agent::{
    AgentServices, ApprovalOptions, DryRun, EventReader, Privacy as RunPrivacy, RunInput,
    RunRequest, RunTerms, SendOutcome, SessionRef, StopTarget,
};
use onyx_api::{Authenticator, Change, Changes};
use onyx_connectors::{
    AgentPort, Decision, DraftVerdict, Privacy, PromisedRun, RunEvents, StartRun, StartedRun,
};
use onyx_storage::{Area, Delivery, ObjectKey, Store, StoreError};
use onyx_types::{
    AgentId, Approver, ApproverKind, AsksFor, Attendance, DraftState, Envelope, ErrorCode, Fault,
    Grant, PersonId, Preview, RunId, SessionId, SessionOrigin, Turn, TurnBody, TurnId, UserContent,
    UserPart,
};

/// How many turns of a log are searched for a message. Connectors look for a message soon after it
/// was written.
const NEWEST_TURNS: usize = 512;

/// The connectors' access to the agent services.
pub(crate) struct ConnectorsAgent {
    pub(crate) agent: AgentServices,
    pub(crate) store: Store,
    pub(crate) auth: Arc<Authenticator>,
    pub(crate) changes: Changes,
    pub(crate) link: Arc<RwLock<Option<String>>>,
}

struct Live(EventReader);

#[async_trait]
impl RunEvents for Live {
    async fn next(&mut self) -> Option<Arc<Envelope>> {
        self.0.next().await
    }
}

/// The events of an ended run, from its log.
struct LoggedEvents(VecDeque<Envelope>);

#[async_trait]
impl RunEvents for LoggedEvents {
    async fn next(&mut self) -> Option<Arc<Envelope>> {
        self.0.pop_front().map(Arc::new)
    }
}

#[async_trait]
impl AgentPort for ConnectorsAgent {
    async fn start(&self, request: StartRun) -> Result<StartedRun, Fault> {
        let (person, session) = (request.person.clone(), request.session);
        let words = words_of(request.run);
        let mut request = run_request(request);
        let started = if self.waits(&person, session, words).await? {
            // An earlier attempt has put the message into the inbox, and no run has taken it yet.
            request.input = RunInput::Queued(words);
            self.agent.runs.start(request).await?
        } else if request.terms.privacy == RunPrivacy::Private {
            match self.agent.runs.send(request, Delivery::Steer).await? {
                SendOutcome::Started(started) => started,
                SendOutcome::Queued { run, .. } => return Ok(StartedRun::Joined { run }),
            }
        } else {
            // A run at work would take the message for the person's own words, so a message of
            // others gets its own run.
            self.agent.runs.start(request).await?
        };
        let events = Box::new(Live(started.events));
        Ok(StartedRun::Own { session: started.session_id, events })
    }

    async fn promised_run(
        &self,
        person: &PersonId,
        session: Option<SessionId>,
        run: RunId,
    ) -> Result<PromisedRun, Fault> {
        if let Some(row) = self.store.ledger.run(person, run).await? {
            return self.events_of(person, row.key.session, run).await;
        }
        let Some(session) = session else { return Ok(PromisedRun::Unknown) };
        let words = words_of(run);
        if let Some(reader) = self.reader(person, session, words).await? {
            return match reader {
                Reader::Its(run) => self.events_of(person, session, run).await,
                Reader::Another => Ok(PromisedRun::Read),
            };
        }
        let is_working = self.agent.runs.on_session(person, session).is_some();
        if is_working && self.waits(person, Some(session), words).await? {
            return Ok(PromisedRun::Waits);
        }
        Ok(PromisedRun::Unknown)
    }

    async fn stop(&self, person: &PersonId, session: SessionId) -> Result<bool, Fault> {
        self.agent.runs.stop(person, StopTarget::Session(session)).await
    }

    async fn undo(&self, person: &PersonId, session: SessionId) -> Result<String, Fault> {
        let meta = self.agent.sessions.meta(person, session).await?;
        let Some(run) = meta.last_run else { return Ok("There is nothing to undo.".to_owned()) };
        let restored = self.agent.undo.run(person, run).await?;
        Ok(match restored.as_slice() {
            [] => "The last answer changed nothing.".to_owned(),
            paths => format!("Restored {}.", paths.join(", ")),
        })
    }

    async fn decide(&self, decision: Decision) -> Result<String, Fault> {
        let Decision { person, draft, verdict, reason } = decision;
        let approvals = &self.agent.approvals;
        let decided = match verdict {
            DraftVerdict::Reject => approvals.reject(&person, draft, reason).await,
            DraftVerdict::Approve | DraftVerdict::Choose(_) => {
                let preview = approvals.get(&person, draft).await?.plan.preview;
                let reason = match verdict {
                    DraftVerdict::Choose(option) => Some(chosen(&preview, option)?),
                    DraftVerdict::Approve | DraftVerdict::Reject => {
                        reason.map(|words| preview.answer_meant(&words).to_owned())
                    }
                };
                let is_owner = self.owner()? == person;
                let kind = if is_owner { ApproverKind::Owner } else { ApproverKind::Member };
                let approver = Approver::new(&person, kind, [Grant::Write].into_iter().collect())?;
                let options = ApprovalOptions { reason, ..ApprovalOptions::default() };
                approvals.approve(&approver, draft, options).await
            }
        };
        let decided = decided.map_err(|refused| refused.fault)?;
        let is_answer = decided.plan.asks_for() == AsksFor::Answer;
        Ok(match decided.state {
            DraftState::Applied if is_answer => {
                format!("Answered: {}", decided.output_text().unwrap_or_default())
            }
            DraftState::Applied => format!("Approved: {}", decided.plan.summary),
            DraftState::Rejected => format!("Rejected: {}", decided.plan.summary),
            other => format!("{}: {}", other.as_str(), decided.plan.summary),
        })
    }

    async fn status(
        &self,
        person: &PersonId,
        session: Option<SessionId>,
        agent: &AgentId,
    ) -> Result<String, Fault> {
        let Some(session) = session else {
            return Ok(format!("{agent} answers here. No conversation has begun."));
        };
        let meta = self.agent.sessions.meta(person, session).await?;
        let works = match self.agent.runs.on_session(person, session) {
            Some(_) => "It is working on an answer.",
            None => "Nothing is running.",
        };
        let count = meta.message_count;
        Ok(format!("{agent} answers here. {works} {count} messages so far."))
    }

    fn agents(&self) -> Vec<AgentId> {
        self.agent.roster().agents().map(|agent| agent.id.clone()).collect()
    }

    fn default_agent(&self) -> AgentId {
        self.agent.roster().default_agent().id.clone()
    }

    fn owner(&self) -> Result<PersonId, Fault> {
        self.auth.identity().owner()
    }

    fn link(&self) -> Option<String> {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn file(
        &self,
        person: &PersonId,
        path: &str,
        largest: u64,
    ) -> Result<Option<Vec<u8>>, Fault> {
        // A link that is no path in the vault is not a file to send.
        let Ok(key) = path.parse::<ObjectKey>() else { return Ok(None) };
        let vault = self.store.files.objects(&Area::Vault(person.clone()))?;
        match vault.get(&key, largest).await {
            Ok(found) => Ok(found.map(|object| object.bytes)),
            Err(StoreError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn tell_owner(&self, text: String) {
        tracing::warn!("connectors: {text}");
        self.changes.tell_everywhere(Change::Connectors);
    }
}

/// The run that answers a message.
enum Reader {
    /// A run of its own, which began with the message.
    Its(RunId),
    /// A run that was already at work when the message came.
    Another,
}

/// The id of a message in the inbox. It is derived from the run that was promised for the message.
fn words_of(run: RunId) -> TurnId {
    TurnId::from_uuid(run.as_uuid())
}

impl ConnectorsAgent {
    async fn events_of(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
    ) -> Result<PromisedRun, Fault> {
        let events: Box<dyn RunEvents> = match self.agent.runs.events(person, run, 0).await {
            Ok(events) => Box::new(Live(events)),
            Err(fault) if fault.code == ErrorCode::NotFound => {
                let logged = self.agent.replay.of_run(person, session, run).await?;
                Box::new(LoggedEvents(logged.into()))
            }
            Err(fault) => return Err(fault),
        };
        Ok(PromisedRun::Found { run, session, events })
    }

    /// Whether a message waits in a session's inbox and no run has read it.
    async fn waits(
        &self,
        person: &PersonId,
        session: Option<SessionId>,
        words: TurnId,
    ) -> Result<bool, Fault> {
        let Some(session) = session else { return Ok(false) };
        match self.agent.runs.queued(person, session).await {
            Ok(rows) => Ok(rows.iter().any(|row| row.turn == words)),
            // The session was deleted with its inbox.
            Err(fault) if fault.code == ErrorCode::NotFound => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// The run that has read a message; `None` if the message is not among the newest turns of the
    /// log.
    async fn reader(
        &self,
        person: &PersonId,
        session: SessionId,
        words: TurnId,
    ) -> Result<Option<Reader>, Fault> {
        let page = match self.agent.sessions.turns(person, session, None, NEWEST_TURNS).await {
            Ok(page) => page,
            Err(fault) if fault.code == ErrorCode::NotFound => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let Some(found) = page.turns.iter().find(|turn| turn.id == words) else { return Ok(None) };
        let Some(run) = found.run else { return Ok(Some(Reader::Another)) };
        let is_user = |turn: &&Turn| matches!(turn.body, TurnBody::User(_));
        let first = page.turns.iter().filter(is_user).find(|turn| turn.run == Some(run));
        let is_first = first.is_some_and(|first| first.id == words);
        Ok(Some(if is_first { Reader::Its(run) } else { Reader::Another }))
    }
}

/// The text of the option that belongs to a button.
fn chosen(preview: &Preview, option: usize) -> Result<String, Fault> {
    let gone = || Fault::new(ErrorCode::InvalidRequest, "this question has no such option");
    preview.options().get(option).cloned().ok_or_else(gone)
}

fn run_request(request: StartRun) -> RunRequest {
    let privacy = match request.privacy {
        Privacy::Private => RunPrivacy::Private,
        Privacy::Group => RunPrivacy::Shared,
    };
    let session = match request.session {
        // The agent of the current binding answers, also in a conversation that another agent
        // began.
        Some(session) => SessionRef::Asking { session, agents: vec![request.agent] },
        None => SessionRef::New { origin: SessionOrigin::Connector, agents: vec![request.agent] },
    };
    let content = if request.pictures.is_empty() {
        UserContent::Text(request.text)
    } else {
        let mut parts = vec![UserPart::Text { text: request.text }];
        parts.extend(request.pictures.into_iter().map(|picture| UserPart::Image {
            media_type: picture.media_type,
            data: base64::engine::general_purpose::STANDARD.encode(picture.bytes),
        }));
        UserContent::Parts(parts)
    };
    let title = matches!(session, SessionRef::New { .. }).then_some(request.title);
    RunRequest {
        person: request.person,
        session,
        input: RunInput::New(content),
        view: None,
        model: request.model,
        terms: RunTerms {
            run: Some(request.run),
            words: Some(words_of(request.run)),
            title,
            privacy,
            ..RunTerms::default()
        },
        attendance: Attendance::Attended,
        dry_run: DryRun::Off,
    }
}
