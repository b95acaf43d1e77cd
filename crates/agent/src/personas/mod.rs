//! The built-in agent that edits personas: who it is, the session in which it works on one of them,
//! and how a persona is tried out.

use onyx_storage::{SessionFilter, SessionMeta, SessionStatus, TitleSource};
use onyx_tools::{PERSONA_EDITOR, PERSONA_GROUP, Policy, TestAnswer, ToolSettings, Toolbox};
use onyx_types::{
    AgentId, Attendance, Cancel, ErrorCode, Fault, LaneOrder, PersonId, SessionId, SessionOrigin,
    Tier, UserContent,
};

use crate::RunManager;
use crate::step::client::{ClientInput, ClientTurn, MemoryUse};
use crate::runs::collected::{Collected, StopOnDrop, collected};
use crate::agents::models::ModelChoice;
use crate::runs::request::{DryRun, RunInput, RunRequest, RunTerms, SessionRef};
use crate::agents::roster::{AgentProfile, Roster};

pub(crate) fn is_editor(agent: &AgentId) -> bool {
    agent.as_str() == PERSONA_EDITOR
}

/// The editor has its own tools and nobody else's.
pub(crate) fn profile(model: ModelChoice, toolbox: &Toolbox) -> Result<AgentProfile, Fault> {
    let only_its_own = format!("group:{PERSONA_GROUP}");
    let tools = ToolSettings { allow: Some(vec![only_its_own]), ..ToolSettings::default() };
    let (policy, _) = Policy::resolve(Tier::Act, &tools, toolbox)?;
    Ok(AgentProfile {
        id: PERSONA_EDITOR.parse()?,
        name: "Persona editor".to_owned(),
        model,
        policy: policy.into(),
        temperature: None,
        max_output_tokens: None,
        workspace: None,
        memories: [].into(),
    })
}

/// The tools of any other agent: everything that its settings say but what is the editor's.
pub(crate) fn tools_of_others(settings: &ToolSettings, toolbox: &Toolbox) -> ToolSettings {
    let mut tools = settings.clone();
    if toolbox.specs().any(|spec| spec.group == PERSONA_GROUP) {
        tools.deny.push(format!("group:{PERSONA_GROUP}"));
    }
    tools
}

/// What the editor is told beside the house rules. The persona's name is the one of this moment.
pub(crate) fn prompt(roster: &Roster, persona: &AgentId) -> String {
    let name = roster.get(persona).map_or(persona.as_str(), |agent| agent.name.as_str());
    format!(
        "# Your work\n\
         You help a person edit one persona of Onyx. Onyx is a home for a person's AI agents; a \
         persona is an agent with a name and a system prompt of its own. Several personas may \
         answer one message, one after the other or side by side, so that a person hears \
         different views, a debate, or the words of somebody who knows a field.\n\n\
         With your tools you can look at the persona and change its name and its system prompt, \
         keep test inputs (things to say to the persona to see how it answers), and try them.\n\n\
         # The persona\nID: {persona}\nName: {name}\n\n\
         # Guidelines\n\
         - Be brief: the person sees every change where it is made.\n\
         - Read what is there before you change it, and pass on the whole new text.\n\
         - Keep the person's intent and way of writing in a system prompt.\n\
         - Ask when a wish can be understood in two ways.\n\
         - After a change say in a sentence what you did.\n\
         - A good system prompt says who speaks, to whom, in which tone, what matters and what to \
         leave alone; short, concrete sentences do more than long lists."
    )
}

/// Why a model that has no tools cannot do this work.
pub(crate) fn toolless(model: &str) -> Fault {
    Fault::new(
        ErrorCode::ProviderRefused,
        format!("{model} has no tools, and the persona editor works with nothing else."),
    )
    .with_hint("Name a model that can call tools as `agents.defaults.model` in onyx.json.")
}

impl RunManager {
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
        Ok(self.sessions(person, &filter).await?.first().map(|session| session.session_id))
    }

    /// The same, made where there is none.
    pub async fn open_editor(
        &self,
        person: &PersonId,
        persona: &AgentId,
    ) -> Result<SessionId, Fault> {
        // Two first messages at once meet in one conversation.
        let _turn = self.inner.editors.lock().await;
        if let Some(session) = self.editor_session(person, persona).await? {
            return Ok(session);
        }
        let now = self.inner.clock.wall();
        let fresh = self.mint().session(now);
        let meta = SessionMeta {
            session_id: fresh,
            agent: persona.clone(),
            origin: SessionOrigin::AgentEditor,
            agents: vec![PERSONA_EDITOR.parse()?],
            mode: LaneOrder::default(),
            title: None,
            titled_by: TitleSource::Words,
            status: SessionStatus::Active,
            created_at: now,
            updated_at: now,
            message_count: 0,
            token_count: 0,
            preview: String::new(),
            root: fresh,
            fork_turn: None,
            last_run: None,
            last_run_status: None,
        };
        self.put_new(person, &meta).await?;
        Ok(fresh)
    }

    /// Puts the conversation away and begins another.
    pub async fn clear_editor(
        &self,
        person: &PersonId,
        persona: &AgentId,
    ) -> Result<SessionId, Fault> {
        match self.editor_session(person, persona).await? {
            Some(session) => self.clear(person, session).await,
            None => self.open_editor(person, persona).await,
        }
    }

    /// A message to the editor.
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

    /// A persona's answer to a test input: nothing of it is kept for long, the persona's memory of
    /// the person stays out of it, and whatever it would change becomes a draft at most.
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

    /// The whole answer to a test input. Ends when `cancel` says so, and the run with it.
    pub async fn answer_test(
        &self,
        person: &PersonId,
        persona: &AgentId,
        content: &str,
        cancel: &Cancel,
    ) -> Result<TestAnswer, Fault> {
        let request = Self::test_request(person.clone(), persona.clone(), content.to_owned());
        let mut run = self.start(request).await?;
        let _stop = StopOnDrop(run.canceller());
        tokio::select! {
            Collected { text, origin } = collected(&mut run.events) => {
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
