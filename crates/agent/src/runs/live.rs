//! The runs at work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_tools::GrantedSites;
use onyx_types::{Cancel, Model, PersonId, RunId, SessionId, SessionKey, TurnId};

use super::request::RunRequest;
use crate::drive::MessageSender;
use crate::feed::Feed;

/// A run at work.
pub(crate) struct LiveRun {
    pub(crate) begun: Duration,
    pub(crate) contact: RunContact,
    /// The message that the run answers, if it was known before the run.
    pub(crate) answers: Option<TurnId>,
    /// The request for a follow-up run that answers messages which this run did not take.
    pub(crate) follow_up: RunRequest,
    /// Whether messages were sent to the run. Then its end looks for those that it did not take.
    pub(crate) expects_words: bool,
    /// Models that the run's tools used. They are kept because their cost counts as open until the
    /// run's end is recorded.
    pub(crate) tool_models: Vec<Arc<dyn Model>>,
}

/// Reaches a run at work.
#[derive(Clone)]
pub(crate) struct RunContact {
    pub(crate) run: RunId,
    pub(crate) key: SessionKey,
    pub(crate) feed: Arc<Feed>,
    /// Ends the run, because a person has stopped it or its caller has gone.
    pub(crate) cancel: Cancel,
    /// Cancelled when a person stops the run. This also ends calls that a person has approved for
    /// the run; a caller that goes away does not end those.
    pub(crate) stop: Cancel,
    pub(crate) messages: MessageSender,
    /// What the person has allowed the run.
    pub(crate) granted: GrantedSites,
}

/// The runs at work in this process. `RunsElsewhere` finds those of other gateways.
#[derive(Default)]
pub(crate) struct LiveRuns(Mutex<HashMap<RunId, LiveRun>>);

impl LiveRun {
    fn is_of(&self, person: &PersonId) -> bool {
        self.contact.key.person == *person && !self.contact.feed.is_done()
    }
}

impl LiveRuns {
    pub(crate) fn add(&self, run: LiveRun) {
        self.lock().insert(run.contact.run, run);
    }

    pub(crate) fn remove(&self, run: RunId) -> Option<LiveRun> {
        self.lock().remove(&run)
    }

    /// How many runs there are, including those that announced their end and are cleaning up.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// All runs, including those that announced their end and are cleaning up.
    pub(crate) fn all(&self) -> Vec<RunContact> {
        self.lock().values().map(|live| live.contact.clone()).collect()
    }

    /// The run with this id, even if it announced its end and is cleaning up.
    pub(crate) fn get(&self, run: RunId) -> Option<RunContact> {
        self.lock().get(&run).map(|live| live.contact.clone())
    }

    /// The runs of a person that have not announced their end.
    pub(crate) fn of_person(&self, person: &PersonId) -> Vec<(SessionId, RunId)> {
        let live = self.lock();
        let theirs = live.values().filter(|live| live.is_of(person));
        theirs.map(|live| (live.contact.key.session, live.contact.run)).collect()
    }

    /// The run that works on a session. A run that announced its end is left out, because the
    /// session is free.
    pub(crate) fn on_session(&self, person: &PersonId, session: SessionId) -> Option<RunContact> {
        let live = self.lock();
        let found =
            live.values().find(|live| live.contact.key.session == session && live.is_of(person));
        found.map(|live| live.contact.clone())
    }

    /// The run that answers a message and has not announced its end.
    pub(crate) fn answering(&self, person: &PersonId, message: TurnId) -> Option<RunId> {
        let live = self.lock();
        let found = live.values().find(|live| live.answers == Some(message) && live.is_of(person));
        found.map(|live| live.contact.run)
    }

    /// Makes the run's end look for messages that the run did not take.
    pub(crate) fn expect_words(&self, run: RunId) {
        if let Some(live) = self.lock().get_mut(&run) {
            live.expects_words = true;
        }
    }

    /// Keeps the model until the run's end is recorded, because its cost counts as open until then.
    pub(crate) fn keep_model(&self, run: RunId, model: Arc<dyn Model>) {
        if let Some(live) = self.lock().get_mut(&run) {
            live.tool_models.push(model);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, LiveRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
