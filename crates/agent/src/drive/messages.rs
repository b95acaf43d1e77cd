//! The messages that other parts of the program send to a working run.

use onyx_storage::Delivery;
use onyx_tools::LiveOutput;
use onyx_types::{AgentId, ToolUseId};
use tokio::sync::mpsc;

use crate::step::{DecidedDraft, Input, UserInput};

/// How many messages a run may not have looked at yet.
const MOST_WAITING: usize = 64;

pub(crate) enum RunMessage {
    /// Words that a person added while the run works.
    Words(Delivery, UserInput),
    /// A decision on a draft of the session.
    Decided(DecidedDraft),
    /// A person stops one of several agents.
    CancelAgent(AgentId),
    /// Live output of a call that a person approved.
    Output(ToolUseId, String),
}

impl RunMessage {
    pub(super) fn into_input(self) -> Input {
        match self {
            Self::Words(delivery, words) => Input::Steer(delivery, words),
            Self::Decided(decided) => Input::Decided(decided),
            Self::CancelAgent(agent) => Input::CancelAgent(agent),
            Self::Output(id, chunk) => Input::ApprovedOutput(id, chunk),
        }
    }
}

/// Creates the queue of messages to a run.
pub(crate) fn messages() -> (MessageSender, mpsc::Receiver<RunMessage>) {
    let (sender, receiver) = mpsc::channel(MOST_WAITING);
    (MessageSender(sender), receiver)
}

#[derive(Clone)]
pub(crate) struct MessageSender(mpsc::Sender<RunMessage>);

impl MessageSender {
    pub(crate) fn words(&self, delivery: Delivery, words: UserInput) {
        // A run that is over or whose queue is full does not get the words; the end of the run
        // finds them in the inbox.
        let _ = self.0.try_send(RunMessage::Words(delivery, words));
    }

    pub(crate) fn decided(&self, decided: DecidedDraft) {
        // If this run does not get the decision, the session's next run reads it from the ledger.
        let _ = self.0.try_send(RunMessage::Decided(decided));
    }

    /// Stops one agent. This waits for room in the queue, because the agent must not continue.
    pub(crate) async fn cancel_agent(&self, agent: AgentId) {
        // Sending fails only if the run is over, and then the agent has stopped.
        let _ = self.0.send(RunMessage::CancelAgent(agent)).await;
    }

    /// Where an approved call sends its output while it works.
    pub(crate) fn live_output(&self, call: ToolUseId) -> LiveOutput {
        let (sender, mut chunks) = mpsc::channel(MOST_WAITING);
        let messages = self.0.clone();
        tokio::spawn(async move {
            while let Some(chunk) = chunks.recv().await {
                // Live output may be dropped, because the result holds all of it. Half of the queue
                // stays free for words of people.
                if messages.capacity() > MOST_WAITING / 2 {
                    let _ = messages.try_send(RunMessage::Output(call.clone(), chunk));
                }
            }
        });
        LiveOutput::to(sender)
    }
}
