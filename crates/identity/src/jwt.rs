//! Short-lived access tokens for SDKs. They are JWTs of one fixed form (HS256), so that nothing in
//! a token chooses how it is checked. The key lives as long as the process: after a restart an SDK
//! refreshes once.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use onyx_types::{CredentialId, ErrorCode, Fault, PersonId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::random;

/// `{"alg":"HS256","typ":"JWT"}`
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

pub(crate) struct Signer {
    key: [u8; 32],
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) sub: PersonId,
    /// The credential of the refresh token.
    pub(crate) cid: CredentialId,
    /// The time of issue, in seconds since 1970.
    pub(crate) iat: i64,
    pub(crate) exp: i64,
}

impl Signer {
    pub(crate) fn new() -> Result<Self, Fault> {
        Ok(Self { key: random::bytes()? })
    }

    /// Makes a signer with a key that other gateways also use.
    pub(crate) fn with_key(key: [u8; 32]) -> Self {
        Self { key }
    }

    pub(crate) fn sign(&self, claims: &Claims) -> Result<String, Fault> {
        let claims = serde_json::to_vec(claims).map_err(|error| unusable(&error))?;
        let message = format!("{HEADER}.{}", BASE64.encode(claims));
        let signature = BASE64.encode(self.mac(&message)?.finalize().into_bytes());
        Ok(format!("{message}.{signature}"))
    }

    /// The claims of a token; `None` if the token is not ours or has expired.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Option<Claims> {
        let (message, signature) = token.rsplit_once('.')?;
        let claims = message.strip_prefix(HEADER)?.strip_prefix('.')?;
        let signature = BASE64.decode(signature).ok()?;
        self.mac(message).ok()?.verify_slice(&signature).ok()?;
        let claims: Claims = serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
        (claims.exp > now.as_millis() / 1000).then_some(claims)
    }

    fn mac(&self, message: &str) -> Result<Hmac<Sha256>, Fault> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).map_err(|error| unusable(&error))?;
        mac.update(message.as_bytes());
        Ok(mac)
    }
}

/// Whether the text looks like a JWT. Such a text is not tried as any other credential.
pub(crate) fn is_jwt(text: &str) -> bool {
    text.starts_with("eyJ")
}

fn unusable(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(ErrorCode::Internal, format!("an access token could not be made: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        let cid = CredentialId::from_bytes([7; 16]);
        Claims { sub: "anna".parse().unwrap(), cid, iat: 100, exp: 200 }
    }

    #[test]
    fn a_token_is_good_until_its_time_and_for_its_signer_only() {
        let signer = Signer::new().unwrap();
        let token = signer.sign(&claims()).unwrap();
        let at = Timestamp::from_millis;
        assert_eq!(signer.verify(&token, at(199_999)), Some(claims()));
        assert_eq!(signer.verify(&token, at(200_000)), None);
        assert_eq!(Signer::new().unwrap().verify(&token, at(0)), None);
    }

    #[test]
    fn no_changed_byte_and_no_other_algorithm_passes() {
        let signer = Signer::new().unwrap();
        let token = signer.sign(&claims()).unwrap();
        for index in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last digit of a signature has unused bits; a decoder must refuse a token in which
            // they are set.
            assert_eq!(signer.verify(&changed, Timestamp::UNIX_EPOCH), None, "byte {index}");
        }
        let (message, _) = token.rsplit_once('.').unwrap();
        let claims = message.split_once('.').unwrap().1;
        let none = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
        for forged in [format!("{none}.{claims}."), format!("{message}."), message.to_owned()] {
            assert_eq!(signer.verify(&forged, Timestamp::UNIX_EPOCH), None);
        }
    }
}
