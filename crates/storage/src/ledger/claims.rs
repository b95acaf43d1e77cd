use std::sync::Arc;

use onyx_types::Hash;

use super::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};
use crate::StoreError;

/// Work that one caller at a time does, at any gateway. Unless it is done, dropping the claim lets the next caller do it;
/// after a crash the entry's own time does.
pub struct ShortLivedClaim {
    kept: Arc<dyn ShortLived>,
    kind: ShortLivedKind,
    key: Hash,
    is_done: bool,
}

/// Whether a claim was had.
pub enum ClaimOutcome {
    Ours(ShortLivedClaim),
    /// Another caller has it; this is the value of its entry.
    Theirs(String),
}

impl ShortLivedClaim {
    pub async fn claim(
        kept: &Arc<dyn ShortLived>,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<ClaimOutcome, StoreError> {
        let key = entry.key;
        Ok(match kept.put_new(kind, entry, room).await? {
            None => ClaimOutcome::Ours(Self { kept: Arc::clone(kept), kind, key, is_done: false }),
            Some(theirs) => ClaimOutcome::Theirs(theirs),
        })
    }

    /// The work is done: the entry stays as it is.
    pub fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for ShortLivedClaim {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (kept, kind, key) = (Arc::clone(&self.kept), self.kind, self.key);
        runtime.spawn(async move {
            if let Err(error) = kept.take(kind, key).await {
                tracing::warn!(%error, "a claim could not be given back; it ends by itself");
            }
        });
    }
}
