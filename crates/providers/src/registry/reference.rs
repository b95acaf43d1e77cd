//! Secret references: `${NAME}`, `env:NAME`, `file:/path`, `secret:name`. Each is looked up once,
//! when the config is resolved; its value is sent only to its provider's address.

use std::io::Read;

use onyx_types::Fault;

use super::resolve::Disabled;
use crate::Secret;

/// A key is a single line, so a longer file is no key.
const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// The store in which `secret:<name>` is looked up.
pub trait SecretSource: Send + Sync {
    /// `None` when there is no secret of this name.
    fn secret(&self, name: &str) -> Result<Option<Secret>, Fault>;
}

/// An empty store of secrets: every name is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn secret(&self, _: &str) -> Result<Option<Secret>, Fault> {
        Ok(None)
    }
}

/// The secret that a field of the config names or holds, for sources that read their own settings,
/// or why it cannot be resolved.
pub fn secret_of(
    field: &str,
    raw: &Secret,
    environment: Environment<'_>,
    secrets: &dyn SecretSource,
) -> Result<Secret, String> {
    References { environment, secrets }.secret(field, raw).map_err(|reason| reason.to_string())
}

/// Looks up a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// All places that a reference can name.
#[derive(Clone, Copy)]
pub(super) struct References<'a> {
    pub(super) environment: Environment<'a>,
    pub(super) secrets: &'a dyn SecretSource,
}

impl References<'_> {
    /// The secret that a field of the config names or holds.
    pub(super) fn secret(&self, field: &str, raw: &Secret) -> Result<Secret, Disabled> {
        let text = raw.reveal();
        if let Some(variable) = text.strip_prefix("env:") {
            return self.variable(variable).map(Secret::new);
        }
        if let Some(path) = text.strip_prefix("file:") {
            return file(field, path);
        }
        if let Some(name) = text.strip_prefix("secret:") {
            return match self.secrets.secret(name) {
                Ok(Some(secret)) => Ok(secret),
                Ok(None) => Err(Disabled::NoSecret(name.to_owned())),
                Err(fault) => Err(Disabled::SecretStore(fault.message)),
            };
        }
        // If this prefix were not refused, the reference itself would be sent to the provider as
        // the key.
        if text.starts_with("vaultwarden:") {
            return Err(Disabled::SecretReference(field.to_owned()));
        }
        self.expand(field, text).map(Secret::new)
    }

    /// Replaces each `${NAME}`.
    pub(super) fn expand(&self, field: &str, text: &str) -> Result<String, Disabled> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (variable, after) =
                after.split_once('}').ok_or_else(|| Disabled::Reference(field.to_owned()))?;
            expanded.push_str(before);
            expanded.push_str(&self.variable(variable)?);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    /// An empty variable counts as missing, because an empty key is a mistake.
    fn variable(&self, variable: &str) -> Result<String, Disabled> {
        (self.environment)(variable)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| Disabled::MissingVariable(variable.to_owned()))
    }
}

fn file(field: &str, path: &str) -> Result<Secret, Disabled> {
    let unreadable = |why: String| Disabled::SecretFile { field: field.to_owned(), why };
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(unreadable(error.to_string())),
        Ok(_) if text.len() as u64 > MAX_SECRET_BYTES => {
            Err(unreadable(format!("it is longer than {MAX_SECRET_BYTES} bytes")))
        }
        // Editors end a file with a line end, which is not part of the key.
        Ok(_) => match text.trim() {
            "" => Err(unreadable("it is empty".to_owned())),
            key => Ok(Secret::new(key)),
        },
    }
}
