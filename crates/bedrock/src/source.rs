//! Bedrock as a source of models.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::future::ProvideCredentials as ProvideFuture;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::config::{
    BehaviorVersion, Config, Region, StalledStreamProtectionConfig, Token,
};
use aws_smithy_http_client::tls::{Provider as Tls, rustls_provider::CryptoMode};
use futures::stream::{BoxStream, StreamExt, once};
use onyx_providers::wire::{ToolNames, failure};
use onyx_providers::{AwsIdentity, Locality, ModelSettings, ModelSource, ProviderKind, Secret};
use onyx_types::{Cancel, Fault, Model, ModelEvent, ModelFailureClass, ModelRequest, Timestamp};

use crate::call;
use crate::encode::{check, encode};

#[derive(Clone, Debug)]
pub struct BedrockSettings {
    /// The provider's name, the first part of its models' ids.
    pub name: String,
    pub region: String,
    /// The address that replaces the region's own.
    pub endpoint: Option<String>,
    pub key: BedrockKey,
    pub models: Vec<ModelSettings>,
    pub timeouts: BedrockTimeouts,
}

/// The credential of an account.
#[derive(Clone, Debug)]
pub enum BedrockKey {
    Pair {
        access_key: String,
        secret_key: Secret,
        session_token: Option<Secret>,
    },
    /// A Bedrock API key.
    Bearer(Secret),
    /// A profile of Amazon's own files. Its keys are read when they are needed.
    Profile(AwsIdentity),
}

impl BedrockKey {
    fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Pair { secret_key, session_token, .. } => {
                std::iter::once(secret_key.clone()).chain(session_token.clone()).collect()
            }
            Self::Bearer(key) => vec![key.clone()],
            // The keys of a profile change, and only Amazon's client holds them.
            Self::Profile(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BedrockTimeouts {
    pub connect: Duration,
    /// The longest time from sending the request to the first event of its answer.
    pub first_byte: Duration,
    /// The longest time between two events.
    pub idle: Duration,
    pub total: Duration,
}

impl Default for BedrockTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(180),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(600),
        }
    }
}

/// One account in one region.
pub struct Bedrock {
    settings: BedrockSettings,
    secrets: Vec<Secret>,
    client: Client,
}

impl Bedrock {
    pub fn new(settings: BedrockSettings) -> Self {
        let client = Client::from_conf(config(&settings));
        let secrets = settings.key.secrets();
        Self { settings, secrets, client }
    }
}

impl fmt::Debug for Bedrock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bedrock").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl ModelSource for Bedrock {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Bedrock
    }

    fn locality(&self) -> Locality {
        Locality::Hosted
    }

    fn place(&self) -> String {
        let usual = || format!("bedrock-runtime.{}.amazonaws.com", self.settings.region);
        self.settings.endpoint.clone().unwrap_or_else(usual)
    }

    fn models(&self) -> Vec<ModelSettings> {
        self.settings.models.clone()
    }

    fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        let known = self.settings.models.iter().find(|known| known.id == name);
        Ok(Arc::new(BedrockModel {
            id: format!("{}/{name}", self.settings.name),
            model: name.to_owned(),
            context_window: known.and_then(|known| known.facts.context_window),
            max_output_tokens: known.and_then(|known| known.facts.max_output_tokens),
            client: self.client.clone(),
            timeouts: self.settings.timeouts,
        }))
    }
}

#[derive(Debug)]
struct BedrockModel {
    id: String,
    /// The id of a model or of an inference profile, or an ARN.
    model: String,
    context_window: Option<u32>,
    max_output_tokens: Option<u32>,
    client: Client,
    timeouts: BedrockTimeouts,
}

impl Model for BedrockModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn context_window(&self) -> Option<u32> {
        self.context_window
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        if let Err(failure) = check(&request) {
            return once(async { ModelEvent::Failed(failure) }).boxed();
        }
        let call = self.client.converse_stream().model_id(&self.model);
        match encode(call, &request, &self.id, self.max_output_tokens) {
            Ok(call) => call::events(call, ToolNames::of(&request.tools), self.timeouts, cancel),
            Err(error) => {
                let failed = failure(ModelFailureClass::InvalidRequest, error.to_string());
                once(async { ModelEvent::Failed(failed) }).boxed()
            }
        }
    }
}

/// Reads keys from the files of a profile; the client keeps them until they expire.
#[derive(Debug)]
struct Profile(AwsIdentity);

impl ProvideCredentials for Profile {
    fn provide_credentials<'a>(&'a self) -> ProvideFuture<'a>
    where
        Self: 'a,
    {
        ProvideFuture::new(async {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
            let keys = self.0.keys(now).await.map_err(CredentialsError::not_loaded)?;
            let token = keys.session_token.map(|token| token.reveal().to_owned());
            let until = keys.expires_at.and_then(|at| u64::try_from(at.as_millis()).ok());
            let until = until.map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
            let secret = keys.secret_key.reveal();
            Ok(Credentials::new(keys.access_key, secret, token, until, "onyx"))
        })
    }
}

fn config(settings: &BedrockSettings) -> Config {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(Tls::Rustls(CryptoMode::AwsLc))
        .build_https();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(settings.region.clone()))
        .http_client(http)
        // Onyx does retries and deadlines itself, in the same way for every provider.
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().connect_timeout(settings.timeouts.connect).build())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    let config = match &settings.endpoint {
        Some(endpoint) => config.endpoint_url(endpoint),
        None => config,
    };
    match &settings.key {
        BedrockKey::Pair { access_key, secret_key, session_token } => {
            let token = session_token.as_ref().map(|token| token.reveal().to_owned());
            let secret = secret_key.reveal();
            config.credentials_provider(Credentials::new(access_key, secret, token, None, "onyx"))
        }
        BedrockKey::Bearer(key) => config.token_provider(Token::new(key.reveal(), None)),
        BedrockKey::Profile(identity) => config.credentials_provider(Profile(identity.clone())),
    }
    .build()
}
