//! Deletes short-lived sessions a day after their last use: those of API clients, which keep their
//! conversations themselves, and temporary chats. The time of the last use is in the session's row
//! and log, so a restart does not prolong it.

use std::time::Duration;

use onyx_storage::SessionFilter;
use onyx_types::{ErrorCode, Fault, PersonId, SessionOrigin, Timestamp};

use super::Sessions;

const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const PAGE: u32 = 200;

impl Sessions {
    /// Deletes the short-lived sessions that were not used for a day; returns how many.
    pub async fn delete_expired(&self) -> Result<u64, Fault> {
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let until = Timestamp::from_millis(self.shared.ids.now().as_millis().saturating_sub(kept));
        let mut deleted = 0;
        for person in self.shared.files.people().await? {
            for origin in [SessionOrigin::Api, SessionOrigin::Temporary] {
                deleted += self.delete_expired_of(&person, origin, until).await?;
            }
        }
        Ok(deleted)
    }

    async fn delete_expired_of(
        &self,
        person: &PersonId,
        origin: SessionOrigin,
        until: Timestamp,
    ) -> Result<u64, Fault> {
        let mut deleted = 0;
        loop {
            let filter = SessionFilter {
                origin: Some(origin),
                until: Some(until),
                limit: PAGE,
                ..SessionFilter::default()
            };
            let old = self.list(person, &filter).await?;
            let mut on_page = 0;
            for meta in &old {
                match self.delete(person, meta.session_id).await {
                    Ok(()) => on_page += 1,
                    // The session is in use again, so it is kept.
                    Err(fault) if fault.code == ErrorCode::SessionBusy => {}
                    Err(fault) => return Err(fault),
                }
            }
            deleted += on_page;
            if on_page == 0 || old.len() < PAGE as usize {
                return Ok(deleted);
            }
        }
    }
}
