//! The `storage` section, and the keys of `gateway` by which other gateways know this one.

use std::path::Path;

use onyx_storage::{GatewaySettings, S3Settings, ServerError, ServerSettings, StorageSettings};

use super::{Config, ConfigError, Environment};

/// The prefix of references to environment variables.
const FROM_ENVIRONMENT: &str = "env:";
const FROM_FILE: &str = "file:";
/// The prefix of references to secrets. They are refused here, because secrets are in the database,
/// which is not open yet.
pub(super) const FROM_SECRETS: &str = "secret:";
const LONGEST_ID: usize = 64;

impl Config {
    /// The settings of server mode, with all references resolved; `None` for one machine with its own files.
    pub(crate) fn server(&self) -> Result<Option<ServerSettings>, ConfigError> {
        // A missing variable must not turn one of several gateways into a separate server.
        if let Some(missing) = self.missing.iter().find(|missing| missing.at.starts_with("storage"))
        {
            let why = format!("{} is not set", missing.variable);
            return Err(ConfigError::at(missing.at.clone(), why));
        }
        let storage = self.followed()?;
        if storage == StorageSettings::default() {
            return Ok(None);
        }
        let gateway = GatewaySettings::new(
            self.gateway.id.clone().unwrap_or_default(),
            self.gateway.advertise.clone().unwrap_or_default(),
        );
        let server = storage.server(gateway).map_err(|error| config_error(&error))?;
        if let Some(settings) = &server {
            check_gateway(&settings.gateway)?;
        }
        Ok(server)
    }

    /// The secret values of these settings, which the mask removes from texts.
    pub(crate) fn storage_secrets(&self) -> Vec<String> {
        let Ok(storage) = self.followed() else { return Vec::new() };
        let password = storage.database.as_deref().and_then(password_of);
        let backups = self.jobs.backup.as_ref().and_then(|backup| backup.s3.clone());
        let backups =
            backups.and_then(|s3| follow("", &s3.secret_access_key?, &self.environment).ok());
        [storage.database.clone(), password, storage.s3.secret_access_key, backups]
            .into_iter()
            .flatten()
            .collect()
    }

    fn followed(&self) -> Result<StorageSettings, ConfigError> {
        let follow = |at: &str, value: &Option<String>| match value {
            Some(value) => follow(at, value, &self.environment).map(Some),
            None => Ok(None),
        };
        let StorageSettings { database, objects, s3 } = &self.storage;
        Ok(StorageSettings {
            database: follow("storage.database", database)?,
            objects: follow("storage.objects", objects)?,
            s3: S3Settings {
                endpoint: follow("storage.s3.endpoint", &s3.endpoint)?,
                region: follow("storage.s3.region", &s3.region)?,
                access_key_id: follow("storage.s3.accessKeyId", &s3.access_key_id)?,
                secret_access_key: follow("storage.s3.secretAccessKey", &s3.secret_access_key)?,
                path_style: s3.path_style,
            },
        })
    }
}

pub(super) fn follow(
    at: &str,
    value: &str,
    environment: &Environment,
) -> Result<String, ConfigError> {
    if let Some(name) = value.strip_prefix(FROM_ENVIRONMENT) {
        let found = environment.get(name).filter(|value| !value.is_empty());
        return found.ok_or_else(|| ConfigError::at(at, format!("{name} is not set")));
    }
    if let Some(path) = value.strip_prefix(FROM_FILE) {
        return of_file(Path::new(path)).map_err(|why| ConfigError::at(at, why));
    }
    if value.starts_with(FROM_SECRETS) {
        let why = "secrets are stored in this database; give the value as env:NAME or file:/path";
        return Err(ConfigError::at(at, why));
    }
    Ok(value.to_owned())
}

fn of_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let text = text.trim();
    if text.is_empty() { Err(format!("{shown} is empty")) } else { Ok(text.to_owned()) }
}

