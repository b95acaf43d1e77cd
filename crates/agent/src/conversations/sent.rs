use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    ClaimOutcome, ShortLived, ShortLivedClaim, ShortLivedEntry, ShortLivedKind, ShortLivedRoom,
    StoreError,
};
use onyx_types::SessionKey;

/// Storing a message takes no longer than this. A claim that a crash left ends after it.
const LASTS: Duration = Duration::from_secs(5);
const MOST: ShortLivedRoom = ShortLivedRoom::of_entries(1_024);

/// Serialises requests that store a message under the same client id, also when they come to two
/// gateways at once: the second must find the message of the first. Whether a message was sent
/// before is read from the inbox and the log.
pub(crate) struct SentMessages(Arc<dyn ShortLived>);

impl SentMessages {
    pub(crate) fn new(kept: Arc<dyn ShortLived>) -> Self {
        Self(kept)
    }

    /// The right to store a message under this name. `None`: another request stores one, or has
    /// stored it a moment ago.
    pub(crate) async fn claim(
        &self,
        session: &SessionKey,
        name: &str,
    ) -> Result<Option<ShortLivedClaim>, StoreError> {
        let name = format!("{} {name}", session.session);
        let entry = ShortLivedEntry::of(&session.person, &name, String::new(), LASTS);
        let kind = ShortLivedKind::MessageClaim;
        Ok(match ShortLivedClaim::claim(&self.0, kind, entry, MOST).await? {
            ClaimOutcome::Ours(claim) => Some(claim),
            ClaimOutcome::Theirs(_) => None,
        })
    }
}
