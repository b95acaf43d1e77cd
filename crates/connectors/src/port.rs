//! The port through which connectors reach the agent. The binary implements it; tests implement it
//! with an agent of their own.

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{AgentId, DraftId, Envelope, Fault, ModelId, PersonId, RunId, SessionId};

/// The agent as connectors see it.
#[async_trait]
pub trait AgentPort: Send + Sync {
    /// Starts the run that was promised to a message, or hands the message to the run that is at
    /// work in its session.
    async fn start(&self, request: StartRun) -> Result<StartedRun, Fault>;

    /// The state of a run that was promised to a message of this session.
    async fn promised_run(
        &self,
        person: &PersonId,
        session: Option<SessionId>,
        run: RunId,
    ) -> Result<PromisedRun, Fault>;

    /// Stops the session's run; `false` if nothing was running.
    async fn stop(&self, person: &PersonId, session: SessionId) -> Result<bool, Fault>;

    /// Undoes the changes of the session's last run, and describes them.
    async fn undo(&self, person: &PersonId, session: SessionId) -> Result<String, Fault>;

    /// Decides on a draft and returns the result as text.
    async fn decide(&self, decision: Decision) -> Result<String, Fault>;

    /// Whether the session is at work, and what it has cost, in a line or two.
    async fn status(
        &self,
        person: &PersonId,
        session: Option<SessionId>,
        agent: &AgentId,
    ) -> Result<String, Fault>;

    fn agents(&self) -> Vec<AgentId>;

    fn default_agent(&self) -> AgentId;

    /// The person who approves peers, and with whom the peers in `allow` of the config are paired.
    fn owner(&self) -> Result<PersonId, Fault>;

    /// The address at which the app can be opened; `None` if the config names no public address.
    fn link(&self) -> Option<String>;

    /// A file of the person's vault; `None` if there is none or it is larger than `largest` bytes.
    async fn file(
        &self,
        person: &PersonId,
        path: &str,
        largest: u64,
    ) -> Result<Option<Vec<u8>>, Fault>;

    /// Shows a notice to the owner in the app.
    fn tell_owner(&self, text: String);
}

/// A run for a message of a peer.
#[derive(Clone, Debug)]
pub struct StartRun {
    pub person: PersonId,
    /// The session to continue; `None` begins a new one.
    pub session: Option<SessionId>,
    pub agent: AgentId,
    pub model: Option<ModelId>,
    pub run: RunId,
    pub title: String,
    pub text: String,
    pub pictures: Vec<Picture>,
    pub privacy: Privacy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Who can read the answer of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Only the person reads the answer.
    Private,
    /// Other people read the answer too. So nothing private of the person goes into the prompt, and
    /// what others write does not count as the person's word.
    Group,
}

/// What happened to a message that was to start a run.
pub enum StartedRun {
    Own {
        session: SessionId,
        events: Box<dyn RunEvents>,
    },
    /// The message is stored, and this run of the session reads it as soon as it can.
    Joined {
        run: RunId,
    },
}

/// The events of a run, in order.
#[async_trait]
pub trait RunEvents: Send {
    /// Waits for the next event; `None` after the last.
    async fn next(&mut self) -> Option<Arc<Envelope>>;
}

/// The state of a promised run.
pub enum PromisedRun {
    /// The run never began.
    Unknown,
    /// The run is at work, or its events are still available. If the message waited, `run` may be
    /// another run than the promised one.
    Found { run: RunId, session: SessionId, events: Box<dyn RunEvents> },
    /// Another run has read the message, so that run's answer covers it.
    Read,
    /// The message waits for a run that is at work and has not read it yet.
    Waits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub person: PersonId,
    pub draft: DraftId,
    pub verdict: DraftVerdict,
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftVerdict {
    Approve,
    Reject,
    /// Answers a question with the option that has this number, counted from 0.
    Choose(usize),
}
