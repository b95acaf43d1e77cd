//! Decides, as a pure function, what the result of a send means for the message.

use std::time::Duration;

use onyx_storage::{OutboxPart, Repeat, SendEnd};
use onyx_types::Timestamp;

use crate::connector::{NetworkError, Outgoing, OutgoingKind};
use crate::text::RenderedMessage;

/// How often a message is tried before a person must decide about it.
pub(super) const MOST_ATTEMPTS: u32 = 12;
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How an account repeats failed sends.
pub(super) struct RetryRules {
    pub(super) repeat_sends: Repeat,
    /// How long to wait after the first failure. The time doubles with each further failure.
    pub(super) backoff: Duration,
}

/// The result of an attempt, in the form in which the ledger stores it.
pub(super) fn outcome(
    part: &OutboxPart,
    message: &Outgoing,
    answer: Result<String, NetworkError>,
    now: Timestamp,
    rules: &RetryRules,
) -> SendEnd {
    let error = match answer {
        Ok(id) => return SendEnd::Sent(id),
        Err(error) => error,
    };
    let why = error.to_string();
    let attempts = part.attempts + 1;
    let again = |wait: Duration| SendEnd::Again {
        body: part.body.clone(),
        repeat: part.repeat,
        not_before: now.saturating_add(wait),
        why: why.clone(),
    };
    match error {
        // If the network asks to wait, that is no failure of the message.
        NetworkError::TooFast(wait) => again(wait),
        NetworkError::NoAnswer(_) if part.repeat == Repeat::Unsafe => SendEnd::Unknown(why),
        NetworkError::Unauthorized(_) | NetworkError::Contested(_) => again(LONGEST_WAIT / 10),
        NetworkError::Unreachable(_) | NetworkError::NoAnswer(_) | NetworkError::Failed(_) => {
            if attempts >= MOST_ATTEMPTS {
                SendEnd::Dead(why)
            } else {
                again(backoff(rules.backoff, attempts))
            }
        }
        NetworkError::NotEditable(_) => match as_new(message) {
            Some(new) => changed(&new, rules.repeat_sends, now, why),
            None => SendEnd::Dead(why),
        },
        NetworkError::BadMarks(_) => match without_marks(message) {
            Some(plain) => changed(&plain, part.repeat, now, why),
            None => SendEnd::Dead(why),
        },
        NetworkError::NoThread(_) if !message.thread.is_empty() => {
            let main = Outgoing { thread: String::new(), ..message.clone() };
            changed(&main, part.repeat, now, why)
        }
        NetworkError::NoThread(_) | NetworkError::Refused(_) => SendEnd::Dead(why),
    }
}

fn backoff(first: Duration, attempts: u32) -> Duration {
    first.saturating_mul(1 << attempts.min(10)).min(LONGEST_WAIT)
}

fn changed(message: &Outgoing, repeat: Repeat, now: Timestamp, why: String) -> SendEnd {
    match serde_json::to_string(message) {
        Ok(body) => SendEnd::Again { body, repeat, not_before: now, why },
        Err(error) => SendEnd::Dead(error.to_string()),
    }
}

/// The same text as a new message if an edit is impossible, because the person must get the answer
/// in any case.
fn as_new(message: &Outgoing) -> Option<Outgoing> {
    match &message.what {
        OutgoingKind::Edit { text, .. } => {
            let what = OutgoingKind::Text { text: text.clone(), buttons: Vec::new() };
            Some(Outgoing { what, ..message.clone() })
        }
        OutgoingKind::Text { .. } | OutgoingKind::PressAnswer { .. } | OutgoingKind::File(_) => {
            None
        }
    }
}

fn without_marks(message: &Outgoing) -> Option<Outgoing> {
    let bare = |text: &RenderedMessage| {
        (text.marked != text.plain).then(|| RenderedMessage::literal(text.plain.clone()))
    };
    let what = match &message.what {
        OutgoingKind::Text { text, buttons } => {
            OutgoingKind::Text { text: bare(text)?, buttons: buttons.clone() }
        }
        OutgoingKind::Edit { message, text } => {
            OutgoingKind::Edit { message: message.clone(), text: bare(text)? }
        }
        OutgoingKind::PressAnswer { .. } | OutgoingKind::File(_) => return None,
    };
    Some(Outgoing { what, ..message.clone() })
}
