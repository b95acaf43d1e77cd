//! Where backups go: a folder, or an S3 store with the settings of `jobs.backup.s3`, else of `storage.s3`. A home that
//! is not restored yet has no config: then the usual environment variables of S3 programs count.

use std::path::PathBuf;

use onyx_backup::BackupPlace;
use onyx_storage::{ObjectsUrl, S3Settings, ServerError};
use onyx_types::{ErrorCode, Fault};

use super::Config;
use super::storage::{FROM_SECRETS, follow};

const SCHEME: &str = "s3://";

/// Looks up the value of `secret:<name>`.
pub(crate) type SecretOf<'a> = &'a dyn Fn(&str) -> Result<Option<String>, Fault>;

impl Config {
    /// The place with this name; references to keys are resolved.
    pub(crate) fn backup_place(
        &self,
        to: &str,
        secret_of: SecretOf<'_>,
    ) -> Result<BackupPlace, Fault> {
        if !to.starts_with(SCHEME) {
            return folder(to);
        }
        let url = ObjectsUrl::parse(to).map_err(|error| {
            let why = match error {
                ServerError::ObjectsUrl(why) => why,
                other => other.to_string(),
            };
            Fault::new(ErrorCode::InvalidRequest, format!("{to}: {why}"))
                .with_hint("Write it as s3://bucket/prefix.")
        })?;
        let (at, settings) = match self.jobs.backup.as_ref().and_then(|backup| backup.s3.as_ref()) {
            Some(settings) => ("jobs.backup.s3", settings),
            None => ("storage.s3", &self.storage.s3),
        };
        let settings = if *settings == S3Settings::default() {
            self.of_environment().ok_or_else(|| nowhere(to))?
        } else {
            self.reached(at, settings, secret_of)?
        };
        Ok(BackupPlace::Bucket { url, settings })
    }

    /// The settings from the environment; `None` if no variable is set.
    fn of_environment(&self) -> Option<S3Settings> {
        let variable = |name: &str| self.environment.get(name).filter(|text| !text.is_empty());
        let endpoint = variable("AWS_ENDPOINT_URL");
        Some(S3Settings {
            access_key_id: Some(variable("AWS_ACCESS_KEY_ID")?),
            secret_access_key: Some(variable("AWS_SECRET_ACCESS_KEY")?),
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
            path_style: endpoint.is_some(),
            endpoint,
        })
    }

    fn reached(
        &self,
        at: &str,
        settings: &S3Settings,
        secret_of: SecretOf<'_>,
    ) -> Result<S3Settings, Fault> {
        let value = |key: &str, value: &Option<String>| match value {
            None => Ok(None),
            Some(value) => self.value(&format!("{at}.{key}"), value, secret_of).map(Some),
        };
        Ok(S3Settings {
            endpoint: value("endpoint", &settings.endpoint)?,
            region: value("region", &settings.region)?,
            access_key_id: value("accessKeyId", &settings.access_key_id)?,
            secret_access_key: value("secretAccessKey", &settings.secret_access_key)?,
            path_style: settings.path_style,
        })
    }

    fn value(&self, at: &str, value: &str, secret_of: SecretOf<'_>) -> Result<String, Fault> {
        let wrong = |why: String| {
            Fault::new(ErrorCode::InvalidRequest, format!("{at}: {why}"))
                .with_hint("`onyx secrets set <name>` stores a secret.")
        };
        if let Some(name) = value.strip_prefix(FROM_SECRETS) {
            let found = secret_of(name)?.filter(|text| !text.is_empty());
            return found.ok_or_else(|| wrong(format!("{value} is not set")));
        }
        follow(at, value, &self.environment).map_err(|error| wrong(error.to_string()))
    }
}

fn nowhere(to: &str) -> Fault {
    let message = format!("there are no settings for reaching {to}");
    let hint = "Set `jobs.backup.s3` in onyx.json: endpoint, region, accessKeyId and \
                secretAccessKey, the keys as env:NAME, file:/path or secret:<name>. Without a \
                config: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
    Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint)
}

/// Refuses other URLs, which would become folders of that name.
fn folder(to: &str) -> Result<BackupPlace, Fault> {
    if to.contains("://") {
        let message = format!("backups cannot go to {to}");
        let hint = "Name a folder, such as a mounted disk, or s3://bucket/prefix.";
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint));
    }
    Ok(BackupPlace::Folder(PathBuf::from(to)))
}

#[cfg(test)]
mod tests {
    use super::super::{Environment, parse};
    use super::*;

    fn place(text: &str, to: &str) -> Result<BackupPlace, Fault> {
        let secret_of = |name: &str| Ok((name == "key").then(|| "from the store".to_owned()));
        parse(text, Environment::default()).unwrap().backup_place(to, &secret_of)
    }

    fn key_of(place: BackupPlace) -> (Option<String>, Option<String>) {
        match place {
            BackupPlace::Bucket { settings, .. } => {
                (settings.access_key_id, settings.secret_access_key)
            }
            BackupPlace::Folder(path) => panic!("{path:?}"),
        }
    }

    #[test]
    fn a_store_is_reached_as_the_job_says_or_else_as_the_storage_does() {
        let storage = "storage: { s3: { accessKeyId: 'theirs', secretAccessKey: 'x' } }";
        let found = place(&format!("{{ {storage} }}"), "s3://b/p").unwrap();
        assert_eq!(key_of(found), (Some("theirs".into()), Some("x".into())));
        let job = "jobs: { backup: { to: 's3://b', s3: { accessKeyId: 'mine', secretAccessKey: 'secret:key' } } }";
        let found = place(&format!("{{ {storage}, {job} }}"), "s3://b/p").unwrap();
        assert_eq!(key_of(found), (Some("mine".into()), Some("from the store".into())));
        let folder = place("{}", "/mnt/disk").unwrap();
        assert_eq!(folder, BackupPlace::Folder("/mnt/disk".into()));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_do() {
        let job = |key: &str| {
            format!(
                "{{ jobs: {{ backup: {{ to: 's3://b', s3: {{ secretAccessKey: '{key}' }} }} }} }}"
            )
        };
        for (text, to, told, hint) in [
            (
                "{}".to_owned(),
                "s3://b",
                "there are no settings for reaching s3://b",
                "jobs.backup.s3",
            ),
            ("{}".to_owned(), "ftp://b", "backups cannot go to ftp://b", "s3://"),
            ("{}".to_owned(), "s3://a b", "s3://a b", "s3://bucket/prefix"),
            (job("secret:none"), "s3://b", "secret:none is not set", "onyx secrets set"),
            (job("env:ONYX_TEST_NOWHERE"), "s3://b", "ONYX_TEST_NOWHERE is not set", "secrets"),
        ] {
            let fault = place(&text, to).unwrap_err();
            assert!(fault.message.contains(told), "{to}: {fault:?}");
            assert!(fault.hint().contains(hint), "{to}: {fault:?}");
        }
    }
}
