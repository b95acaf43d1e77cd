//! The messages that other parts of the program send to a working run.

use onyx_storage::Delivery;
use onyx_tools::LiveOutput;
use onyx_types::{AgentId, ToolUseId};
use tokio::sync::mpsc;

use crate::step::{DecidedDraft, Input, UserInput};

/// Messages to a run that it has not looked at yet.
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

/// The way to a run at work, and where the run's driver takes the messages.
pub(crate) fn messages() -> (MessageSender, mpsc::Receiver<RunMessage>) {
    let (sender, receiver) = mpsc::channel(MOST_WAITING);
    (MessageSender(sender), receiver)
}

#[derive(Clone)]
pub(crate) struct MessageSender(mpsc::Sender<RunMessage>);

impl MessageSender {
    pub(crate) fn words(&self, delivery: Delivery, words: UserInput) {
        // A run that is over, or whose queue is full, takes nothing: the words are in the inbox
        // and are looked for at its end.
        let _ = self.0.try_send(RunMessage::Words(delivery, words));
    }

    pub(crate) fn decided(&self, decided: DecidedDraft) {
        // A run that takes nothing leaves the decision to the session's next one.
        let _ = self.0.try_send(RunMessage::Decided(decided));
    }

    /// Waits for room: a run that a person stops must not continue.
    pub(crate) async fn cancel_agent(&self, agent: AgentId) {
        // A run that is over has stopped already.
        let _ = self.0.send(RunMessage::CancelAgent(agent)).await;
    }

    /// Where a call that a person approved shows its output while it works.
    pub(crate) fn live_output(&self, call: ToolUseId) -> LiveOutput {
        let (sender, mut chunks) = mpsc::channel(MOST_WAITING);
        let messages = self.0.clone();
        tokio::spawn(async move {
            while let Some(chunk) = chunks.recv().await {
                // Output may be lost, because the result holds all of it; words of people must
                // find room.
                if messages.capacity() > MOST_WAITING / 2 {
                    let _ = messages.try_send(RunMessage::Output(call.clone(), chunk));
                }
            }
        });
        LiveOutput::to(sender)
    }
}
