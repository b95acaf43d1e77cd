//! The store of secrets: where its keys are, and how providers read it.

use std::sync::Arc;

use onyx_identity::{Keyring, Keys, MasterKey, Secrets, Token};
use onyx_providers::{Registry, Secret, SecretSource};
use onyx_tools::{Masker, OpenSecret};
use onyx_types::Fault;

use crate::env;

pub(crate) struct StoredSecrets(pub(crate) Arc<Secrets>);

impl SecretSource for StoredSecrets {
    fn secret(&self, name: &str) -> Result<Option<Secret>, Fault> {
        Ok(self.0.get(name)?.map(|secret| Secret::new(secret.reveal())))
    }
}

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

/// Masks what models and people must not see: the owner's token, the providers' keys, and
/// everything in the store of secrets.
pub(super) fn mask(masker: &Masker, registry: &Registry, token: &Token, secrets: &Secrets) {
    let in_use = registry.secrets().map(|secret| secret.reveal().to_owned());
    masker.add(in_use.chain([token.as_str().to_owned()]));
    mask_stored(masker, secrets);
}

pub(super) fn mask_stored(masker: &Masker, secrets: &Secrets) {
    for secret in secrets.values() {
        masker.add_stored(secret.reveal());
    }
}
