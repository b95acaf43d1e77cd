//! A run's answer as one piece, for whoever waits for it inside another run.

use onyx_types::{ErrorCode, Event, Fault, Origin, RunStatus, StatusCode};

use crate::{Canceller, EventReader};

pub(crate) struct Collected {
    pub(crate) text: Result<String, Fault>,
    /// Whether the run had read anything from outside.
    pub(crate) origin: Origin,
}

/// Reads a run to its end.
pub(crate) async fn collected(events: &mut EventReader) -> Collected {
    let mut texts = Vec::new();
    let mut origin = Origin::Agent;
    let mut fault = None;
    let mut ended = RunStatus::Interrupted;
    while let Some(envelope) = events.next().await {
        match &envelope.event {
            Event::TextComplete { text, .. } if !text.is_empty() => texts.push(text.clone()),
            Event::Status { code: StatusCode::Tainted, .. } => origin = Origin::AgentTainted,
            Event::Error { code, message, hint } => {
                fault = Some(Fault::new(*code, message.clone()).with_hint(hint.clone()));
            }
            Event::Done { status, .. } => ended = *status,
            _ => {}
        }
    }
    let text = match (ended, fault) {
        (RunStatus::Done, _) => Ok(texts.join("\n\n")),
        (_, Some(fault)) => Err(fault),
        (_, None) => Err(Fault::plain(ErrorCode::Interrupted)),
    };
    Collected { text, origin }
}

/// A run that nobody waits for any more is stopped; one that is over does not mind.
pub(crate) struct StopOnDrop(pub(crate) Canceller);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
