//! Conversations that clients keep themselves: their logs are there for a day, for looking into.

use std::time::Duration;

use onyx_storage::SessionFilter;
use onyx_types::{ErrorCode, Fault, PersonId, SessionOrigin, Timestamp};

use crate::RunManager;

const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const PAGE: u32 = 200;

impl RunManager {
    /// Removes the sessions of API clients that nobody has used for a day; tells how many.
    pub async fn forget_passing_sessions(&self) -> Result<u64, Fault> {
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let until = Timestamp::from_millis(self.now().as_millis().saturating_sub(kept));
        let mut forgotten = 0;
        for person in self.inner.store.files.people()? {
            forgotten += self.forget_of(&person, until).await?;
        }
        Ok(forgotten)
    }

    async fn forget_of(&self, person: &PersonId, until: Timestamp) -> Result<u64, Fault> {
        let mut forgotten = 0;
        loop {
            let filter = SessionFilter {
                origin: Some(SessionOrigin::Api),
                until: Some(until),
                limit: PAGE,
                ..SessionFilter::default()
            };
            let old = self.sessions(person, &filter).await?;
            let mut removed = 0;
            for meta in &old {
                match self.delete_session(person, meta.session_id).await {
                    Ok(()) => removed += 1,
                    // At work again: not old after all.
                    Err(fault) if fault.code == ErrorCode::SessionBusy => {}
                    Err(fault) => return Err(fault),
                }
            }
            forgotten += removed;
            if removed == 0 || old.len() < PAGE as usize {
                return Ok(forgotten);
            }
        }
    }
}
