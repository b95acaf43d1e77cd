//! The store of secrets: where its keys are, and how providers read it.

use std::sync::Arc;

use onyx_identity::{Keyring, Keys, MasterKey, Secrets, Token};
use onyx_providers::{Registry, Secret, SecretSource};
use onyx_tools::OpenSecret;
use onyx_types::Fault;

use crate::env;

pub(crate) struct StoredSecrets(pub(crate) Arc<Secrets>);

impl SecretSource for StoredSecrets {
    fn secret(&self, name: &str) -> Result<Option<Secret>, Fault> {
        Ok(self.0.get(name)?.map(|secret| Secret::new(secret.reveal())))
    }
}

/// The shortest line of a key file that is masked. A shorter one could occur in any text.
const SHORTEST_LINE: usize = 12;

/// Resolves secrets for tools that get the name of one.
pub(super) fn opener(secrets: &Arc<Secrets>) -> OpenSecret {
    let secrets = Arc::clone(secrets);
    Arc::new(move |name| Ok(secrets.get(name)?.map(|secret| secret.reveal().to_owned())))
}

/// The places of the keys: a master key if gateways share secrets, else a configured folder, else
/// the desktop's keyring if there is one.
pub(crate) fn secret_keys(master: Option<MasterKey>) -> Keys {
    let keyring = env::session_bus().map(Keyring::on_bus);
    let keys = match env::chosen_key_folder() {
        Some(folder) => Keys::in_folder(Some(folder)).and_of(keyring),
        None => Keys::in_folder(env::usual_key_folder()).and_of(keyring).rather_in_keyring(),
    };
    keys.rather_of_master(master)
}

/// The texts to mask: models and people must not see the owner's token, the providers' keys, or
/// anything in the store of secrets.
pub(super) fn masked(registry: &Registry, token: &Token, secrets: &Secrets) -> Vec<String> {
    let stored = secrets.values();
    let stored = stored.iter().flat_map(|secret| parts_of(secret.reveal()));
    let in_use = registry.secrets().map(|secret| secret.reveal().to_owned());
    in_use.chain([token.as_str().to_owned()]).chain(stored).collect()
}

/// The secret and each line of it, because key files are printed line by line.
fn parts_of(secret: &str) -> impl Iterator<Item = String> {
    let is_key = |line: &&str| line.len() >= SHORTEST_LINE && !line.starts_with("-----");
    let lines = secret.lines().filter(is_key).filter(move |line| *line != secret);
    std::iter::once(secret).chain(lines).map(str::to_owned)
}
