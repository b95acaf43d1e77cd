//! The connectors' port to the agent. The binary implements it; tests use their own agent.

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{AgentId, DraftId, Envelope, Fault, PersonId, RunId, SessionId};

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

    /// `false`: nothing was running.
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

    /// The person who approves peers, and who is paired with the peers in `allow` of the config.
    fn owner(&self) -> Result<PersonId, Fault>;

    /// Where the app can be opened; none where the config names no public address.
    fn link(&self) -> Option<String>;

    /// A file of the person's vault; `None` where there is none of at most this many bytes.
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
    /// The conversation to continue; `None` begins a new one.
    pub session: Option<SessionId>,
    pub agent: AgentId,
    pub model: Option<String>,
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

/// Who can read the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Only the person reads it.
    Private,
    /// Others read it too: nothing private of the person goes into the prompt, and what others
    /// write does not count as the person's word.
    Group,
}

/// What happened to a message.
pub enum StartedRun {
    Own {
        session: SessionId,
        events: Box<dyn RunEvents>,
    },
    /// It is stored, and this run of the session reads it as soon as it can.
    Joined {
        run: RunId,
    },
}

/// The events of a run, in order.
#[async_trait]
pub trait RunEvents: Send {
    /// The next event; `None` after the last.
    async fn next(&mut self) -> Option<Arc<Envelope>>;
}

/// The state of a promised run.
pub enum PromisedRun {
    /// The run never began.
    Unknown,
    /// The run is at work, or its events are still available. A message that waited may have got
    /// another run than the promised one.
    Found { run: RunId, session: SessionId, events: Box<dyn RunEvents> },
    /// Another run has read the message that it was promised to: that run's answer is the answer.
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
    /// Answers a question with the option that has this number, from 0 on.
    Choose(usize),
}
