//! The widget on a person's own site. Its script sends what visitors write and fetches the answers.
//! A visitor is recognised by a secret that the browser made, without a cookie. Only pages of the
//! sites in the config are accepted, at a limited rate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{AccountKey, ConnectorLedger, Mail, PeerKey, PeerKind};
use onyx_types::Clock;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, Semaphore};

use crate::connector::{
    Author, Batch, Connector, Identity, Incoming, Listening, NetworkError, NetworkTraits, Outgoing,
    OutgoingKind, PushedRequest, Update,
};
use crate::settings::{Account, Visitors, plain_origin};
use crate::setup::ConnectorSetup;
use crate::text::TextFormat;

/// The prefix of visitors that are answered without pairing. Paired peers have no prefix, so an
/// unpaired visitor stays unpaired when the widget is closed to the public.
const VISITOR: &str = "visitor-";
const LONGEST_TEXT: usize = 4_000;
const LONGEST_ID: usize = 64;
/// The least number of characters of a visitor's secret, which is 128 bits.
const SHORTEST_SECRET: usize = 32;
const LONGEST_SECRET: usize = 128;
const MINUTE: Duration = Duration::from_secs(60);
/// How many messages one visitor may write in a minute. `MOST_OF_ALL` is the limit for all visitors
/// together.
const MOST_OF_ONE: usize = 10;
const MOST_OF_ALL: usize = 60;
/// How many visitors are remembered for the limits.
const MOST_VISITORS: usize = 2_000;
/// How long a fetch waits for an answer. At most `MOST_WAITING` fetches wait at once.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_WAITING: usize = 100;
const MOST_MAIL: u32 = 100;

pub(super) struct Widget {
    key: AccountKey,
    origins: Vec<String>,
    visitors: Visitors,
    ledger: Arc<dyn ConnectorLedger>,
    clock: Arc<dyn Clock>,
    traffic: Mutex<Traffic>,
    came: Notify,
    waiting: Semaphore,
}

#[derive(Default)]
struct Traffic {
    of_all: Vec<Duration>,
    of_one: HashMap<String, Vec<Duration>>,
}

#[derive(Deserialize)]
struct WidgetMessage {
    id: String,
    text: String,
}

/// Whether a peer is a visitor that is answered without pairing.
pub(crate) fn is_visitor(peer: &str) -> bool {
    peer.starts_with(VISITOR)
}

impl Widget {
    pub(super) fn new(account: &Account, setup: &ConnectorSetup) -> Result<Self, String> {
        if account.origins.is_empty() {
            return Err("it needs `origins`, the sites that may show it".to_owned());
        }
        for origin in &account.origins {
            let host = origin.split_once("://").filter(|(scheme, host)| {
                matches!(*scheme, "http" | "https")
                    && !host.is_empty()
                    && !host.contains(['/', '*', '@', '?', '#', ' '])
            });
            if host.is_none() {
                return Err(format!(
                    "`origins`: {origin} is not a site such as https://www.example.org"
                ));
            }
        }
        Ok(Self {
            key: account.key.clone(),
            origins: account.origins.clone(),
            visitors: account.visitors,
            ledger: Arc::clone(&setup.ledger),
            clock: Arc::clone(&setup.clock),
            traffic: Mutex::default(),
            came: Notify::new(),
            waiting: Semaphore::new(MOST_WAITING),
        })
    }

    /// The visitor that sent the request, if the page that it is on may show the widget.
    fn visitor(&self, pushed: &PushedRequest) -> Result<String, NetworkError> {
        let refused = |why: &str| NetworkError::Unauthorized(why.to_owned());
        let origin = pushed.header("origin").map(plain_origin).unwrap_or_default();
        if !self.origins.contains(&origin) {
            return Err(refused("pages of this site may not show this widget"));
        }
        let secret = pushed.header("x-onyx-visitor").unwrap_or_default();
        let is_plain = secret.chars().all(|c| c.is_ascii_alphanumeric());
        if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&secret.len()) || !is_plain {
            return Err(refused("x-onyx-visitor must have 32 or more of A-Z, a-z, 0-9"));
        }
        // The ledger and the owner see only a name from which the secret cannot be derived.
        let digest = Sha256::digest(format!("{}\n{secret}", self.key).as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(match self.visitors {
            Visitors::Open => format!("{VISITOR}{name}"),
            Visitors::Paired => name,
        })
    }

    fn count(&self, visitor: &str) -> Result<(), NetworkError> {
        let now = self.clock.now().mono;
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.take(visitor, now)
    }

    fn peer(&self, visitor: &str) -> PeerKey {
        PeerKey { account: self.key.clone(), peer: visitor.to_owned() }
    }
}

