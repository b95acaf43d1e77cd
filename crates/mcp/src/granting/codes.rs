//! The codes for the access that a person agreed to. Each is valid once and for a short time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use sha2::{Digest as _, Sha256};

use super::GrantRefusal;

const LASTS: Duration = Duration::from_secs(60);
const MOST: usize = 100;

/// A program's request for access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantRequest {
    pub client_id: String,
    pub redirect_uri: String,
    /// The SHA-256 of a secret that only the program knows (RFC 7636).
    pub code_challenge: String,
    pub resource: Option<String>,
}

/// The codes, each with the value for which it is redeemed.
pub struct GrantCodes<T>(Mutex<BTreeMap<String, Waiting<T>>>);

struct Waiting<T> {
    request: GrantRequest,
    until: Duration,
    granted: T,
}

impl<T> Default for GrantCodes<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> GrantCodes<T> {
    /// Creates a code for an agreement. `now` is from a monotonic clock.
    pub fn put(&self, key: [u8; 32], request: GrantRequest, granted: T, now: Duration) -> String {
        let code = BASE64.encode(key);
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, waiting| waiting.until > now);
        if waiting.len() >= MOST {
            waiting.pop_first();
        }
        waiting.insert(code.clone(), Waiting { request, until: now + LASTS, granted });
        code
    }

    /// Redeems a code. A code is used up by the attempt, even if the request does not match.
    pub fn take(
        &self,
        code: &str,
        client_id: &str,
        redirect_uri: &str,
        verifier: &str,
        now: Duration,
    ) -> Result<T, GrantRefusal> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(code);
        let refused = || GrantRefusal::new("invalid_grant", "the code is not known, or was used");
        let Waiting { request, until, granted } = found.ok_or_else(refused)?;
        let proof = BASE64.encode(Sha256::digest(verifier.as_bytes()));
        let fits = request.client_id == client_id
            && request.redirect_uri == redirect_uri
            && request.code_challenge == proof
            && until > now;
        if fits { Ok(granted) } else { Err(refused()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_for_who_asked_and_not_for_long() {
        let codes = GrantCodes::default();
        let now = Duration::from_secs(10);
        let proof = BASE64.encode(Sha256::digest(b"verifier"));
        let request = GrantRequest {
            client_id: "c".to_owned(),
            redirect_uri: "r".to_owned(),
            code_challenge: proof,
            resource: None,
        };
        let mut key = 0;
        let mut fresh = || {
            key += 1;
            codes.put([key; 32], request.clone(), key, now)
        };
        let code = fresh();
        assert_eq!(codes.take(&code, "c", "r", "verifier", now), Ok(1));
        assert!(codes.take(&code, "c", "r", "verifier", now).is_err(), "once");
        for (client, redirect, verifier) in
            [("x", "r", "verifier"), ("c", "x", "verifier"), ("c", "r", "guess"), ("c", "r", "")]
        {
            let code = fresh();
            assert!(codes.take(&code, client, redirect, verifier, now).is_err());
            assert!(codes.take(&code, "c", "r", "verifier", now).is_err(), "a wrong try spends it");
        }
        let code = fresh();
        assert!(codes.take(&code, "c", "r", "verifier", now + LASTS).is_err(), "too late");
    }
}
