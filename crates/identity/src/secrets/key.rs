//! Keys and their places: the keyring of the desktop, or files in a folder outside the home. A
//! key's name says which, so a key is never looked for in the wrong place, and a key that cannot be
//! read is never replaced by a new one.

use std::fmt;
use std::path::PathBuf;

use onyx_types::{ErrorCode, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::folder::KeyFolder;
use super::master::MasterKey;
use crate::keyring::{Keyring, KeyringError};
use crate::random::{self, Secret};

/// The prefix of the names of keys in a keyring. Keys without it are in files.
const IN_KEYRING: &str = "keyring-";
/// The name of the key that is made from the master key.
const OF_MASTER: &str = "master";

pub(super) struct Key {
    pub(super) name: String,
    pub(super) bytes: [u8; 32],
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.name)
    }
}

/// The place of a key.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    Keyring,
    File,
    /// The key is made from the key that all gateways of a server are given.
    MasterKey,
}

impl KeyPlace {
    pub(super) fn of(name: &str) -> Self {
        if name == OF_MASTER {
            Self::MasterKey
        } else if name.starts_with(IN_KEYRING) {
            Self::Keyring
        } else {
            Self::File
        }
    }
}

/// The places where keys are kept.
#[derive(Clone, Debug)]
pub struct Keys {
    folder: KeyFolder,
    keyring: Option<Keyring>,
    master: Option<MasterKey>,
    /// The place where new keys go if possible.
    fresh: KeyPlace,
}

impl Keys {
    /// New keys go into files. `None`: no folder is configured, so nothing can be sealed.
    pub fn in_folder(folder: Option<PathBuf>) -> Self {
        let folder = KeyFolder::at(folder);
        Self { folder, keyring: None, master: None, fresh: KeyPlace::File }
    }

    /// Adds a keyring, in which existing keys are found; the place of new keys does not change.
    #[must_use]
    pub fn and_of(self, keyring: Option<Keyring>) -> Self {
        Self { keyring, ..self }
    }

    /// Prefers the key that all gateways share for sealing new secrets.
    #[must_use]
    pub fn rather_of_master(self, master: Option<MasterKey>) -> Self {
        let fresh = if master.is_some() { KeyPlace::MasterKey } else { self.fresh };
        Self { master, fresh, ..self }
    }

    /// Puts new keys into the keyring, if there is one and it is open.
    #[must_use]
    pub fn rather_in_keyring(self) -> Self {
        Self { fresh: KeyPlace::Keyring, ..self }
    }

    pub(super) async fn load(&self, name: &str) -> Result<Key, Fault> {
        let text = match KeyPlace::of(name) {
            KeyPlace::MasterKey => return self.of_master(),
            KeyPlace::File => self.folder.load(name).await?,
            KeyPlace::Keyring => self.keyring()?.fetch(name).await.map_err(|e| closed(&e))?,
        };
        let bytes = from_hex(text.reveal().trim())
            .ok_or_else(|| lost(&format!("the value stored as `{name}` is not a key")))?;
        Ok(Key { name: name.to_owned(), bytes })
    }

    /// Creates a key, which is durable when this returns: secrets sealed with a lost key are lost.
    pub(super) async fn make(&self) -> Result<Key, Fault> {
        if self.fresh == KeyPlace::MasterKey {
            return self.of_master();
        }
        let (id, bytes) = (to_hex(&random::bytes::<8>()?), random::bytes()?);
        let text = Secret::new(to_hex(&bytes));
        if let (Some(keyring), KeyPlace::Keyring) = (&self.keyring, self.fresh) {
            let name = format!("{IN_KEYRING}{id}");
            match keyring.keep(&name, "Onyx: opens the secrets of a home", &text).await {
                Ok(()) => return Ok(Key { name, bytes }),
                Err(error) => tracing::info!(%error, "the key of the secrets goes into a file"),
            }
        }
        self.folder.keep(&id, &text).await?;
        Ok(Key { name: id, bytes })
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), Fault> {
        match KeyPlace::of(name) {
            // The operator provides the master key and keeps it.
            KeyPlace::MasterKey => Ok(()),
            KeyPlace::File => self.folder.remove(name).await,
            KeyPlace::Keyring => self.keyring()?.remove(name).await.map_err(|e| closed(&e)),
        }
    }

    fn of_master(&self) -> Result<Key, Fault> {
        let master = self.master.as_ref().ok_or_else(|| {
            Fault::new(ErrorCode::KeyUnavailable, "the secret is sealed with the master key")
                .with_hint("Set ONYX_MASTER_KEY to the value that the other gateways use.")
        })?;
        Ok(Key { name: OF_MASTER.to_owned(), bytes: master.derived("onyx: secrets") })
    }

    /// Fails for the master key, which comes from outside and cannot be replaced here.
    pub(super) fn check_rotation(&self) -> Result<(), Fault> {
        if self.fresh != KeyPlace::MasterKey {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::InvalidRequest, "the key of the secrets is ONYX_MASTER_KEY")
            .with_hint("It comes from the environment; Onyx cannot replace it."))
    }

    fn keyring(&self) -> Result<&Keyring, Fault> {
        let none = || closed(&KeyringError::Absent("there is no session bus".to_owned()));
        self.keyring.as_ref().ok_or_else(none)
    }
}

/// The fault of a key that cannot be read now. It may become available later, unless the keyring
/// says that it does not have the key.
fn closed(error: &KeyringError) -> Fault {
    let message = format!("the key is in the keyring: {error}");
    match error {
        KeyringError::NotThere => lost(&message),
        KeyringError::Absent(_) | KeyringError::Locked | KeyringError::Refused(_) => {
            Fault::new(ErrorCode::KeyUnavailable, message)
        }
    }
}

/// The fault for a key that only the owner can bring back.
pub(super) fn lost(message: &str) -> Fault {
    Fault::new(ErrorCode::StorageFailed, message)
        .with_hint("Restore the key, or set the secrets again with `onyx secrets set`.")
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}
