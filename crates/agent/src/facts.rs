//! Small things surfaces need to know that only the manager does.

use onyx_types::{Fault, PersonId, RunId, SessionId, Timestamp};

use crate::RunManager;

impl RunManager {
    pub fn now(&self) -> Timestamp {
        self.inner.clock.wall()
    }

    /// For what a surface must name: a request, an answer that nobody stores.
    pub fn fresh_id(&self) -> String {
        let now = self.now();
        self.mint().uuid(now).simple().to_string()
    }

    /// Where a run of this person happened.
    pub async fn session_of(
        &self,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<SessionId>, Fault> {
        let row = self.inner.store.ledger.run(person, run).await?;
        Ok(row.map(|row| row.key.session))
    }
}
