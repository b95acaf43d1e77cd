use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::{AccountKey, QueueFigures};
use onyx_types::{Clock, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::connector::NetworkError;

/// The state of an account, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountStatus {
    pub key: AccountKey,
    pub state: AccountState,
    /// The name of the gateway that serves the account, if it is another one and its name is known.
    pub gateway: Option<String>,
    /// The latest problem, if there is one.
    pub detail: Option<String>,
    /// The time at which the network last answered a poll or pushed an update.
    pub last_heard: Option<Timestamp>,
    /// How many seconds ago `last_heard` was.
    pub silent_seconds: Option<u64>,
    /// How often the account was restarted because it received nothing for too long.
    pub restarts: u64,
    pub queues: QueueFigures,
    /// The account's name on the network, once the network has reported it.
    pub name: Option<String>,
    pub link: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    Starting,
    /// The network answers.
    Listening,
    /// The last request to the network failed and is repeated.
    Failing,
    /// Nothing was received for too long.
    Deaf,
    /// The account cannot be started with its settings.
    Unusable,
    /// Another gateway serves the account, and shows whether the network answers.
    Elsewhere,
}

#[derive(Default)]
pub(super) struct Health {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last_contact: Option<(Timestamp, Duration)>,
    trouble: Option<String>,
    restarts: u64,
    started: Duration,
    identity: Option<(String, Option<String>)>,
    /// Whether the owner was notified of a failure that still lasts.
    is_told: bool,
}

/// The health of an account as it is shown.
pub(super) struct HealthView {
    pub(super) state: AccountState,
    pub(super) detail: Option<String>,
    pub(super) last_heard: Option<Timestamp>,
    pub(super) silent: Duration,
    pub(super) restarts: u64,
    pub(super) identity: Option<(String, Option<String>)>,
}

impl Health {
    pub(super) fn begin(&self, clock: &dyn Clock) {
        self.inner().started = clock.now().mono;
    }

    /// Notes that the network answered. Returns whether the owner was notified of a failure before,
    /// and so must be told that the account works again.
    pub(super) fn note_answer(&self, clock: &dyn Clock) -> bool {
        let now = clock.now();
        let mut inner = self.inner();
        inner.last_contact = Some((now.wall, now.mono));
        inner.trouble = None;
        std::mem::take(&mut inner.is_told)
    }

    pub(super) fn failed(&self, error: &NetworkError) {
        self.inner().trouble = Some(error.to_string());
    }

    pub(super) fn restarted(&self, clock: &dyn Clock) {
        let mut inner = self.inner();
        inner.restarts += 1;
        inner.started = clock.now().mono;
    }

    pub(super) fn is_known_as(&self, name: String, link: Option<String>) {
        self.inner().identity = Some((name, link));
    }

    /// Whether the owner must be notified that the account stopped working. It is `true` only once
    /// for each failure.
    pub(super) fn should_tell(&self) -> bool {
        !std::mem::replace(&mut self.inner().is_told, true)
    }

    /// The time since the account last received something or was started.
    pub(super) fn waiting(&self, clock: &dyn Clock) -> Duration {
        let inner = self.inner();
        let since = inner.last_contact.map_or(inner.started, |(_, mono)| mono.max(inner.started));
        clock.now().mono.saturating_sub(since)
    }

    pub(super) fn view(&self, clock: &dyn Clock, deaf: Option<Duration>) -> HealthView {
        let now = clock.now().mono;
        let inner = self.inner();
        let since = inner.last_contact.map_or(inner.started, |(_, mono)| mono);
        let silent = now.saturating_sub(since);
        let state = if deaf.is_some_and(|deaf| silent >= deaf) && inner.last_contact.is_some() {
            AccountState::Deaf
        } else if inner.trouble.is_some() {
            AccountState::Failing
        } else if inner.last_contact.is_some() || deaf.is_none() {
            AccountState::Listening
        } else {
            AccountState::Starting
        };
        HealthView {
            state,
            detail: inner.trouble.clone(),
            last_heard: inner.last_contact.map(|(wall, _)| wall),
            silent,
            restarts: inner.restarts,
            identity: inner.identity.clone(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
