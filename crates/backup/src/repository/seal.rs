//! How bytes are stored: compressed where that helps, and in an encrypted repository sealed with
//! XChaCha20-Poly1305 and bound to their purpose. Chunks are named by a hash of their content; in an
//! encrypted repository by a keyed hash, which reveals nothing without the key.
//!
//! The passphrase opens (by argon2id) one random key that is stored sealed in the repository; keys for
//! names and contents are derived from it.

use std::fmt;
use std::io::{self, Read as _, Write as _};

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use onyx_types::Hash;
use serde::{Deserialize, Serialize};

const NONCE: usize = 24;
const CHECK: usize = 8;
const MASTER: &[u8] = b"onyx backup master key 1";
const NAMES: &str = "onyx backup 2026-11-17 names of chunks";
const CONTENTS: &str = "onyx backup 2026-11-17 contents";

const PLAIN: u8 = 0;
const DEFLATED: u8 = 1;
/// The compression level. Most of a home is text, which the fast level already halves.
const EFFORT: u32 = 1;

/// The cost of one guess at the passphrase of a new repository: tens of milliseconds and 64 MiB.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// The most memory that is accepted. A repository that asks for more was not made by Onyx.
const MOST_MEMORY_KIB: u32 = 1024 * 1024;
const MOST_PASSES: u32 = 16;

/// The passphrase of encrypted backups. It is never shown.
#[derive(Clone)]
pub struct Passphrase(String);

impl Passphrase {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// How the key of an encrypted folder is opened, as stored in the folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyBox {
    memory_kib: u32,
    passes: u32,
    salt: String,
    nonce: String,
    sealed_key: String,
}

/// A stored text cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

pub(crate) struct Cipher(Option<Keys>);

struct Keys {
    contents: XChaCha20Poly1305,
    names: [u8; 32],
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({})", if self.0.is_some() { "encrypted" } else { "plain" })
    }
}

impl KeyBox {
    /// A fresh key, sealed with a passphrase.
    pub(super) fn make(passphrase: &Passphrase) -> io::Result<(Self, Cipher)> {
        let (salt, nonce, key) = (random::<16>()?, random::<NONCE>()?, random::<32>()?);
        let outer = stretched(passphrase, &salt, MEMORY_KIB, PASSES)
            .ok_or_else(|| io::Error::other("the passphrase cannot be used"))?;
        let payload = Payload { msg: &key, aad: MASTER };
        let sealed = XChaCha20Poly1305::new(&outer.into())
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| io::Error::other("the key could not be sealed"))?;
        let made = Self {
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            salt: STANDARD.encode(salt),
            nonce: STANDARD.encode(nonce),
            sealed_key: STANDARD.encode(sealed),
        };
        Ok((made, Cipher::with_key(&key)))
    }

    /// Opens the key; `None` if the passphrase is wrong.
    pub(super) fn open(&self, passphrase: &Passphrase) -> Option<Cipher> {
        if self.memory_kib > MOST_MEMORY_KIB || self.passes > MOST_PASSES {
            return None;
        }
        let salt = STANDARD.decode(&self.salt).ok()?;
        let nonce: [u8; NONCE] = STANDARD.decode(&self.nonce).ok()?.try_into().ok()?;
        let sealed = STANDARD.decode(&self.sealed_key).ok()?;
        let outer = stretched(passphrase, &salt, self.memory_kib, self.passes)?;
        let payload = Payload { msg: &sealed, aad: MASTER };
        let key = XChaCha20Poly1305::new(&outer.into()).decrypt(&XNonce::from(nonce), payload);
        let key: [u8; 32] = key.ok()?.try_into().ok()?;
        Some(Cipher::with_key(&key))
    }
}

fn stretched(passphrase: &Passphrase, salt: &[u8], memory: u32, passes: u32) -> Option<[u8; 32]> {
    let parameters = Params::new(memory, passes, 1, Some(32)).ok()?;
    let mut key = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into(passphrase.0.as_bytes(), salt, &mut key)
        .ok()?;
    Some(key)
}

impl Cipher {
    pub(super) const fn plain() -> Self {
        Self(None)
    }

    fn with_key(key: &[u8; 32]) -> Self {
        let contents = blake3::derive_key(CONTENTS, key);
        let names = blake3::derive_key(NAMES, key);
        Self(Some(Keys { contents: XChaCha20Poly1305::new(&contents.into()), names }))
    }

