//! Pairing of a device that is not signed in: it shows a short code; the owner approves the code
//! from a place that is signed in; the device picks up its credential with a long id that only it
//! knows.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};
use onyx_types::{ErrorCode, Fault, Hash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::issuing::Permit;
use crate::network::Network;
use crate::random::{self, Secret};

const LASTS: Duration = Duration::from_secs(10 * 60);
const MAX_WAITING: usize = 100;
const ROOM: ShortLivedRoom = ShortLivedRoom::of_entries(MAX_WAITING);
/// How many devices of one network can wait. The limit is lower than the one for all, so that one
/// network does not keep the devices of another out.
const MAX_OF_ONE_NETWORK: usize = 20;
/// The letters of codes. None of them looks like another, and without vowels they form no words.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LONGEST_NAME: usize = 100;

/// The credential that the device asks for.
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

/// Waiting devices. If several gateways share them, a pairing can be begun, approved and picked up
/// at different ones.
pub(crate) struct Pairings(Arc<dyn ShortLived>);

/// The stored state of a device until it picks up its credential.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PendingPairing {
    code: String,
    name: String,
    client: PairingFor,
    /// The network that the device asked from; `None` is this machine's own user.
    network: Option<Network>,
    decision: Option<Decision>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Decision {
    Approved(Permit),
    Rejected,
}

/// The answer to a device that asks.
pub(crate) enum PairingOutcome {
    Pending,
    Rejected,
    /// The credential was handed over and can be picked up once.
    Approved {
        permit: Permit,
        name: String,
        client: PairingFor,
    },
}

impl Pairings {
    pub(crate) fn new(waiting: Arc<dyn ShortLived>) -> Self {
        Self(waiting)
    }

    pub(crate) async fn begin(
        &self,
        name: &str,
        client: PairingFor,
        network: Option<Network>,
    ) -> Result<(Secret, Pairing), Fault> {
        let waiting = self.all().await?;
        if count_of(&waiting, network) >= MAX_OF_ONE_NETWORK {
            let message = "too many devices of this network are already waiting";
            return Err(Fault::new(ErrorCode::RateLimited, message)
                .with_hint("They are forgotten after ten minutes."));
        }
        if waiting.len() >= MAX_WAITING {
            self.drop_one_of_the_most(&waiting).await?;
        }
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let (id, code) = (Secret::fresh("")?, fresh_code()?);
        let device = PendingPairing { code, name, client, network, decision: None };
        let entry = ShortLivedEntry::of_nobody(id.hash(), device.written()?, LASTS);
        self.0.put(ShortLivedKind::Pairing, entry, ROOM).await?;
        Ok((id, device.view(LASTS)))
    }

    /// All waiting pairings that this gateway can read. A newer gateway may have written some in
    /// another form; those are decided at that gateway.
    async fn all(&self) -> Result<Vec<(ShortLivedEntry, PendingPairing)>, Fault> {
        let mut all = Vec::new();
        for entry in self.0.list(ShortLivedKind::Pairing, None).await? {
            match PendingPairing::read(&entry.value) {
                Ok(device) => all.push((entry, device)),
                Err(fault) => tracing::warn!(%fault, "a pairing is left out"),
            }
        }
        Ok(all)
    }

    /// Drops the oldest entry of the network that has the most, so a flood only displaces itself.
    async fn drop_one_of_the_most(
        &self,
        waiting: &[(ShortLivedEntry, PendingPairing)],
    ) -> Result<(), Fault> {
        let dropped = waiting.iter().max_by_key(|(entry, device)| {
            (count_of(waiting, device.network), std::cmp::Reverse(entry.left))
        });
        if let Some((entry, _)) = dropped {
            self.0.take(ShortLivedKind::Pairing, entry.key).await?;
        }
        Ok(())
    }

    /// The pairings without a decision.
    pub(crate) async fn waiting(&self) -> Result<Vec<Pairing>, Fault> {
        let all = self.all().await?;
        let open = all.iter().filter(|(_, device)| device.decision.is_none());
        let mut open: Vec<_> = open.map(|(entry, device)| device.view(entry.left)).collect();
        open.sort_by(|a, b| a.expires_in.cmp(&b.expires_in).then_with(|| a.code.cmp(&b.code)));
        Ok(open)
    }

    /// The credential that the device with this code asks for.
    pub(crate) async fn wanted(&self, code: &str) -> Result<PairingFor, Fault> {
        Ok(self.by_code(code).await?.1.client)
    }

    /// Stores the decision. The first one counts, on any gateway.
    pub(crate) async fn decide(&self, code: &str, decision: Decision) -> Result<(), Fault> {
        let (entry, device) = self.by_code(code).await?;
        let decided = PendingPairing { decision: Some(decision), ..device }.written()?;
        let is_first = self.0.replace(ShortLivedKind::Pairing, &entry, decided).await?;
        if is_first { Ok(()) } else { Err(no_device()) }
    }

    /// The pairing with this code. Only the letters count, so people may write the code with any
    /// spaces and signs.
    async fn by_code(&self, code: &str) -> Result<(ShortLivedEntry, PendingPairing), Fault> {
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase()).collect()
        };
        let sent = plain(code);
        let found = self.all().await?.into_iter();
        let mut found = found.filter(|(_, it)| it.decision.is_none() && plain(&it.code) == sent);
        found.next().ok_or_else(no_device)
    }

    pub(crate) async fn pick_up(&self, id: &str) -> Result<PairingOutcome, Fault> {
        let hash = Hash::of(id.as_bytes());
        let gone =
            || Fault::new(ErrorCode::NotFound, "this pairing is not known, or it has expired");
        let entry = self.0.get(ShortLivedKind::Pairing, hash).await?.ok_or_else(gone)?;
        if PendingPairing::read(&entry.value)?.decision.is_none() {
            return Ok(PairingOutcome::Pending);
        }
        let taken = self.0.take(ShortLivedKind::Pairing, hash).await?.ok_or_else(gone)?;
        let PendingPairing { name, client, decision, .. } = PendingPairing::read(&taken)?;
        Ok(match decision {
            None => PairingOutcome::Pending,
            Some(Decision::Rejected) => PairingOutcome::Rejected,
            Some(Decision::Approved(permit)) => PairingOutcome::Approved { permit, name, client },
        })
    }
}

