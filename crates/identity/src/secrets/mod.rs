//! The store of secrets: they are sealed in the database, and opened with a key outside the home.

mod folder;
mod in_text;
mod key;
mod master;
mod seal;
mod sealer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use onyx_storage::{SealedSecret, SealedSecrets, SecretId, StoreError};
use onyx_types::{Clock, ErrorCode, Fault, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::people::OWNER;
use crate::random::Secret;
use key::Key;

pub use in_text::{UnknownKey, redacted, restored};
pub use key::{KeyPlace, Keys};
pub use master::MasterKey;
pub use sealer::Sealer;

/// The group of secrets that the config's `secret:<name>` refers to.
const HOME: &str = "home";
/// The group of tokens of sign-ins at providers: no reference leads to them, and no list shows
/// them.
const SIGN_INS: &str = "sign-in";
const LONGEST_NAME: usize = 64;
const LONGEST_VALUE: usize = 16 * 1024;
/// The beginning of a file with a private key.
const KEY_FILE: &str = "-----BEGIN ";

pub struct Secrets {
    store: Arc<dyn SealedSecrets>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    opened: RwLock<BTreeMap<SecretId, OpenedSecret>>,
    changing: tokio::sync::Mutex<()>,
    changed: tokio::sync::Notify,
}

/// A row, and the secret sealed in it.
type RowWithSecret = (SealedSecret, Secret);

struct OpenedSecret {
    row: SealedSecret,
    value: Result<Secret, Fault>,
}

/// A secret as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretView {
    pub name: String,
    /// A shortened value, just enough to recognise the secret.
    pub hint: String,
    pub updated_at: Timestamp,
    /// The place of the key that opens the secret.
    pub key: KeyPlace,
    /// Why the secret cannot be used, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Opens the store. A secret that cannot be opened (its key is gone) is listed with the reason.
    pub async fn open(
        store: Arc<dyn SealedSecrets>,
        clock: Arc<dyn Clock>,
        keys: Keys,
    ) -> Result<Self, Fault> {
        let mut opened = BTreeMap::new();
        let rows = store.secrets().await?;
        for (row, value) in open_all(&keys, rows).await {
            if let Err(fault) = &value {
                tracing::warn!(name = row.id.name, error = %fault, "a secret cannot be opened");
            }
            opened.insert(row.id.clone(), OpenedSecret { row, value });
        }
        Ok(Self {
            store,
            clock,
            keys,
            opened: RwLock::new(opened),
            changing: tokio::sync::Mutex::default(),
            changed: tokio::sync::Notify::new(),
        })
    }

    /// The value of the config's `secret:<name>`.
    pub fn get(&self, name: &str) -> Result<Option<Secret>, Fault> {
        self.opened_at(&shelf_id(HOME, name)?)
    }

    fn opened_at(&self, id: &SecretId) -> Result<Option<Secret>, Fault> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.get(id).map(|secret| secret.value.clone()).transpose()
    }

    pub fn list(&self) -> Vec<SecretView> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened
            .values()
            .filter(|secret| secret.row.id.provider == HOME)
            .map(OpenedSecret::view)
            .collect()
    }

    /// Waits for a change. Only one reader may wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// All values, so that they can be masked in texts.
    pub fn values(&self) -> Vec<Secret> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.values().filter_map(|secret| secret.value.clone().ok()).collect()
    }

    /// Reads all secrets again after another gateway changed something.
    pub async fn refresh(&self) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        let rows = open_all(&self.keys, self.store.secrets().await?).await;
        let fresh: BTreeMap<_, _> = rows
            .into_iter()
            .map(|(row, value)| (row.id.clone(), OpenedSecret { row, value }))
            .collect();
        let before = std::mem::replace(
            &mut *self.opened.write().unwrap_or_else(PoisonError::into_inner),
            fresh,
        );
        // Tokens of sign-ins do not count as a change: no config names them.
        let is_other = {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            of_home(&before).ne(of_home(&opened))
        };
        if is_other {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Tries again to read keys that were locked: a person may have opened their keyring since.
    pub async fn reopen(&self) {
        let _order = self.changing.lock().await;
        self.look_again().await;
    }

    pub async fn set(&self, name: &str, value: &str) -> Result<(), Fault> {
        self.seal(shelf_id(HOME, name)?, value).await?;
        self.changed.notify_one();
        Ok(())
    }

    /// The tokens of a sign-in to a provider.
    pub fn sign_in(&self, provider: &str) -> Result<Option<Secret>, Fault> {
        self.opened_at(&shelf_id(SIGN_INS, provider)?)
    }

    /// Stores tokens of a sign-in without reporting a change: no config names them.
    pub async fn set_sign_in(&self, provider: &str, tokens: &str) -> Result<(), Fault> {
        self.seal(shelf_id(SIGN_INS, provider)?, tokens).await
    }

    /// Removes the tokens of a sign-in; a missing one is no error.
    pub async fn remove_sign_in(&self, provider: &str) -> Result<(), Fault> {
        // An invalid name has no stored tokens.
        let Ok(id) = shelf_id(SIGN_INS, provider) else { return Ok(()) };
        let _order = self.changing.lock().await;
        match self.store.remove_secret(&id).await {
            Ok(()) | Err(StoreError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
        self.opened.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        Ok(())
    }

    async fn seal(&self, id: SecretId, value: &str) -> Result<(), Fault> {
        // Only a key file has several lines; in another value they are a mistake, or an attempt to
        // inject a header.
        let has_lines = value.contains('\n') && !value.starts_with(KEY_FILE);
        if value.is_empty() || value.len() > LONGEST_VALUE || has_lines || value.contains('\0') {
            let message = format!(
                "value: it must be one line of 1 to {LONGEST_VALUE} bytes, or a key file that begins \
                 with {KEY_FILE}"
            );
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        let _order = self.changing.lock().await;
        self.look_again().await;
        let key = match (self.current_key(), self.locked_away()) {
            (Some(name), _) => self.keys.load(&name).await?,
            // If the existing key is only unavailable for now, a second key would hide that.
            (None, Some(fault)) => return Err(fault),
            (None, None) => self.keys.make().await?,
        };
        let value = Secret::new(value);
        let row = seal::seal(&key, id, &value, self.clock.wall())?;
        self.keep(vec![(row, value)]).await
    }

    pub async fn remove(&self, name: &str) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        let id = shelf_id(HOME, name)?;
        self.store.remove_secret(&id).await.map_err(|error| match error {
            StoreError::NotFound => {
                Fault::new(ErrorCode::NotFound, format!("there is no secret `{name}`"))
            }
            other => other.into(),
        })?;
        self.opened.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.changed.notify_one();
        Ok(())
    }

    /// Seals all secrets again under a new key and deletes the old keys. Returns the number of
    /// secrets.
    pub async fn rotate(&self) -> Result<usize, Fault> {
        self.keys.check_rotation()?;
        let _order = self.changing.lock().await;
        self.look_again().await;
        if self.current_key().is_none() {
            return self.locked_away().map_or(Ok(0), Err);
        }
        let key = self.keys.make().await?;
        let (resealed, old) = self.reseal(&key)?;
        let count = resealed.len();
        // Until the new rows are stored, every row still names the key that opens it.
        self.keep(resealed).await?;
        self.changed.notify_one();
        for name in old {
            self.keys.remove(&name).await?;
        }
        Ok(count)
    }

    /// The rows under the new key, and the names of the keys that are no longer needed.
    fn reseal(&self, key: &Key) -> Result<(Vec<RowWithSecret>, Vec<String>), Fault> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let (mut rows, mut old) = (Vec::new(), Vec::new());
        for secret in opened.values() {
            // A secret that cannot be opened now keeps its own key, which may come back.
            let Ok(value) = &secret.value else { continue };
            let id = secret.row.id.clone();
            rows.push((seal::seal(key, id, value, secret.row.updated_at)?, value.clone()));
            old.push(secret.row.key.clone());
        }
        old.sort();
        old.dedup();
        let still_named = |name: &String| {
            opened.values().any(|secret| secret.value.is_err() && secret.row.key == *name)
        };
        old.retain(|name| !still_named(name));
        Ok((rows, old))
    }

    /// All secrets sealed again with the keys of another place, to move them there. Fails if a
    /// secret cannot be opened, because it would be lost.
    pub async fn sealed_for(&self, keys: &Keys) -> Result<Vec<SealedSecret>, Fault> {
        let _order = self.changing.lock().await;
        self.look_again().await;
        let is_empty = self.opened.read().unwrap_or_else(PoisonError::into_inner).is_empty();
        if is_empty {
            return Ok(Vec::new());
        }
        let key = keys.make().await?;
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let mut rows = Vec::with_capacity(opened.len());
        for secret in opened.values() {
            let value = secret.value.as_ref().map_err(|fault| {
                let message = format!("the secret `{}`: {}", secret.row.id.name, fault.message);
                Fault::new(fault.code, message)
                    .with_hint("Restore its key, or remove the secret with `onyx secrets remove`.")
            })?;
            rows.push(seal::seal(&key, secret.row.id.clone(), value, secret.row.updated_at)?);
        }
        Ok(rows)
    }

    async fn keep(&self, rows: Vec<RowWithSecret>) -> Result<(), Fault> {
        self.store.put_secrets(rows.iter().map(|(row, _)| row.clone()).collect()).await?;
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        for (row, value) in rows {
            opened.insert(row.id.clone(), OpenedSecret { row, value: Ok(value) });
        }
        Ok(())
    }

    async fn look_again(&self) {
        let away: Vec<SealedSecret> = {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            opened.values().filter(|at| at.is_locked_away()).map(|at| at.row.clone()).collect()
        };
        if away.is_empty() {
            return;
        }
        let found = open_all(&self.keys, away).await;
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        for (row, value) in found {
            opened.insert(row.id.clone(), OpenedSecret { row, value });
        }
        self.changed.notify_one();
    }

    /// The fault of a key that exists but cannot be read now.
    fn locked_away(&self) -> Option<Fault> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.values().find(|at| at.is_locked_away()).and_then(|at| at.value.clone().err())
    }

    /// The key of any secret that can be opened: all secrets have the same key, except those whose
    /// key is lost.
    fn current_key(&self) -> Option<String> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.values().find(|secret| secret.value.is_ok()).map(|secret| secret.row.key.clone())
    }
}

