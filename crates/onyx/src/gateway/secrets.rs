//! The store of secrets, as providers ask it.

use std::sync::Arc;

use onyx_identity::{Secrets, Token};
use onyx_providers::{Registry, Secret, SecretSource};
use onyx_types::Fault;

pub(crate) struct StoredSecrets(pub(crate) Arc<Secrets>);

impl SecretSource for StoredSecrets {
    fn secret(&self, name: &str) -> Result<Option<Secret>, Fault> {
        Ok(self.0.get(name)?.map(|secret| Secret::new(secret.reveal())))
    }
}

/// Neither a model nor a person is shown the owner's token, what providers are paid with, or
/// anything in the store.
pub(super) fn masked(registry: &Registry, token: &Token, secrets: &Secrets) -> Vec<String> {
    let stored = secrets.values().into_iter().map(|secret| secret.reveal().to_owned());
    let in_use = registry.secrets().map(|secret| secret.reveal().to_owned());
    in_use.chain([token.as_str().to_owned()]).chain(stored).collect()
}
