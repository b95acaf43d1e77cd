//! State that a client keeps for us between two calls. It is sealed, so that it cannot be changed,
//! and bound to the call and the caller for which it was made.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// The secret keys of an endpoint.
#[derive(Clone, Copy)]
pub struct EndpointKeys {
    /// Seals what clients keep for us. Gateways that share their clients have the same.
    pub sealing: [u8; 32],
    /// Makes names that cannot be guessed. Every process has its own.
    pub naming: [u8; 32],
}

/// Seals states, and makes names.
pub(super) struct SealKey {
    keys: EndpointKeys,
    names: AtomicU64,
}

impl SealKey {
    pub(super) fn new(keys: EndpointKeys) -> Self {
        Self { keys, names: AtomicU64::new(0) }
    }

    /// A unique name that cannot be guessed.
    pub(super) fn fresh_name(&self) -> String {
        let next = self.names.fetch_add(1, Ordering::Relaxed);
        let mark = mark(&self.keys.naming, &next.to_be_bytes(), "name").finalize().into_bytes();
        BASE64.encode(&mark[..24])
    }

    pub(super) fn seal(&self, state: &Value, about: &str) -> String {
        let text = state.to_string();
        let mark = mark(&self.keys.sealing, text.as_bytes(), about);
        format!("{}.{}", BASE64.encode(text), BASE64.encode(mark.finalize().into_bytes()))
    }

    /// Opens a sealed state; `None` if it was not sealed here for this call.
    pub(super) fn open(&self, sealed: &str, about: &str) -> Option<Value> {
        let (text, sealed_mark) = sealed.split_once('.')?;
        let (text, sealed_mark) = (BASE64.decode(text).ok()?, BASE64.decode(sealed_mark).ok()?);
        mark(&self.keys.sealing, &text, about).verify_slice(&sealed_mark).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

fn mark(key: &[u8; 32], text: &[u8], about: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new(&key_block(key));
    mac.update(&(about.len() as u64).to_be_bytes());
    mac.update(about.as_bytes());
    mac.update(text);
    mac
}

/// The key as a block of SHA-256, filled up with zeros as HMAC defines.
fn key_block(key: &[u8; 32]) -> hmac::digest::Key<Hmac<Sha256>> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    block[..32].copy_from_slice(key);
    block
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_changed_or_made_for_another_call_does_not_open() {
        let key = SealKey::new(EndpointKeys { sealing: [7; 32], naming: [1; 32] });
        let state = json!({"draft": "7"});
        let sealed = key.seal(&state, "owner tools/call write");
        assert_eq!(key.open(&sealed, "owner tools/call write"), Some(state));
        assert_eq!(key.open(&sealed, "guest tools/call write"), None);
        assert_eq!(key.open(&format!("{sealed}x"), "owner tools/call write"), None);
        let other = SealKey::new(EndpointKeys { sealing: [8; 32], naming: [1; 32] });
        assert_eq!(other.open(&sealed, "owner tools/call write"), None);
        assert_eq!(key.open("", "owner tools/call write"), None);
        assert_ne!(key.fresh_name(), key.fresh_name());
    }

    #[test]
    fn gateways_with_one_key_open_each_others_states_and_never_give_the_same_name() {
        let one = SealKey::new(EndpointKeys { sealing: [7; 32], naming: [1; 32] });
        let two = SealKey::new(EndpointKeys { sealing: [7; 32], naming: [2; 32] });
        let state = json!({"draft": "7"});
        assert_eq!(two.open(&one.seal(&state, "call"), "call"), Some(state));
        assert_ne!(one.fresh_name(), two.fresh_name());
    }
}
