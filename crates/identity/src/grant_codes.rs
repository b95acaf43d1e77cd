//! The codes for the access that a person gives a program. Each is valid once and for a short time,
//! at any gateway. Only its hash is stored, and it is worth nothing without the secret that the
//! program proves (RFC 7636).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};
use onyx_types::{ErrorCode, Fault, Hash, PersonId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::issuing::Permit;
use crate::random::Secret;

const LASTS: Duration = Duration::from_secs(60);
/// The codes of one person that wait at a time.
const MOST: ShortLivedRoom = ShortLivedRoom::of_entries(100);

/// A program's request for access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRequest {
    pub client_id: String,
    pub redirect_uri: String,
    /// The SHA-256 of a secret that only the program knows.
    pub code_challenge: String,
}

/// What a program shows when it redeems a code.
#[derive(Clone, Copy, Debug)]
pub struct GrantProof<'a> {
    pub code: &'a str,
    pub client_id: &'a str,
    pub redirect_uri: &'a str,
    /// The secret behind the challenge.
    pub verifier: &'a str,
}

/// What a person agreed to, until the program picks it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgreedGrant {
    pub(crate) request: GrantRequest,
    pub(crate) permit: Permit,
    pub(crate) name: String,
}

pub(crate) struct GrantCodes(Arc<dyn ShortLived>);

impl GrantCodes {
    pub(crate) fn new(waiting: Arc<dyn ShortLived>) -> Self {
        Self(waiting)
    }

    pub(crate) async fn make(
        &self,
        person: &PersonId,
        agreed: &AgreedGrant,
    ) -> Result<Secret, Fault> {
        let code = Secret::fresh("")?;
        let value = serde_json::to_string(agreed).map_err(|error| unreadable(&error))?;
        let (key, person) = (code.hash(), Some(person.clone()));
        let entry = ShortLivedEntry { key, person, value, left: LASTS };
        self.0.put(ShortLivedKind::Grant, entry, MOST).await?;
        Ok(code)
    }

    /// Redeems a code; `None` if it is not good. A code is used up by the attempt, even if the
    /// proof does not fit.
    pub(crate) async fn redeem(
        &self,
        proof: &GrantProof<'_>,
    ) -> Result<Option<AgreedGrant>, Fault> {
        let key = Hash::of(proof.code.as_bytes());
        let Some(taken) = self.0.take(ShortLivedKind::Grant, key).await? else { return Ok(None) };
        let agreed: AgreedGrant =
            serde_json::from_str(&taken).map_err(|error| unreadable(&error))?;
        let challenge = BASE64.encode(Sha256::digest(proof.verifier.as_bytes()));
        let request = &agreed.request;
        let fits = request.client_id == proof.client_id
            && request.redirect_uri == proof.redirect_uri
            && request.code_challenge == challenge;
        Ok(fits.then_some(agreed))
    }
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(ErrorCode::Internal, format!("a grant that waits is not understood: {error}"))
}

#[cfg(test)]
mod tests {
    use onyx_storage::LocalShortLived;
    use onyx_test_support::ManualClock;

    use super::*;

    const GOOD: [&str; 3] = ["c", "r", "verifier"];

    /// Whether a code is good with this client, address and secret.
    async fn is_good(codes: &GrantCodes, code: &Secret, shown: [&str; 3]) -> bool {
        let [client_id, redirect_uri, verifier] = shown;
        let proof = GrantProof { code: code.reveal(), client_id, redirect_uri, verifier };
        codes.redeem(&proof).await.unwrap().is_some()
    }

    #[tokio::test]
    async fn a_code_is_good_once_for_who_asked_and_not_for_long() {
        let clock = Arc::new(ManualClock::new());
        let codes = GrantCodes::new(Arc::new(LocalShortLived::new(Arc::clone(&clock) as _)));
        let anna: PersonId = "anna".parse().unwrap();
        let agreed = AgreedGrant {
            request: GrantRequest {
                client_id: "c".to_owned(),
                redirect_uri: "r".to_owned(),
                code_challenge: BASE64.encode(Sha256::digest(b"verifier")),
            },
            permit: Permit::read(r#"{"people":["anna"],"grants":["chat"]}"#).unwrap(),
            name: "program".to_owned(),
        };
        let code = codes.make(&anna, &agreed).await.unwrap();
        assert!(is_good(&codes, &code, GOOD).await);
        assert!(!is_good(&codes, &code, GOOD).await, "once");
        for wrong in
            [["x", "r", "verifier"], ["c", "x", "verifier"], ["c", "r", "guess"], ["c", "r", ""]]
        {
            let code = codes.make(&anna, &agreed).await.unwrap();
            assert!(!is_good(&codes, &code, wrong).await);
            assert!(!is_good(&codes, &code, GOOD).await, "a wrong try spends it");
        }
        let code = codes.make(&anna, &agreed).await.unwrap();
        clock.advance(LASTS);
        assert!(!is_good(&codes, &code, GOOD).await, "too late");
    }
}
