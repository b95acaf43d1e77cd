//! Remembers messages that a client may repeat because it did not get the first answer, at any
//! gateway.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    ClaimOutcome, ShortLived, ShortLivedClaim, ShortLivedEntry, ShortLivedKind, ShortLivedRoom,
};
use onyx_types::{ErrorCode, Fault, PersonId};

use super::result::SendResult;
use crate::Problem;

/// How many messages of a person are remembered, and for how long. A client repeats a message within
/// seconds of a lost connection.
const MOST: ShortLivedRoom = ShortLivedRoom::of_entries(512);
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// How long a gateway may take to start a run. If it dies meanwhile, the message may be sent again
/// after this.
const STARTING: Duration = Duration::from_secs(30);
/// How often a repeat looks whether the first has started its run.
const LOOK: Duration = Duration::from_millis(50);

/// Sends the message with this key, unless it was sent before: then the result of that one comes
/// back. A message that could not be sent may be sent again.
pub(super) async fn send_once(
    store: &Arc<dyn ShortLived>,
    person: &PersonId,
    key: &str,
    send: impl Future<Output = Result<SendResult, Problem>>,
) -> Result<SendResult, Problem> {
    let kind = ShortLivedKind::SentMessage;
    let claim = loop {
        let entry = ShortLivedEntry::of(person, key, String::new(), STARTING);
        let claimed = ShortLivedClaim::claim(store, kind, entry, MOST).await;
        match claimed.map_err(Fault::from)? {
            ClaimOutcome::Ours(claim) => break claim,
            ClaimOutcome::Theirs(result) if result.is_empty() => tokio::time::sleep(LOOK).await,
            ClaimOutcome::Theirs(result) => {
                return Ok(serde_json::from_str(&result).map_err(|error| unreadable(&error))?);
            }
        }
    };
    let result = send.await?;
    let value = serde_json::to_string(&result).map_err(|error| unreadable(&error))?;
    let entry = ShortLivedEntry::of(person, key, value, REMEMBERED);
    if let Err(error) = store.put(kind, entry, MOST).await {
        tracing::warn!(%error, "a message is not remembered; a repeat is sent again after a while");
    }
    claim.done();
    Ok(result)
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(ErrorCode::Internal, format!("the result of a message is not understood: {error}"))
}
