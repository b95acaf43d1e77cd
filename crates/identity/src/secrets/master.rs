//! One key for all gateways of a server. Keys that each gateway needs and none may store are
//! derived from it.

use std::fmt;

use onyx_types::{ErrorCode, Fault, Hash};

use super::key::from_hex;

/// The master key, which comes from a reference outside of all stored data. It is never shown.
#[derive(Clone)]
pub struct MasterKey([u8; 32]);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

impl MasterKey {
    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let bytes = from_hex(text.trim()).ok_or_else(|| {
            Fault::new(ErrorCode::InvalidRequest, "ONYX_MASTER_KEY is not 64 hexadecimal digits")
                .with_hint("Create one with `openssl rand -hex 32` and use it for every gateway.")
        })?;
        Ok(Self(bytes))
    }

    /// Derives a key for one purpose. It reveals neither the master key nor the key of another
    /// purpose.
    pub fn derived(&self, purpose: &str) -> [u8; 32] {
        *Hash::of(purpose.as_bytes()).keyed(&self.0).as_bytes()
    }

    /// A value by which gateways check that they have the same key; it reveals nothing of it.
    pub fn check_value(&self) -> String {
        Hash::from_bytes(self.derived("onyx: check of the master key")).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_key_is_sixty_four_digits_and_gives_a_key_for_each_use() {
        let key = MasterKey::parse(&format!("{}\n", "0a".repeat(32))).unwrap();
        assert_ne!(key.derived("a"), key.derived("b"));
        assert_eq!(key.derived("a"), MasterKey::parse(&"0A".repeat(32)).unwrap().derived("a"));
        assert_ne!(key.check_value(), MasterKey::parse(&"0b".repeat(32)).unwrap().check_value());
        assert!(!format!("{key:?}").contains("0a"));
        for wrong in ["", "0a", &"zz".repeat(32), &"0a".repeat(33)] {
            let fault = MasterKey::parse(wrong).unwrap_err();
            assert!(!fault.hint().is_empty());
        }
    }
}
