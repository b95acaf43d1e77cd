//! The ports through which tools reach the config and the runs of the gateway.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use onyx_agent::AgentSettings;
use onyx_api::{ConfigChange, Configuration as _, Problem};
use onyx_storage::Expect;
use onyx_tools::{
    DelegatedAnswer, Delegates, JobPort, PersonaPort, ProposedJob, TestAnswer, ToolCx,
};
use onyx_types::{AgentId, Cancel, ErrorCode, Fault, JobId, ModelId, PersonId, SessionId};
use serde_json::{Map, Value};

use super::live::Live;

/// The gateway for the tools. Tools are made before the gateway, so it is filled in later.
#[derive(Default)]
pub(super) struct LateGateway(OnceLock<Weak<Live>>);

impl LateGateway {
    pub(super) fn open(&self, live: &Arc<Live>) {
        // It is set only once, because a process has one gateway.
        let _ = self.0.set(Arc::downgrade(live));
    }

    fn live(&self) -> Result<Arc<Live>, Fault> {
        let live = self.0.get().and_then(Weak::upgrade);
        live.ok_or_else(|| Fault::new(ErrorCode::Interrupted, "The server is stopping."))
    }
}

#[async_trait]
impl PersonaPort for LateGateway {
    fn name(&self, persona: &AgentId) -> Result<String, Fault> {
        let roster = self.live()?.agent.roster();
        let agent = roster.get(persona).ok_or_else(|| no_persona(persona))?;
        Ok(agent.name.clone())
    }

    async fn rename(&self, persona: &AgentId, name: &str) -> Result<(), Fault> {
        let fault = |problem: Problem| problem.fault().clone();
        let live = self.live()?;
        let written = live.agent(persona).map_err(fault)?;
        let expected = written.as_ref().map_or(Expect::Absent, |it| Expect::Is(it.hash));
        let present = written.map(|written| written.value).unwrap_or_default();
        let settings = AgentSettings { name: Some(name.to_owned()), ..present };
        let change = ConfigChange::PutAgent { id: persona.clone(), settings: Box::new(settings) };
        live.change(change, expected).await.map_err(fault)?;
        Ok(())
    }

    async fn answer(
        &self,
        person: &PersonId,
        persona: &AgentId,
        content: &str,
        cancel: &Cancel,
    ) -> Result<TestAnswer, Fault> {
        self.live()?.agent.personas.answer_test(person, persona, content, cancel).await
    }
}

#[async_trait]
impl Delegates for LateGateway {
    fn agents(&self) -> Vec<AgentId> {
        // A server that is shutting down has no agents to ask.
        self.live().map(|live| live.agent.agents()).unwrap_or_default()
    }

    fn has_other_sessions(&self, person: &PersonId) -> bool {
        self.live().is_ok_and(|live| live.agent.has_other_sessions(person))
    }

    async fn ask(
        &self,
        agent: &AgentId,
        message: &str,
        cx: &ToolCx,
    ) -> Result<DelegatedAnswer, Fault> {
        self.live()?.agent.ask(agent, message, cx).await
    }

    async fn post(&self, session: SessionId, text: &str, cx: &ToolCx) -> Result<(), Fault> {
        self.live()?.agent.post(session, text, cx).await
    }

    async fn think(
        &self,
        model: &ModelId,
        task: &str,
        cx: &ToolCx,
    ) -> Result<DelegatedAnswer, Fault> {
        self.live()?.agent.think(model, task, cx).await
    }
}

#[async_trait]
impl JobPort for LateGateway {
    fn has_jobs(&self, person: &PersonId) -> bool {
        self.live().is_ok_and(|live| live.agent.jobs.has_jobs(person))
    }

    async fn propose(
        &self,
        person: &PersonId,
        id: &str,
        fields: Map<String, Value>,
    ) -> Result<ProposedJob, Fault> {
        self.live()?.agent.jobs.propose(person, id, fields).await
    }

    async fn accept(&self, person: &PersonId, id: &JobId, text: &str) -> Result<(), Fault> {
        JobPort::accept(&self.live()?.agent.jobs, person, id, text).await
    }

    async fn lines(&self, person: &PersonId) -> Result<Vec<String>, Fault> {
        self.live()?.agent.jobs.lines(person).await
    }

    async fn cancel(&self, person: &PersonId, id: &JobId) -> Result<(), Fault> {
        self.live()?.agent.jobs.cancel(person, id).await
    }

    async fn line(&self, person: &PersonId, id: &JobId) -> Result<String, Fault> {
        self.live()?.agent.jobs.line(person, id).await
    }
}

fn no_persona(persona: &AgentId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no persona {persona}."))
}
