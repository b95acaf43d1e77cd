//! Credentials of a person or a program: random, shown once, stored as a hash.

use std::fmt;

use onyx_types::{CredentialId, ErrorCode, Fault, Hash};

/// The text of a credential on its way to its user. `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Makes a credential of 24 random bytes after a prefix that names its kind.
    pub(crate) fn fresh(mark: &str) -> Result<Self, Fault> {
        let bytes: [u8; 24] = bytes()?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(format!("{mark}{digits}")))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn hash(&self) -> Hash {
        Hash::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Creates a key that will be stored.
pub fn fresh_key() -> Result<[u8; 32], Fault> {
    bytes()
}

pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Fault::new(ErrorCode::Internal, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(bytes)
}

/// The id of a credential without a row of its own (a configured token, a password). It stays the
/// same as long as the text does.
pub(crate) fn derived_id(kind: &str, text: &str) -> CredentialId {
    let hash = Hash::of_parts([kind.as_bytes(), text.as_bytes()]);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    CredentialId::from_bytes(bytes)
}
