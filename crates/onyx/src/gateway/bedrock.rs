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
    use onyx_providers::{ProviderKind, ProviderSettings, Secret, secret_of};

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
        let region = endpoint
            .as_deref()
            .and_then(region_of)
            .or_else(|| variable("AWS_REGION"))
            .or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.ok_or(
            "it needs a region: `baseUrl: https://bedrock-runtime.<region>.amazonaws.com`, or the \
             environment variable AWS_REGION",
        )?;
        let key = match &settings.api_key {
            Some(raw) => BedrockKey::Bearer(secret_of("apiKey", raw, environment, secrets)?),
            None => pair(&variable)?,
        };
        let timeouts = timeouts(settings);
        let models = settings.models.clone();
        Ok(BedrockSettings { name: name.to_owned(), region, endpoint, key, models, timeouts })
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
            _ => Err("it needs `apiKey` (a Bedrock API key), or the environment variables \
                      AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                .to_owned()),
        }
    }

    /// `https://bedrock-runtime.<region>.amazonaws.com`
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
