//! State that a client keeps for us between two calls. It is sealed, so that it cannot be changed,
//! and bound to the call and the caller for which it was made.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// The key for sealing. It exists as long as the process: after a restart, clients begin again.
pub(super) struct SealKey {
    key: [u8; 32],
    names: AtomicU64,
}

impl SealKey {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key, names: AtomicU64::new(0) }
    }

    /// A unique name that cannot be guessed.
    pub(super) fn fresh_name(&self) -> String {
        let next = self.names.fetch_add(1, Ordering::Relaxed);
        let mark = self.mark(&next.to_be_bytes(), "name").finalize().into_bytes();
        BASE64.encode(&mark[..24])
    }

    pub(super) fn seal(&self, state: &Value, about: &str) -> String {
        let text = state.to_string();
        let mark = self.mark(text.as_bytes(), about);
        format!("{}.{}", BASE64.encode(text), BASE64.encode(mark.finalize().into_bytes()))
    }

    /// Opens a sealed state; `None` if it was not sealed here for this call.
    pub(super) fn open(&self, sealed: &str, about: &str) -> Option<Value> {
        let (text, mark) = sealed.split_once('.')?;
        let (text, mark) = (BASE64.decode(text).ok()?, BASE64.decode(mark).ok()?);
        self.mark(&text, about).verify_slice(&mark).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn mark(&self, text: &[u8], about: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&key_block(&self.key));
        mac.update(&(about.len() as u64).to_be_bytes());
        mac.update(about.as_bytes());
        mac.update(text);
        mac
    }
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
        let key = SealKey::new([7; 32]);
        let state = json!({"draft": "7"});
        let sealed = key.seal(&state, "owner tools/call write");
        assert_eq!(key.open(&sealed, "owner tools/call write"), Some(state));
        assert_eq!(key.open(&sealed, "guest tools/call write"), None);
        assert_eq!(key.open(&format!("{sealed}x"), "owner tools/call write"), None);
        assert_eq!(SealKey::new([8; 32]).open(&sealed, "owner tools/call write"), None);
        assert_eq!(key.open("", "owner tools/call write"), None);
        assert_ne!(key.fresh_name(), key.fresh_name());
    }
}
