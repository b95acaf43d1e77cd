//! Providers of kind `bedrock`, in a binary that was built with them.

use onyx_providers::{NamedSource, SecretSource};

use crate::config::Config;

#[cfg(not(feature = "bedrock"))]
pub(super) fn sources(_: &Config, _: &dyn SecretSource) -> Vec<NamedSource> {
    Vec::new()
}

#[cfg(feature = "bedrock")]
pub(super) use with_sdk::sources;

#[cfg(feature = "bedrock")]
mod with_sdk {
    use std::sync::Arc;
    use std::time::Duration;

    use onyx_bedrock::{Bedrock, BedrockKey, BedrockSettings, BedrockTimeouts};
    use onyx_providers::{
        AwsIdentity, AwsSettings, ProviderKind, ProviderSettings, Secret, secret_of,
    };

    use super::{Config, NamedSource, SecretSource};

    pub(in super::super) fn sources(
        config: &Config,
        secrets: &dyn SecretSource,
    ) -> Vec<NamedSource> {
        let is_bedrock = |(name, settings): &&(String, ProviderSettings)| match settings.kind {
            Some(kind) => kind == ProviderKind::Bedrock,
            None => name == "bedrock",
        };
        let source = |(name, settings): &(String, ProviderSettings)| {
            let environment = |variable: &str| config.environment.get(variable);
            let settings = resolve(name, settings, &environment, secrets);
            let source = settings.map(|settings| Arc::new(Bedrock::new(settings)) as _);
            (name.clone(), source)
        };
        config.providers.iter().filter(is_bedrock).map(source).collect()
    }

    fn resolve(
        name: &str,
        settings: &ProviderSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        secrets: &dyn SecretSource,
    ) -> Result<BedrockSettings, String> {
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let endpoint = settings.base_url.clone();
        let own = settings.credentials.as_ref().and_then(|credentials| credentials.aws.clone());
        let own = own.unwrap_or_default();
        let profile = AwsIdentity::of(own.profile.as_deref(), environment);
        let region = own.region.clone().filter(|region| !region.is_empty());
        let region = region
            .or_else(|| endpoint.as_deref().and_then(region_of))
            .or_else(|| variable("AWS_REGION"))
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .or_else(|| profile.as_ref().and_then(AwsIdentity::region));
        let region = region.ok_or(
            "it needs a region: `credentials.aws.region`, `baseUrl: \
             https://bedrock-runtime.<region>.amazonaws.com`, or the environment variable AWS_REGION",
        )?;
        let secret = |field: &str, raw: &Secret| secret_of(field, raw, environment, secrets);
        let key = match &settings.api_key {
            Some(raw) => BedrockKey::Bearer(secret("apiKey", raw)?),
            None => match written(&own, &secret)? {
                Some(pair) => pair,
                None => found(&own, profile, &variable)?,
            },
        };
        let timeouts = timeouts(settings);
        let models = settings.models.clone();
        Ok(BedrockSettings { name: name.to_owned(), region, endpoint, key, models, timeouts })
    }

    /// The credentials in the config.
    fn written(
        own: &AwsSettings,
        secret: &dyn Fn(&str, &Secret) -> Result<Secret, String>,
    ) -> Result<Option<BedrockKey>, String> {
        match (&own.access_key_id, &own.secret_access_key) {
            (Some(access_key), Some(secret_key)) => Ok(Some(BedrockKey::Pair {
                access_key: access_key.clone(),
                secret_key: secret("credentials.aws.secretAccessKey", secret_key)?,
                session_token: match &own.session_token {
                    Some(token) => Some(secret("credentials.aws.sessionToken", token)?),
                    None => None,
                },
            })),
            (None, None) => Ok(None),
            _ => Err("`credentials.aws` needs both `accessKeyId` and `secretAccessKey`".to_owned()),
        }
    }

    /// The credentials of this machine: a named profile, then the environment, then the default
    /// profile.
    fn found(
        own: &AwsSettings,
        profile: Option<AwsIdentity>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<BedrockKey, String> {
        match (&own.profile, profile) {
            (Some(name), Some(profile)) if profile.is_there() => {
                tracing::debug!(name, "a profile of AWS");
                Ok(BedrockKey::Profile(profile))
            }
            (Some(name), _) => Err(format!(
                "there is no AWS profile `{name}`: add it with `aws configure sso --profile {name}`"
            )),
            (None, profile) => pair(variable).or_else(|why| {
                profile.filter(AwsIdentity::is_there).map(BedrockKey::Profile).ok_or(why)
            }),
        }
    }

    fn pair(variable: &dyn Fn(&str) -> Option<String>) -> Result<BedrockKey, String> {
        if let Some(key) = variable("AWS_BEARER_TOKEN_BEDROCK") {
            return Ok(BedrockKey::Bearer(Secret::new(key)));
        }
        match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(access_key), Some(secret_key)) => Ok(BedrockKey::Pair {
                access_key,
                secret_key: Secret::new(secret_key),
                session_token: variable("AWS_SESSION_TOKEN").map(Secret::new),
            }),
            _ => Err("it needs `apiKey` (a Bedrock API key), `credentials.aws`, the environment \
                      variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile of the \
                      AWS command line"
                .to_owned()),
        }
    }

    /// The region in an address of the form `https://bedrock-runtime.<region>.amazonaws.com`.
    fn region_of(base_url: &str) -> Option<String> {
        let (_, after) = base_url.split_once("bedrock-runtime.")?;
        Some(after.split_once('.')?.0.to_owned())
    }

    fn timeouts(settings: &ProviderSettings) -> BedrockTimeouts {
        let usual = BedrockTimeouts::default();
        let own = |own: Option<f64>, usual: Duration| {
            own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(usual)
        };
        let raw = &settings.timeouts;
        BedrockTimeouts {
            connect: own(raw.connect_seconds, usual.connect),
            first_byte: own(raw.first_byte_seconds, usual.first_byte),
            idle: own(raw.idle_seconds, usual.idle),
            total: own(raw.total_seconds, usual.total),
        }
    }
}
