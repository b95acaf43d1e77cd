use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use onyx_storage::{SealedSecret, SecretId};
use onyx_types::{ErrorCode, Fault, Timestamp};

use super::key::Key;
use super::seal;
use crate::people::OWNER;
use crate::random::Secret;

/// The length of the nonce, which precedes the sealed text.
const NONCE: usize = 24;

/// Seals texts that wait in a shared database for a short while.
pub struct Sealer(Key);

impl Sealer {
    pub fn new(key: [u8; 32]) -> Self {
        Self(Key { name: "pending".to_owned(), bytes: key })
    }

    pub fn seal(&self, text: &str) -> Result<String, Fault> {
        let row = seal::seal(&self.0, id()?, &Secret::new(text), Timestamp::UNIX_EPOCH)?;
        Ok(BASE64.encode([row.nonce, row.sealed].concat()))
    }

    pub fn open(&self, sealed: &str) -> Result<Secret, Fault> {
        let broken = || Fault::new(ErrorCode::StorageFailed, "what waits does not open");
        let bytes = BASE64.decode(sealed).map_err(|_| broken())?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE).ok_or_else(broken)?;
        seal::open(
            &self.0,
            &SealedSecret {
                id: id()?,
                key: self.0.name.clone(),
                nonce: nonce.to_vec(),
                sealed: sealed.to_vec(),
                updated_at: Timestamp::UNIX_EPOCH,
            },
        )
    }
}

fn id() -> Result<SecretId, Fault> {
    let (provider, name) = ("pending".to_owned(), "entry".to_owned());
    Ok(SecretId { person: OWNER.parse()?, provider, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_with_its_own_key_only() {
        let sealer = Sealer::new([7; 32]);
        let sealed = sealer.seal("a verifier").unwrap();
        assert!(!sealed.contains("verifier"));
        assert_eq!(sealer.open(&sealed).unwrap().reveal(), "a verifier");
        assert!(Sealer::new([8; 32]).open(&sealed).is_err());
        assert!(sealer.open("short").is_err());
    }
}
