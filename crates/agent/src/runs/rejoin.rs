//! Reads a run's events while it works, for a while after its end, and from its log.

use std::sync::Arc;

use onyx_types::{ErrorCode, Fault, PersonId, RunId};

use super::Runs;
use crate::feed::{EventReader, Feed, KeptFeed, Outline};

impl Runs {
    /// Reads a run's events after a sequence number, without gap or repeat. The run may be at work
    /// at another gateway.
    pub async fn events(
        &self,
        person: &PersonId,
        run: RunId,
        after: u64,
    ) -> Result<EventReader, Fault> {
        if let Some(reader) = self.events_here(person, run, after).await? {
            return Ok(reader);
        }
        match self.shared.elsewhere.follow(person, run, after).await? {
            Some(reader) => Ok(reader),
            None => Err(self.no_feed(person, run).await?),
        }
    }

    /// Reads the events of a run of this gateway. `None` if none of them are kept here.
    pub async fn events_here(
        &self,
        person: &PersonId,
        run: RunId,
        after: u64,
    ) -> Result<Option<EventReader>, Fault> {
        let at_work =
            self.shared.table.live.get(run).filter(|contact| contact.key.person == *person);
        let found = match at_work {
            Some(contact) => Some(KeptFeed::Whole(contact.feed)),
            None => {
                let now = self.shared.drive.clock.now().mono;
                self.shared.table.find_ended(person, run, now)
            }
        };
        let feed = match found {
            Some(KeptFeed::Whole(feed)) => Some(feed),
            Some(KeptFeed::Outline(outline)) => self.filled(person, run, &outline).await?,
            None => None,
        };
        Ok(feed.map(|feed| feed.read_after(after)))
    }

    /// Fills an outline from the log. `None` if the run is not this person's, or the log lacks what
    /// it said.
    async fn filled(
        &self,
        person: &PersonId,
        run: RunId,
        outline: &Outline,
    ) -> Result<Option<Arc<Feed>>, Fault> {
        let Some(session) = self.shared.sessions.of_run(person, run).await? else {
            return Ok(None);
        };
        let logged = self.shared.replay.of_run(person, session, run).await?;
        Ok(outline.filled(run, &logged))
    }

    async fn no_feed(&self, person: &PersonId, run: RunId) -> Result<Fault, Fault> {
        let known = self.shared.sessions.of_run(person, run).await?.is_some();
        let message = if known {
            format!(
                "The events of run {run} are no longer kept; its session's history has the answer."
            )
        } else {
            format!("There is no run {run}.")
        };
        Ok(Fault::new(ErrorCode::NotFound, message))
    }
}
