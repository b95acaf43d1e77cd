//! The store of secrets, as providers ask it.

use std::sync::Arc;

use onyx_identity::{Secrets, Token};
use onyx_providers::{Secret, SecretSource};
use onyx_types::Fault;

use crate::config::Config;

pub(crate) struct StoredSecrets(pub(crate) Arc<Secrets>);

impl SecretSource for StoredSecrets {
    fn secret(&self, name: &str) -> Result<Option<Secret>, Fault> {
        Ok(self.0.get(name)?.map(|secret| Secret::new(secret.reveal())))
    }
}

/// Neither a model nor a person is shown the owner's token, what providers are paid with, or
/// anything in the store.
pub(super) fn masked(config: &Config, token: &Token, secrets: &Secrets) -> Vec<String> {
    let stored = secrets.values().into_iter().map(|secret| secret.reveal().to_owned());
    let configured = config.provider_secrets.iter().cloned();
    configured.chain([token.as_str().to_owned()]).chain(stored).collect()
}
