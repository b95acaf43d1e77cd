//! Personas: the session in which a persona is edited, and test runs of a persona.
//!
//! The persona tools come in, and surfaces that have checked that the person may edit agents. The
//! editor's own profile and prompt are in `agents`; the files of personas are written by tools.

use std::sync::Arc;

use onyx_storage::{SessionFilter, SessionStatus};
use onyx_tools::{PERSONA_EDITOR, TestAnswer};
use onyx_types::{
    AgentId, Attendance, Cancel, ErrorCode, Fault, LaneOrder, PersonId, SessionId, SessionOrigin,
    Tier, UserContent,
};

use crate::runs::{CollectedAnswer, DryRun, RunInput, RunRequest, RunTerms, Runs, SessionRef};
use crate::sessions::{NewSession, Sessions};
use crate::step::client::{ClientInput, ClientTurn, MemoryUse};

/// Edits and tests personas. Cheap to clone.
#[derive(Clone)]
pub struct Personas {
    sessions: Sessions,
    runs: Runs,
    /// This lock is held while an editor session is looked for or made, so that two first messages
    /// at once get the same session.
    opening: Arc<tokio::sync::Mutex<()>>,
}

impl Personas {
    pub(crate) fn new(sessions: Sessions, runs: Runs) -> Self {
        Self { sessions, runs, opening: Arc::default() }
    }

    /// The conversation in which the person edits the persona now, if there is one.
    pub async fn editor_session(
        &self,
        person: &PersonId,
        persona: &AgentId,
    ) -> Result<Option<SessionId>, Fault> {
        let filter = SessionFilter {
            agent: Some(persona.clone()),
            status: Some(SessionStatus::Active),
            origin: Some(SessionOrigin::AgentEditor),
            limit: 1,
            ..SessionFilter::default()
        };
        Ok(self.sessions.list(person, &filter).await?.first().map(|session| session.session_id))
    }

    /// The session in which the person edits the persona, created if there is none.
    pub async fn open_editor(
        &self,
        person: &PersonId,
        persona: &AgentId,
    ) -> Result<SessionId, Fault> {
        let _opening = self.opening.lock().await;
        if let Some(session) = self.editor_session(person, persona).await? {
            return Ok(session);
        }
        let new = NewSession {
            agent: persona.clone(),
            agents: vec![PERSONA_EDITOR.parse()?],
            origin: SessionOrigin::AgentEditor,
            mode: LaneOrder::default(),
            title: None,
        };
        Ok(self.sessions.create(person, new).await?.session_id)
    }

    /// Archives the session and begins another.
    pub async fn clear_editor(
        &self,
        person: &PersonId,
        persona: &AgentId,
    ) -> Result<SessionId, Fault> {
        match self.editor_session(person, persona).await? {
            Some(session) => self.sessions.clear(person, session).await,
            None => self.open_editor(person, persona).await,
        }
    }

    /// The run that answers a message to the editor.
    pub async fn editor_request(
        &self,
        person: &PersonId,
        persona: &AgentId,
        message: String,
    ) -> Result<RunRequest, Fault> {
        Ok(RunRequest {
            session: SessionRef::Editor(self.open_editor(person, persona).await?),
            input: RunInput::New(UserContent::Text(message)),
            ..plain(person.clone())
        })
    }

    /// The request for a persona's answer to a test input. Nothing of the answer is kept for long,
    /// the persona's memory of the person is not used, and a change that it wants to make becomes
    /// at most a draft.
    pub fn test_request(person: PersonId, persona: AgentId, content: String) -> RunRequest {
        let words = ClientTurn::User(UserContent::Text(content));
        let input = ClientInput {
            turns: vec![words],
            memory: MemoryUse::LeaveOut,
            ..ClientInput::default()
        };
        RunRequest {
            session: SessionRef::New { origin: SessionOrigin::Api, agents: vec![persona] },
            input: RunInput::Client(Box::new(input)),
            terms: RunTerms { tier: Some(Tier::Suggest), ..RunTerms::default() },
            ..plain(person)
        }
    }

    /// Runs a test input and returns the whole answer. Cancelling `cancel` also stops the run.
    pub async fn answer_test(
        &self,
        person: &PersonId,
        persona: &AgentId,
        content: &str,
        cancel: &Cancel,
    ) -> Result<TestAnswer, Fault> {
        let request = Self::test_request(person.clone(), persona.clone(), content.to_owned());
        let mut run = self.runs.start_owned(request).await?;
        tokio::select! {
            CollectedAnswer { text, origin } = run.collect() => {
                Ok(TestAnswer { text: text?, origin })
            }
            () = cancel.cancelled() => Err(Fault::plain(ErrorCode::Cancelled)),
        }
    }
}

fn plain(person: PersonId) -> RunRequest {
    RunRequest {
        person,
        session: SessionRef::New { origin: SessionOrigin::Chat, agents: Vec::new() },
        input: RunInput::Waiting,
        view: None,
        model: None,
        terms: RunTerms::default(),
        attendance: Attendance::Unattended,
        dry_run: DryRun::Off,
    }
}