fn count_of(waiting: &[(ShortLivedEntry, PendingPairing)], network: Option<Network>) -> usize {
    waiting.iter().filter(|(_, device)| device.network == network).count()
}

fn no_device() -> Fault {
    Fault::new(ErrorCode::NotFound, "no device is waiting with this code")
        .with_hint("Codes expire after ten minutes; start again on the device.")
}

impl PendingPairing {
    fn written(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|error| unreadable(&error))
    }

    fn read(text: &str) -> Result<Self, Fault> {
        serde_json::from_str(text).map_err(|error| unreadable(&error))
    }

    fn view(&self, left: Duration) -> Pairing {
        Pairing {
            code: self.code.clone(),
            name: self.name.clone(),
            client: self.client,
            expires_in: left.as_secs(),
        }
    }
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(ErrorCode::Internal, format!("a pairing that waits is not understood: {error}"))
}

/// A new code such as `BCDF-GHJK`, which a person reads from one screen and types at another.
fn fresh_code() -> Result<String, Fault> {
    let mut code = String::new();
    while code.len() < 9 {
        let [byte] = random::bytes()?;
        // 240 is a multiple of 20, so no letter is more frequent than another.
        if byte < 240 {
            code.push(char::from(LETTERS[usize::from(byte) % LETTERS.len()]));
        }
        if code.len() == 4 {
            code.push('-');
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use onyx_storage::LocalShortLived;
    use onyx_types::SystemClock;

    use super::*;

    #[tokio::test]
    async fn a_pairing_of_a_newer_gateway_keeps_nobody_from_theirs() {
        let kept: Arc<dyn ShortLived> =
            Arc::new(LocalShortLived::new(Arc::new(SystemClock::new())));
        let newer =
            ShortLivedEntry::of_nobody(Hash::of(b"newer"), r#"{"form":2}"#.to_owned(), LASTS);
        kept.put(ShortLivedKind::Pairing, newer, ROOM).await.unwrap();
        let pairings = Pairings::new(kept);
        let (_, device) = pairings.begin("phone", PairingFor::Browser, None).await.unwrap();
        let waiting = pairings.waiting().await.unwrap();
        assert_eq!(waiting.iter().map(|it| &it.code).collect::<Vec<_>>(), [&device.code]);
        pairings.decide(&device.code, Decision::Rejected).await.unwrap();
    }
}