/// Opens all secrets. Each key is read once, even if it opens many of them.
async fn open_all(
    keys: &Keys,
    rows: Vec<SealedSecret>,
) -> Vec<(SealedSecret, Result<Secret, Fault>)> {
    let mut loaded: BTreeMap<String, Result<Key, Fault>> = BTreeMap::new();
    let mut all = Vec::new();
    for row in rows {
        if !loaded.contains_key(&row.key) {
            loaded.insert(row.key.clone(), keys.load(&row.key).await);
        }
        let value = match &loaded[&row.key] {
            Ok(key) => seal::open(key, &row),
            Err(fault) => Err(fault.clone()),
        };
        all.push((row, value));
    }
    all
}

impl OpenedSecret {
    /// Whether the secret's key exists but cannot be read now.
    fn is_locked_away(&self) -> bool {
        self.value.as_ref().is_err_and(|fault| fault.code == ErrorCode::KeyUnavailable)
    }

    fn view(&self) -> SecretView {
        SecretView {
            name: self.row.id.name.clone(),
            hint: self.value.as_ref().map_or_else(|_| "…".to_owned(), |value| hint(value.reveal())),
            updated_at: self.row.updated_at,
            key: KeyPlace::of(&self.row.key),
            error: self.value.as_ref().err().map(|fault| fault.message.clone()),
        }
    }
}