impl Traffic {
    fn take(&mut self, visitor: &str, now: Duration) -> Result<(), NetworkError> {
        let is_recent = |at: &Duration| now.saturating_sub(*at) < MINUTE;
        self.of_all.retain(is_recent);
        if self.of_one.len() >= MOST_VISITORS {
            self.of_one.retain(|_, times| times.iter().any(is_recent));
        }
        let times = self.of_one.entry(visitor.to_owned()).or_default();
        times.retain(is_recent);
        if times.len() >= MOST_OF_ONE || self.of_all.len() >= MOST_OF_ALL {
            return Err(NetworkError::TooFast(MINUTE));
        }
        times.push(now);
        self.of_all.push(now);
        Ok(())
    }
}

#[async_trait]
impl Connector for Widget {
    fn traits(&self) -> NetworkTraits {
        NetworkTraits::of_program("widget", TextFormat::Plain, 20_000, Listening::Pushed)
    }

    async fn identity(&self) -> Result<Identity, NetworkError> {
        Ok(Identity { name: self.origins.join(", "), link: self.origins.first().cloned() })
    }

    async fn accept(&self, pushed: &PushedRequest) -> Result<Batch, NetworkError> {
        let visitor = self.visitor(pushed)?;
        let written: WidgetMessage = serde_json::from_slice(&pushed.body)
            .map_err(|error| NetworkError::Refused(error.to_string()))?;
        let WidgetMessage { id, text } = written;
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(NetworkError::Refused(format!(
                "id: it must have 1 to {LONGEST_ID} characters"
            )));
        }
        if text.trim().is_empty() || text.chars().count() > LONGEST_TEXT {
            return Err(NetworkError::Refused(format!(
                "text: it must have 1 to {LONGEST_TEXT} characters"
            )));
        }
        self.count(&visitor)?;
        let short: String = visitor.trim_start_matches(VISITOR).chars().take(6).collect();
        let name = format!("Visitor {short}");
        let (kind, author) = match self.visitors {
            // In a group only paired people give commands. An open visitor is a peer that was let
            // in, so its author gets a name that belongs to no peer.
            Visitors::Open => (PeerKind::Group, format!("guest-{short}")),
            Visitors::Paired => (PeerKind::Person, visitor.clone()),
        };
        let update = format!("{visitor}:{id}");
        let incoming = Incoming {
            peer: visitor,
            kind,
            peer_name: name.clone(),
            thread: String::new(),
            guild: None,
            message: id,
            author: Author { id: author, name },
            text,
            is_addressed: true,
            quoted: None,
            files: Vec::new(),
            press: None,
        };
        Ok(Batch { updates: vec![Update { id: update, incoming }], cursor: None })
    }

    async fn collect(
        &self,
        request: &PushedRequest,
        after: i64,
    ) -> Result<Vec<Mail>, NetworkError> {
        let peer = self.peer(&self.visitor(request)?);
        let failed = |error: onyx_storage::StoreError| NetworkError::Failed(error.to_string());
        let patience = tokio::time::sleep(PATIENCE);
        tokio::pin!(patience);
        // If too many requests wait already, this one is answered at once, and the script asks
        // again.
        let place = self.waiting.try_acquire();
        loop {
            let came = self.came.notified();
            tokio::pin!(came);
            // The listener is registered before the ledger is read, so that no answer in between is
            // missed.
            came.as_mut().enable();
            let found = self.ledger.mail_after(&peer, after, MOST_MAIL).await.map_err(failed)?;
            if !found.is_empty() || place.is_err() {
                return Ok(found);
            }
            tokio::select! {
                () = came => {}
                () = &mut patience => return Ok(found),
            }
        }
    }

    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError> {
        let text = match &message.what {
            OutgoingKind::Text { text, .. } | OutgoingKind::Edit { text, .. } => &text.plain,
            // The widget shows no buttons, so no press has to be answered.
            OutgoingKind::PressAnswer { .. } | OutgoingKind::File(_) => return Ok(String::new()),
        };
        let peer = self.peer(&message.peer);
        let kept = self.ledger.put_mail(&peer, &message.key, text, self.clock.wall()).await;
        let id = kept.map_err(|error| NetworkError::Failed(error.to_string()))?;
        self.came.notify_waiters();
        Ok(id.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_visitor_and_all_of_them_write_only_so_often() {
        let mut traffic = Traffic::default();
        let at = Duration::from_secs;
        (0..MOST_OF_ONE).for_each(|_| traffic.take("a", at(100)).unwrap());
        assert_eq!(traffic.take("a", at(159)), Err(NetworkError::TooFast(MINUTE)));
        for visitor in 0..MOST_OF_ALL - MOST_OF_ONE {
            traffic.take(&visitor.to_string(), at(100)).unwrap();
        }
        assert!(traffic.take("another", at(101)).is_err());
        traffic.take("a", at(161)).unwrap();
    }

    #[test]
    fn what_is_remembered_of_visitors_is_bounded() {
        let mut traffic = Traffic::default();
        for visitor in 0..20_000_u64 {
            // There are many visitors a day but only a few a minute, so no rate limit applies.
            traffic.take(&visitor.to_string(), Duration::from_secs(visitor * 2)).unwrap();
        }
        assert!(traffic.of_one.len() <= MOST_VISITORS, "{}", traffic.of_one.len());
    }
}
