//! A device that nobody has signed in shows a short code; the owner approves it from a place that
//! is signed in; the device picks up its credential with a long id that only it knows.

use std::collections::HashMap;
use std::time::Duration;

use onyx_types::{Clock, ErrorCode, Fault, Hash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::minting::Permit;
use crate::network::Network;
use crate::random::{self, Secret};

const LASTS: Duration = Duration::from_secs(10 * 60);
const MAX_WAITING: usize = 100;
/// Fewer than all: one network does not keep the devices of another out.
const MAX_OF_ONE_NETWORK: usize = 20;
/// Nothing that reads like another letter, and no words.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LONGEST_NAME: usize = 100;

/// What the device wants to have in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairingFor {
    /// A cookie.
    #[default]
    Browser,
    /// An API token.
    Device,
}

/// A device that waits, as the owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pairing {
    pub code: String,
    pub name: String,
    pub client: PairingFor,
    pub expires_in: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairingState {
    Pending,
    Approved,
    Rejected,
}

#[derive(Debug, Default)]
pub(crate) struct Pairings(HashMap<Hash, Waiting>);

#[derive(Debug)]
struct Waiting {
    code: String,
    name: String,
    client: PairingFor,
    /// Where it asked from; `None` is this machine's own user.
    network: Option<Network>,
    until: Duration,
    decision: Option<Decision>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Approved(Permit),
    Rejected,
}

/// What a device finds when it asks.
pub(crate) enum Found {
    Pending,
    Rejected,
    /// Handed over: it can be picked up once.
    Approved {
        permit: Permit,
        name: String,
        client: PairingFor,
    },
}

impl Pairings {
    pub(crate) fn begin(
        &mut self,
        name: &str,
        client: PairingFor,
        network: Option<Network>,
        clock: &dyn Clock,
    ) -> Result<(Secret, Pairing), Fault> {
        let now = clock.now().mono;
        self.0.retain(|_, waiting| waiting.until > now);
        if self.waiting_from(network) >= MAX_OF_ONE_NETWORK {
            let message = "too many devices of this network wait already";
            return Err(Fault::new(ErrorCode::RateLimited, message)
                .with_hint("They are forgotten after ten minutes."));
        }
        if self.0.len() >= MAX_WAITING {
            self.drop_one_of_the_most();
        }
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let (id, code) = (Secret::fresh("")?, fresh_code()?);
        let until = now + LASTS;
        let waiting = Waiting { code, name, client, network, until, decision: None };
        let pairing = waiting.view(now);
        self.0.insert(id.hash(), waiting);
        Ok((id, pairing))
    }

    fn waiting_from(&self, network: Option<Network>) -> usize {
        self.0.values().filter(|waiting| waiting.network == network).count()
    }

    /// The oldest of the network that has the most: whoever floods loses their own.
    fn drop_one_of_the_most(&mut self) {
        let dropped = self.0.iter().max_by_key(|(_, waiting)| {
            (self.waiting_from(waiting.network), std::cmp::Reverse(waiting.until))
        });
        if let Some((id, _)) = dropped {
            let id = *id;
            self.0.remove(&id);
        }
    }

    pub(crate) fn waiting(&self, clock: &dyn Clock) -> Vec<Pairing> {
        let now = clock.now().mono;
        let open = self.0.values().filter(|at| at.until > now && at.decision.is_none());
        let mut open: Vec<_> = open.map(|waiting| waiting.view(now)).collect();
        open.sort_by(|a, b| a.expires_in.cmp(&b.expires_in).then_with(|| a.code.cmp(&b.code)));
        open
    }

    /// What the device with this code wants to have.
    pub(crate) fn wanted(&mut self, code: &str, clock: &dyn Clock) -> Result<PairingFor, Fault> {
        Ok(self.by_code(code, clock)?.client)
    }

    pub(crate) fn decide(
        &mut self,
        code: &str,
        decision: Decision,
        clock: &dyn Clock,
    ) -> Result<(), Fault> {
        self.by_code(code, clock)?.decision = Some(decision);
        Ok(())
    }

    /// Letters only count; however a person writes them.
    fn by_code(&mut self, code: &str, clock: &dyn Clock) -> Result<&mut Waiting, Fault> {
        let now = clock.now().mono;
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase()).collect()
        };
        let sent = plain(code);
        let found = self.0.values_mut().find(|waiting| {
            waiting.until > now && waiting.decision.is_none() && plain(&waiting.code) == sent
        });
        found.ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, "no device waits with this code")
                .with_hint("Codes last ten minutes; start again on the device.")
        })
    }

    pub(crate) fn pick_up(&mut self, id: &str, clock: &dyn Clock) -> Result<Found, Fault> {
        let now = clock.now().mono;
        let hash = Hash::of(id.as_bytes());
        let waiting = self.0.get(&hash).filter(|waiting| waiting.until > now);
        let waiting = waiting.ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, "there is no such pairing, or its time is over")
        })?;
        let found = match &waiting.decision {
            None => return Ok(Found::Pending),
            Some(Decision::Rejected) => Found::Rejected,
            Some(Decision::Approved(permit)) => Found::Approved {
                permit: permit.clone(),
                name: waiting.name.clone(),
                client: waiting.client,
            },
        };
        self.0.remove(&hash);
        Ok(found)
    }
}

impl Waiting {
    fn view(&self, now: Duration) -> Pairing {
        Pairing {
            code: self.code.clone(),
            name: self.name.clone(),
            client: self.client,
            expires_in: self.until.saturating_sub(now).as_secs(),
        }
    }
}

/// `BCDF-GHJK`: a person reads it from one screen and types it at another.
fn fresh_code() -> Result<String, Fault> {
    let mut code = String::new();
    while code.len() < 9 {
        let [byte] = random::bytes()?;
        // 240 is a multiple of 20: no letter comes more often than another.
        if byte < 240 {
            code.push(char::from(LETTERS[usize::from(byte) % LETTERS.len()]));
        }
        if code.len() == 4 {
            code.push('-');
        }
    }
    Ok(code)
}
