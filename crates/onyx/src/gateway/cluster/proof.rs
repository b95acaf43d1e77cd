//! Authenticates requests between gateways: a proof that only a gateway of the same database can make, valid for one
//! request and half a minute of the database's time, and a proof that shows the asking gateway that a gateway answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use onyx_types::{Clock, Hash, Timestamp};

use crate::gateway::storage::SharedStorage;

pub(super) const FROM: &str = "x-onyx-gateway";
pub(super) const EXPIRES: &str = "x-onyx-expires";
pub(super) const NONCE: &str = "x-onyx-nonce";
pub(super) const PROOF: &str = "x-onyx-proof";

/// How old a request may be.
const GOOD_FOR: Duration = Duration::from_secs(30);
/// How many nonces of the last half minute are remembered: more than gateways send each other in that time.
const MOST_SEEN: usize = 100_000;

/// The time by which proofs are made and checked: the database's. The clocks of two machines may differ by more than a
/// proof is good for.
#[derive(Clone)]
pub(super) enum ProofClock {
    /// A gateway knows the database's time from its heartbeats.
    Gateway(Arc<SharedStorage>),
    /// A command measured once by how many milliseconds the database's clock is ahead of this one.
    Command { clock: Arc<dyn Clock>, ahead: i64 },
}

impl ProofClock {
    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::Gateway(shared) => shared.membership.database_now(),
            Self::Command { clock, ahead } => {
                Timestamp::from_millis(clock.wall().as_millis().saturating_add(*ahead))
            }
        }
    }
}

/// The key of the proofs, derived from the master key.
pub(super) struct GatewayKey {
    key: [u8; 32],
    /// Nonces that were used, until they would be refused for their age.
    seen: Mutex<BTreeMap<String, i64>>,
}

/// The parts of a request that the proof covers.
pub(super) struct Question<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) path: &'a str,
    pub(super) expires: i64,
    pub(super) nonce: &'a str,
    pub(super) body: &'a [u8],
}

impl GatewayKey {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key, seen: Mutex::default() }
    }

    pub(super) fn expires(now: Timestamp) -> i64 {
        now.saturating_add(GOOD_FOR).as_millis()
    }

    pub(super) fn proof(&self, question: &Question<'_>) -> String {
        let Question { from, to, path, expires, nonce, body } = question;
        let expires = expires.to_be_bytes();
        let parts: [&[u8]; 7] = [
            b"question",
            from.as_bytes(),
            to.as_bytes(),
            path.as_bytes(),
            &expires,
            nonce.as_bytes(),
            body,
        ];
        Hash::of_parts(parts).keyed(&self.key).to_string()
    }

    /// The proof for the asking gateway that a gateway of this name answers exactly this request.
    pub(super) fn answer(&self, id: &str, nonce: &str) -> String {
        let parts: [&[u8]; 3] = [b"answer", id.as_bytes(), nonce.as_bytes()];
        Hash::of_parts(parts).keyed(&self.key).to_string()
    }

    /// The nonce of a valid request from a gateway, which is recent and was not used before.
    pub(super) fn checked(
        &self,
        headers: &HeaderMap,
        id: &str,
        path: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Option<String> {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let (from, nonce, given) = (text(FROM)?, text(NONCE)?, text(PROOF)?);
        let expires: i64 = text(EXPIRES)?.parse().ok()?;
        let question = Question { from, to: id, path, expires, nonce, body };
        if !same(&self.proof(&question), given) {
            return None;
        }
        let now = now.as_millis();
        let longest = 2 * i64::try_from(GOOD_FOR.as_millis()).unwrap_or(i64::MAX);
        if expires < now || expires > now + longest {
            return None;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, until| *until >= now);
        let is_new = seen.len() < MOST_SEEN && seen.insert(nonce.to_owned(), expires).is_none();
        is_new.then(|| nonce.to_owned())
    }
}

/// Compares hashes of the proofs, so that the time it takes reveals nothing.
pub(super) fn same(one: &str, other: &str) -> bool {
    Hash::of(one.as_bytes()) == Hash::of(other.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(key: &GatewayKey, to: &str, nonce: &str, expires: i64) -> HeaderMap {
        let question =
            Question { from: "one", to, path: "/internal/x", expires, nonce, body: b"body" };
        let mut headers = HeaderMap::new();
        let mut put =
            |name: &'static str, value: String| headers.insert(name, value.parse().unwrap());
        put(FROM, "one".to_owned());
        put(EXPIRES, expires.to_string());
        put(NONCE, nonce.to_owned());
        put(PROOF, key.proof(&question));
        headers
    }

    #[test]
    fn a_question_is_good_once_for_whom_it_is_meant_and_for_half_a_minute() {
        let key = GatewayKey::new([7; 32]);
        let now = Timestamp::from_millis(1_000_000);
        let expires = GatewayKey::expires(now);
        let check = |headers: &HeaderMap, id: &str, path: &str, body: &[u8], now: Timestamp| {
            key.checked(headers, id, path, body, now)
        };
        let good = asked(&key, "two", "n1", expires);
        assert!(check(&good, "three", "/internal/x", b"body", now).is_none(), "for another");
        assert!(check(&good, "two", "/internal/y", b"body", now).is_none(), "another question");
        assert!(check(&good, "two", "/internal/x", b"other", now).is_none(), "other words");
        let late = now.saturating_add(GOOD_FOR * 2);
        assert!(check(&good, "two", "/internal/x", b"body", late).is_none(), "too late");
        assert_eq!(check(&good, "two", "/internal/x", b"body", now).as_deref(), Some("n1"));
        assert!(check(&good, "two", "/internal/x", b"body", now).is_none(), "a second time");
        let stranger = asked(&GatewayKey::new([8; 32]), "two", "n2", expires);
        assert!(check(&stranger, "two", "/internal/x", b"body", now).is_none());
        let eternal = asked(&key, "two", "n3", expires + 1_000_000);
        assert!(check(&eternal, "two", "/internal/x", b"body", now).is_none());
        assert!(check(&HeaderMap::new(), "two", "/internal/x", b"body", now).is_none());
    }
}
