//! A device that nobody has signed in shows a short code; the owner approves it from a place that
//! is signed in; the device picks up its credential with a long id that only it knows.

use std::collections::HashMap;
use std::time::Duration;

use onyx_types::{Clock, ErrorCode, Fault, Hash, PersonId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{self, Secret};

const LASTS: Duration = Duration::from_secs(10 * 60);
const MAX_WAITING: usize = 100;
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
    until: Duration,
    decision: Option<Decision>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Approved(PersonId),
    Rejected,
}

/// What a device finds when it asks.
pub(crate) enum Found {
    Pending,
    Rejected,
    /// Handed over: it can be picked up once.
    Approved {
        person: PersonId,
        name: String,
        client: PairingFor,
    },
}

impl Pairings {
    pub(crate) fn begin(
        &mut self,
        name: &str,
        client: PairingFor,
        clock: &dyn Clock,
    ) -> Result<(Secret, Pairing), Fault> {
        let now = clock.now().mono;
        self.0.retain(|_, waiting| waiting.until > now);
        if self.0.len() >= MAX_WAITING {
            return Err(Fault::new(ErrorCode::RateLimited, "too many devices wait already"));
        }
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let (id, code) = (Secret::fresh("")?, fresh_code()?);
        let waiting = Waiting { code, name, client, until: now + LASTS, decision: None };
        let pairing = waiting.view(now);
        self.0.insert(id.hash(), waiting);
        Ok((id, pairing))
    }

    pub(crate) fn waiting(&self, clock: &dyn Clock) -> Vec<Pairing> {
        let now = clock.now().mono;
        let open = self.0.values().filter(|at| at.until > now && at.decision.is_none());
        let mut open: Vec<_> = open.map(|waiting| waiting.view(now)).collect();
        open.sort_by(|a, b| a.expires_in.cmp(&b.expires_in).then_with(|| a.code.cmp(&b.code)));
        open
    }

    /// Letters only count; however a person writes them.
    pub(crate) fn decide(
        &mut self,
        code: &str,
        decision: Decision,
        clock: &dyn Clock,
    ) -> Result<(), Fault> {
        let now = clock.now().mono;
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase()).collect()
        };
        let sent = plain(code);
        let found = self.0.values_mut().find(|waiting| {
            waiting.until > now && waiting.decision.is_none() && plain(&waiting.code) == sent
        });
        let waiting = found.ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, "no device waits with this code")
                .with_hint("Codes last ten minutes; start again on the device.")
        })?;
        waiting.decision = Some(decision);
        Ok(())
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
            Some(Decision::Approved(person)) => Found::Approved {
                person: person.clone(),
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
