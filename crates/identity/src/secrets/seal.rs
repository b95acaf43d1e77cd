//! XChaCha20-Poly1305 with the secret's names as associated data: a row that is moved under
//! another name, provider or person does not open.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use onyx_storage::{SealedSecret, SecretId};
use onyx_types::{ErrorCode, Fault, Hash, Timestamp};

use super::key::Key;
use crate::random::{self, Secret};

const NONCE: usize = 24;

pub(super) fn seal(
    key: &Key,
    id: SecretId,
    value: &Secret,
    at: Timestamp,
) -> Result<SealedSecret, Fault> {
    let nonce: [u8; NONCE] = random::bytes()?;
    let bound = bound_to(&id);
    let payload = Payload { msg: value.reveal().as_bytes(), aad: bound.as_bytes() };
    let sealed = cipher(key).encrypt(&XNonce::from(nonce), payload);
    let sealed =
        sealed.map_err(|_| Fault::new(ErrorCode::Internal, "a secret could not be sealed"))?;
    Ok(SealedSecret { id, key: key.name.clone(), nonce: nonce.to_vec(), sealed, updated_at: at })
}

pub(super) fn open(key: &Key, row: &SealedSecret) -> Result<Secret, Fault> {
    let broken = || {
        let message = format!("the secret `{}` does not open with its key", row.id.name);
        Fault::new(ErrorCode::StorageFailed, message)
            .with_hint("Set it again with `onyx secrets set`.")
    };
    let nonce: [u8; NONCE] = row.nonce.as_slice().try_into().map_err(|_| broken())?;
    let bound = bound_to(&row.id);
    let payload = Payload { msg: &row.sealed, aad: bound.as_bytes() };
    let value = cipher(key).decrypt(&XNonce::from(nonce), payload).map_err(|_| broken())?;
    String::from_utf8(value).map(Secret::new).map_err(|_| broken())
}

fn cipher(key: &Key) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.bytes.into())
}

/// The hash of a secret's names. Moving a letter from one name to the next changes it.
fn bound_to(id: &SecretId) -> Hash {
    Hash::of_parts([
        b"onyx secret 1".as_slice(),
        id.person.as_str().as_bytes(),
        id.provider.as_bytes(),
        id.name.as_bytes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(person: &str, provider: &str, name: &str) -> SecretId {
        let (provider, name) = (provider.to_owned(), name.to_owned());
        SecretId { person: person.parse().unwrap(), provider, name }
    }

    #[test]
    fn a_sealed_secret_opens_only_under_its_own_names_and_key_and_unchanged() {
        let key = Key { name: "k".to_owned(), bytes: [7; 32] };
        let at = Timestamp::UNIX_EPOCH;
        let row = seal(&key, id("anna", "home", "mine"), &Secret::new("sk-value"), at).unwrap();
        assert_eq!(open(&key, &row).unwrap().reveal(), "sk-value");
        assert!(!row.sealed.windows(8).any(|window| window == b"sk-value"));
        for other in
            [id("bert", "home", "mine"), id("anna", "homem", "ine"), id("anna", "home", "other")]
        {
            assert!(open(&key, &SealedSecret { id: other, ..row.clone() }).is_err());
        }
        let wrong = Key { name: "k".to_owned(), bytes: [8; 32] };
        assert!(open(&wrong, &row).is_err());
        for index in 0..row.sealed.len() {
            let mut changed = row.clone();
            changed.sealed[index] ^= 1;
            assert!(open(&key, &changed).is_err(), "byte {index}");
        }
        let mut short = row;
        short.nonce.pop();
        assert!(open(&key, &short).is_err());
    }
}
