//! The agent as connectors see it.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use base64::Engine as _;
use onyx_agent::{
    AgentServices, ApprovalOptions, Company as RunCompany, DryRun, EventReader, RunInput,
    RunRequest, RunTerms, SessionRef, StopTarget,
};
use onyx_api::{Authenticator, Change, Changes};
use onyx_connectors::{
    AgentPort, Company, Decision, DraftVerdict, RunEvents, RunFate, StartRun, StartedRun,
};
use onyx_storage::{Area, ObjectKey, Store, StoreError};
use onyx_types::{
    AgentId, Approver, ApproverKind, AsksFor, Attendance, DraftState, Envelope, ErrorCode, Fault,
    Grant, PersonId, Preview, RunId, SessionId, SessionOrigin, UserContent, UserPart,
};

/// Where connectors come in.
pub(crate) struct AgentDoor {
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

/// A run that is over, from its log.
struct Logged(VecDeque<Envelope>);

#[async_trait]
impl RunEvents for Logged {
    async fn next(&mut self) -> Option<Arc<Envelope>> {
        self.0.pop_front().map(Arc::new)
    }
}

#[async_trait]
impl AgentPort for AgentDoor {
    async fn start(&self, request: StartRun) -> Result<StartedRun, Fault> {
        let started = self.agent.runs.start(run_request(request)).await?;
        let events = Box::new(Live(started.events));
        Ok(StartedRun { session: started.session_id, events })
    }

    async fn fate(&self, person: &PersonId, run: RunId) -> Result<RunFate, Fault> {
        let Some(row) = self.store.ledger.run(person, run).await? else {
            return Ok(RunFate::Unknown);
        };
        let session = row.key.session;
        let events: Box<dyn RunEvents> = match self.agent.runs.events(person, run, 0).await {
            Ok(events) => Box::new(Live(events)),
            Err(fault) if fault.code == ErrorCode::NotFound => {
                let told = self.agent.replay.of_run(person, session, run).await?;
                Box::new(Logged(told.into()))
            }
            Err(fault) => return Err(fault),
        };
        Ok(RunFate::Told { session, events })
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
                format!("Answered: {}", decided.output.as_deref().unwrap_or_default())
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
        // A link that names no file of the vault is a link and nothing more.
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
        self.changes.tell(Change::Connectors);
    }
}

/// The words of the option behind a button.
fn chosen(preview: &Preview, option: usize) -> Result<String, Fault> {
    let gone = || Fault::new(ErrorCode::InvalidRequest, "this question has no such option");
    preview.options().get(option).cloned().ok_or_else(gone)
}

fn run_request(request: StartRun) -> RunRequest {
    let company = match request.company {
        Company::Private => RunCompany::Alone,
        Company::Group => RunCompany::Others,
    };
    let session = match request.session {
        // Whoever is bound now answers, also in a conversation that another one began.
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
        terms: RunTerms { run: Some(request.run), title, company, ..RunTerms::default() },
        attendance: Attendance::Attended,
        dry_run: DryRun::Off,
    }
}
