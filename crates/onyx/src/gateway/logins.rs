//! Sign-ins to providers: where their tokens are kept, and how the API shows them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt};
use onyx_api::{FoundProviderView, LoginBegun, LoginView, QuotaView};
use onyx_identity::Secrets;
use onyx_mcp::oauth::TokenKeeper;
use onyx_providers::{
    LocalServer, LoginState, LoginStatus, LoginWay, Pending, Secret, SharedSignIns, TokenStore,
};
use onyx_tools::Masker;
use onyx_types::Fault;
use serde_json::Value;

use super::cluster::SharedLogins;

/// How long the browser of a sign-in at an MCP server may be away.
const BROWSER_LIFE: Duration = Duration::from_secs(15 * 60);

/// The store of secrets, and the mask that hides tokens in all texts.
pub(crate) struct KeptTokens {
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) masker: Masker,
    /// Where several gateways keep tokens.
    pub(crate) shared: Option<Arc<SharedLogins>>,
}

impl TokenStore for KeptTokens {
    fn load(&self, provider: &str) -> Result<Option<Secret>, Fault> {
        Ok(self.secrets.sign_in(provider)?.map(|tokens| Secret::new(tokens.reveal())))
    }

    fn keep<'a>(
        &'a self,
        provider: &'a str,
        tokens: &'a Secret,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.secrets.set_sign_in(provider, tokens.reveal()).boxed()
    }

    fn forget<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        self.secrets.remove_sign_in(provider).boxed()
    }

    fn shared(&self) -> Option<&dyn SharedSignIns> {
        self.shared.as_deref().map(|shared| shared as &dyn SharedSignIns)
    }

    fn hide(&self, fresh: &Secret, gone: Option<&Secret>) {
        self.masker.add([fresh.reveal().to_owned()]);
        if let Some(gone) = gone {
            self.masker.forget(gone.reveal());
        }
    }
}

/// Sign-ins to MCP servers are stored beside those to providers, under names that no provider has.
#[async_trait]
impl TokenKeeper for KeptTokens {
    fn load(&self, server: &str) -> Result<Option<String>, Fault> {
        let stored = self.secrets.sign_in(&shelf(server))?;
        let stored = stored.map(|record| record.reveal().to_owned());
        stored.iter().for_each(|record| self.mask(record));
        Ok(stored)
    }

    async fn keep(&self, server: &str, record: &str) -> Result<(), Fault> {
        self.mask(record);
        self.secrets.set_sign_in(&shelf(server), record).await
    }

    async fn forget(&self, server: &str) -> Result<(), Fault> {
        self.secrets.remove_sign_in(&shelf(server)).await
    }

    fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    async fn turn(&self, server: &str) -> Result<Option<Box<dyn Send + Sync>>, Fault> {
        let Some(shared) = &self.shared else { return Ok(None) };
        Ok(Some(Box::new(shared.turn(&shelf(server)).await?)))
    }

    async fn put_attempt(&self, state: &str, attempt: &str) -> Result<(), Fault> {
        match &self.shared {
            Some(shared) => shared.wait(state, attempt, BROWSER_LIFE).await,
            None => Ok(()),
        }
    }

    async fn take_attempt(&self, state: &str) -> Result<Option<String>, Fault> {
        match &self.shared {
            Some(shared) => shared.waited(state).await,
            None => Ok(None),
        }
    }
}

impl KeptTokens {
    /// No text that leaves the gateway shows a token.
    fn mask(&self, record: &str) {
        let record: Value = serde_json::from_str(record).unwrap_or_default();
        let tokens = ["access", "refresh"].iter().filter_map(|name| record[*name].as_str());
        self.masker.add(tokens.map(str::to_owned).collect::<Vec<_>>());
    }
}

fn shelf(server: &str) -> String {
    format!("mcp.{server}")
}

pub(super) fn view(status: LoginStatus) -> LoginView {
    let LoginStatus { state, account, pending, error, until, ways, quota } = status;
    let (user_code, verification_uri, expires_at) = match pending {
        Some(pending) => {
            (pending.user_code, Some(pending.verification_uri), Some(pending.expires_at))
        }
        None => (None, None, None),
    };
    LoginView {
        state: state.as_str(),
        account,
        user_code,
        verification_uri,
        expires_at,
        error,
        until,
        ways: ways.into_iter().map(LoginWay::as_str).collect(),
        quota: quota.map(|quota| QuotaView {
            limit: quota.limit,
            used_percent: quota.used_percent,
            resets_at: quota.resets_at,
        }),
    }
}

pub(super) fn begun(pending: Pending) -> LoginBegun {
    LoginBegun {
        state: LoginState::Waiting.as_str(),
        way: pending.way.as_str(),
        user_code: pending.user_code,
        verification_uri: pending.verification_uri,
        verification_uri_complete: pending.verification_uri_complete,
        expires_at: pending.expires_at,
    }
}

pub(super) fn found(found: LocalServer) -> FoundProviderView {
    FoundProviderView {
        answers_with: found.answers_with().map(ToOwned::to_owned),
        name: found.name,
        base_url: found.base_url,
        models: found.models,
        latency_ms: u64::try_from(found.latency.as_millis()).unwrap_or(u64::MAX),
    }
}