    /// The name of a chunk.
    pub(crate) fn name(&self, content: &[u8]) -> Hash {
        match &self.0 {
            None => Hash::of(content),
            Some(keys) => Hash::from_bytes(*blake3::keyed_hash(&keys.names, content).as_bytes()),
        }
    }

    /// The stored form of bytes, which can be opened only for the purpose that it is bound to.
    pub(crate) fn seal(&self, bound_to: &[u8], content: &[u8]) -> io::Result<Vec<u8>> {
        let packed = compressed(content)?;
        let Some(keys) = &self.0 else {
            return Ok([packed.as_slice(), &check_of(&packed)].concat());
        };
        let nonce = random::<NONCE>()?;
        let payload = Payload { msg: &packed, aad: bound_to };
        let sealed = keys.contents.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| io::Error::other("it could not be sealed"))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn open(
        &self,
        bound_to: &[u8],
        kept: &[u8],
        most: usize,
    ) -> Result<Vec<u8>, Unreadable> {
        let Some(keys) = &self.0 else {
            let (packed, check) = kept.split_last_chunk::<CHECK>().ok_or(Unreadable)?;
            let is_whole = check_of(packed) == *check;
            return if is_whole { expanded(packed, most) } else { Err(Unreadable) };
        };
        let (nonce, sealed) = kept.split_at_checked(NONCE).ok_or(Unreadable)?;
        let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| Unreadable)?;
        let payload = Payload { msg: sealed, aad: bound_to };
        let packed = keys.contents.decrypt(&XNonce::from(nonce), payload);
        expanded(&packed.map_err(|_| Unreadable)?, most)
    }
}

/// A checksum. Some bits of compressed bytes have no effect, and damage to them must be found too.
fn check_of(packed: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    check.copy_from_slice(&Hash::of(packed).as_bytes()[..CHECK]);
    check
}

fn compressed(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(vec![DEFLATED], Compression::new(EFFORT));
    encoder.write_all(content)?;
    let packed = encoder.finish()?;
    if packed.len() <= content.len() {
        return Ok(packed);
    }
    Ok([&[PLAIN], content].concat())
}

/// Decompresses a chunk to at most `most` bytes, even if it is damaged or foreign.
fn expanded(packed: &[u8], most: usize) -> Result<Vec<u8>, Unreadable> {
    match packed.split_first() {
        Some((&PLAIN, content)) if content.len() <= most => Ok(content.to_vec()),
        Some((&DEFLATED, deflated)) => {
            let mut content = Vec::new();
            let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
            let mut decoder = DeflateDecoder::new(deflated).take(limit);
            decoder.read_to_end(&mut content).map_err(|_| Unreadable)?;
            if content.len() > most { Err(Unreadable) } else { Ok(content) }
        }
        _ => Err(Unreadable),
    }
}

pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_only_unchanged_with_its_key_and_as_what_it_is() {
        let (key_box, cipher) = KeyBox::make(&Passphrase::new("correct horse")).unwrap();
        let words = "the same words ".repeat(50);
        let kept = cipher.seal(b"one", words.as_bytes()).unwrap();
        assert!(kept.len() < words.len(), "it is compressed");
        assert!(!kept.windows(4).any(|four| four == b"same"));
        let again = key_box.open(&Passphrase::new("correct horse")).unwrap();
        assert_eq!(again.open(b"one", &kept, 4096).unwrap(), words.as_bytes());
        assert_eq!(again.open(b"two", &kept, 4096), Err(Unreadable));
        assert_eq!(again.open(b"one", &kept, 100), Err(Unreadable), "more than was allowed");
        for at in 0..kept.len() {
            let mut flipped = kept.clone();
            flipped[at] ^= 1;
            assert_eq!(again.open(b"one", &flipped, 4096), Err(Unreadable), "byte {at}");
        }
        assert!(key_box.open(&Passphrase::new("correct horsf")).is_none());
    }

    #[test]
    fn names_of_chunks_tell_nothing_without_the_key() {
        let (_, one) = KeyBox::make(&Passphrase::new("a")).unwrap();
        let (_, two) = KeyBox::make(&Passphrase::new("a")).unwrap();
        let names = [one.name(b"x"), two.name(b"x"), Cipher::plain().name(b"x")];
        assert_eq!(names[2], Hash::of(b"x"));
        assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2]);
        assert_eq!(one.name(b"x"), names[0]);
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = Cipher::plain().seal(b"", &vec![0; 1 << 22]).unwrap();
        assert!(bomb.len() < 1 << 16);
        assert_eq!(Cipher::plain().open(b"", &bomb, 1 << 20), Err(Unreadable));
    }
}
