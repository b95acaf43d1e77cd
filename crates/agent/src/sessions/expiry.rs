//! Deletes short-lived sessions a day after their last use: those of API clients, which keep their
//! conversations themselves, and temporary chats. The time of the last use is in the session's row
//! and log, so a restart does not prolong it.

use std::time::Duration;

use onyx_storage::UnusedSession;
use onyx_types::{ErrorCode, Fault, Timestamp};

use super::Sessions;

const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const PAGE: u32 = 200;

impl Sessions {
    /// Deletes the short-lived sessions of all people that were not used for a day; returns how
    /// many. A session that cannot be deleted does not hold up those that are younger; its fault is
    /// returned when these are deleted.
    pub async fn delete_expired(&self) -> Result<u64, Fault> {
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let until = Timestamp::from_millis(self.shared.ids.now().as_millis().saturating_sub(kept));
        let (mut deleted, mut failed) = (0, None);
        let mut last = None;
        loop {
            let page = self.shared.ledger.unused_sessions(until, last.as_ref(), PAGE).await?;
            for UnusedSession { person, session, .. } in &page {
                match self.delete(person, *session).await {
                    Ok(()) => deleted += 1,
                    // The session is in use again, so it is kept, or another gateway has deleted it
                    // meanwhile.
                    Err(fault)
                        if matches!(fault.code, ErrorCode::SessionBusy | ErrorCode::NotFound) => {}
                    Err(fault) => failed = failed.or(Some(fault)),
                }
            }
            if page.len() < PAGE as usize {
                return failed.map_or(Ok(deleted), Err);
            }
            last = page.into_iter().next_back();
        }
    }
}