fn of_home(opened: &BTreeMap<SecretId, OpenedSecret>) -> impl Iterator<Item = &SealedSecret> {
    opened.values().map(|secret| &secret.row).filter(|row| row.id.provider == HOME)
}

/// The home's secrets are stored under the first owner's name, even if the owner changes.
fn shelf_id(shelf: &str, name: &str) -> Result<SecretId, Fault> {
    let is_name = (1..=LONGEST_NAME).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if !is_name {
        let message = format!("name: use 1 to {LONGEST_NAME} of letters, digits, `-`, `_` and `.`");
        return Err(Fault::new(ErrorCode::InvalidRequest, message));
    }
    Ok(SecretId { person: OWNER.parse()?, provider: shelf.to_owned(), name: name.to_owned() })
}

/// Shortens a value to `sk-or-…xyz`; a short value is not shown at all.
fn hint(value: &str) -> String {
    const SHORT: usize = 20;
    let characters: Vec<char> = value.chars().collect();
    if characters.len() < SHORT {
        return "…".to_owned();
    }
    let (start, end) = (&characters[..6], &characters[characters.len() - 3..]);
    start.iter().chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a_hint_shows_the_ends_of_long_values_only() {
        assert_eq!(hint("sk-or-v1-0123456789abcxyz"), "sk-or-…xyz");
        assert_eq!(hint("hunter2"), "…");
        assert_eq!(hint(&"é".repeat(20)), format!("{}…{}", "é".repeat(6), "é".repeat(3)));
    }
}
