//! `providers.<name>.credentials`: the identity that this machine uses where no person signs in.

use std::path::PathBuf;

use reqwest::Url;
use serde::Deserialize;

use super::azure::Azure;
use super::google::{DefaultPlaces, Google};
use crate::Secret;
use crate::oauth::resolved_login::is_trusted;

const ENTRA: &str = "https://login.microsoftonline.com";
const METADATA_HOST: &str = "metadata.google.internal";

/// The credential as a person writes it: exactly one of the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CredentialSettings {
    /// `default` for the application default credentials, else a key file of a service account:
    /// `file:/path`, `secret:name` or `env:NAME`.
    pub google: Option<Secret>,
    pub azure: Option<AzureSettings>,
    /// The settings of providers of kind `bedrock`.
    pub aws: Option<AwsSettings>,
}

/// A profile of Amazon's own files, or the keys themselves.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AwsSettings {
    pub profile: Option<String>,
    pub region: Option<String>,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<Secret>,
    pub session_token: Option<Secret>,
}

/// An application that is registered in Microsoft Entra.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AzureSettings {
    pub tenant: String,
    pub client_id: String,
    pub client_secret: Secret,
    /// The address of a national cloud, in place of the public one.
    pub authority: Option<String>,
}

/// A credential whose references are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedCredential {
    Google(Google),
    Azure(Azure),
}

/// Errors of the settings. They contain names only, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CredentialSettingsError {
    #[error("`credentials` needs `google` or `azure`, and only one of them")]
    NotOne,
    #[error("`credentials.azure.{0}` is empty or cannot stand in an address")]
    Azure(&'static str),
    #[error("`credentials.google` is not a key file of Google's: {0}")]
    KeyFile(&'static str),
}

impl ResolvedCredential {
    /// Reads the text of a service account's key file.
    pub(crate) fn google_key(text: Secret) -> Result<Self, CredentialSettingsError> {
        Google::of_key(text).map(Self::Google).map_err(CredentialSettingsError::KeyFile)
    }

    /// The application default credentials, where Google's own programs look for them.
    pub(crate) fn google_default(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = set("CLOUDSDK_CONFIG").map(PathBuf::from);
        let folder =
            folder.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config/gcloud")));
        Self::Google(Google::Default(DefaultPlaces {
            named: set("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from),
            usual: folder.map(|folder| folder.join("application_default_credentials.json")),
            metadata: set("GCE_METADATA_HOST").unwrap_or_else(|| METADATA_HOST.to_owned()),
        }))
    }

    pub(crate) fn azure(
        settings: &AzureSettings,
        secret: Secret,
    ) -> Result<Self, CredentialSettingsError> {
        let is_word = |text: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            !text.is_empty() && text.chars().all(fits)
        };
        if !is_word(&settings.tenant) {
            return Err(CredentialSettingsError::Azure("tenant"));
        }
        if !is_word(&settings.client_id) {
            return Err(CredentialSettingsError::Azure("clientId"));
        }
        let authority = settings.authority.as_deref().unwrap_or(ENTRA).trim_end_matches('/');
        let token = format!("{authority}/{}/oauth2/v2.0/token", settings.tenant);
        let token = Url::parse(&token).ok().filter(is_trusted);
        let token = token.ok_or(CredentialSettingsError::Azure("authority"))?;
        Ok(Self::Azure(Azure { token, client_id: settings.client_id.clone(), secret }))
    }
}