/// Checks the gateway's name, which occurs in rows, messages and addresses.
fn check_gateway(gateway: &GatewaySettings) -> Result<(), ConfigError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    if gateway.id.is_empty() {
        let why = "each gateway of several needs a name that no other has, such as its host name";
        return Err(ConfigError::at("gateway.id", why));
    }
    if gateway.id.len() > LONGEST_ID || !gateway.id.chars().all(is_plain) {
        let why = "a name has at most 64 letters, digits, dots, hyphens and underscores";
        return Err(ConfigError::at("gateway.id", why));
    }
    let has_scheme = ["http://", "https://"].iter().any(|scheme| gateway.url.starts_with(scheme));
    if !gateway.url.is_empty() && !has_scheme {
        let why = "write it as http://host:port, as the other gateways reach this one";
        return Err(ConfigError::at("gateway.advertise", why));
    }
    Ok(())
}

fn config_error(error: &ServerError) -> ConfigError {
    ConfigError::new(format!("{error}. {}", error.hint()))
}

/// The password in an address, between the user's name and the host.
fn password_of(url: &str) -> Option<String> {
    let (credentials, _) = url.split_once("://")?.1.rsplit_once('@')?;
    let (_, password) = credentials.split_once(':')?;
    Some(password.to_owned()).filter(|password| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{Environment, parse};
    use super::*;

    fn read(text: &str) -> Config {
        parse(text, Environment::default()).unwrap()
    }

    const WHOLE: &str = "{ gateway: { id: 'one', advertise: 'http://10.0.0.1:18790' },
        storage: { database: 'postgres://onyx:hidden@db.example/onyx', objects: 's3://home/x',
                   s3: { accessKeyId: 'id', secretAccessKey: 'hidden-too', pathStyle: true } } }";

    #[test]
    fn one_machine_needs_nothing_and_server_mode_both_places_and_a_name() {
        assert!(read("{}").server().unwrap().is_none());
        assert!(read("{ storage: {} }").server().unwrap().is_none());
        let config = read(WHOLE);
        assert_eq!((config.warnings.clone(), config.missing.clone()), (vec![], vec![]));
        let server = config.server().unwrap().unwrap();
        assert_eq!(
            (server.gateway.id.as_str(), server.gateway.url.as_str()),
            ("one", "http://10.0.0.1:18790")
        );
        assert!(!format!("{config:?}").contains("hidden"), "{config:?}");
        assert_eq!(
            config.storage_secrets(),
            ["postgres://onyx:hidden@db.example/onyx", "hidden", "hidden-too"]
        );
    }

    #[test]
    fn what_is_wrong_is_named_and_no_secret_is_told() {
        for (text, wrong) in [
            (WHOLE.replace("id: 'one', ", ""), "gateway.id"),
            (WHOLE.replace("'one'", "'one/two'"), "gateway.id"),
            (WHOLE.replace("'http://10", "'10"), "gateway.advertise"),
            (WHOLE.replace("objects:", "// objects:"), "storage.objects is missing"),
            (WHOLE.replace("postgres://", "mysql://"), "storage.database is not a PostgreSQL URL"),
            (WHOLE.replace("s3://", "gs://"), "storage.objects is not an S3 URL"),
            (WHOLE.replace("'hidden-too'", "'secret:key'"), "storage.s3.secretAccessKey"),
            (
                WHOLE.replace("'hidden-too'", "'env:ONYX_TEST_NOWHERE'"),
                "ONYX_TEST_NOWHERE is not set",
            ),
            (WHOLE.replace("'hidden-too'", "'file:/nonexistent/key'"), "/nonexistent/key"),
            // A missing variable does not lead to a separate home.
            (
                "{ storage: { database: '${ONYX_TEST_NOWHERE}' } }".to_owned(),
                "ONYX_TEST_NOWHERE is not set",
            ),
        ] {
            let error = read(&text).server().unwrap_err().to_string();
            assert!(error.contains(wrong), "{text}: {error}");
            assert!(!error.contains("hidden"), "{error}");
        }
    }

    #[test]
    fn a_reference_leads_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "from the file\n").unwrap();
        let text = WHOLE.replace("hidden-too", &format!("file:{}", path.display()));
        let server = read(&text).server().unwrap().unwrap();
        assert_eq!(server.s3.secret_access_key.as_deref(), Some("from the file"));
    }
}
