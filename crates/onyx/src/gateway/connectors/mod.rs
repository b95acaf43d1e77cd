//! Creates the connectors of the config and connects them to the agent services (`port.rs`).

mod configured;
mod port;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use onyx_agent::{MailWriter, PeerWriter, Unsent};
use onyx_api::{Dependency, DependencyKind};
use onyx_connectors::{
    AccountState, AccountStatus, CommandPlace, ConnectorSetup, Connectors, Letter, MailError,
    Mailer, ResolvedConnectors, WaitTimes, WeakConnectors,
};
use onyx_egress::{Bounds, Egress, SystemResolver};
use onyx_identity::Secrets;
use onyx_storage::{AccountKey, PeerKey, Store};
use onyx_types::{Clock, ErrorCode, Fault, PersonId};

use crate::config::{Config, ConfigError, Environment};

pub(super) use configured::ConfiguredConnectors;
pub(super) use port::ConnectorsAgent;

/// Creates connectors that are idle until they get settings.
pub(super) fn open(
    store: &Store,
    home: &Path,
    clock: &Arc<dyn Clock>,
    door: ConnectorsAgent,
) -> Connectors {
    Connectors::new(ConnectorSetup {
        ledger: Arc::clone(&store.connectors),
        port: Arc::new(door),
        clock: Arc::clone(clock),
        egress: Egress::new(Arc::new(SystemResolver), Vec::new(), Bounds::default()),
        wait_times: WaitTimes::default(),
        commands: Some(CommandPlace {
            sandbox: super::sandbox(),
            scratch: home.join("cache/scratch"),
        }),
    })
}

/// The accounts of a config, with their tokens resolved.
pub(super) fn resolve(
    config: &Config,
    knows_agent: &dyn Fn(&onyx_types::AgentId) -> bool,
    secrets: &Secrets,
) -> Result<ResolvedConnectors, ConfigError> {
    let look_up = |reference: &str| look_up(reference, &config.environment, secrets);
    let wrong = |fault: Fault| ConfigError::in_section("connectors", &fault);
    let resolved = onyx_connectors::resolve_connectors(
        &config.connectors,
        &config.bindings,
        knows_agent,
        &look_up,
    );
    let resolved = resolved.map_err(wrong)?;
    let resolved = match &config.mail {
        Some(settings) => resolved
            .with_mail(settings, &look_up)
            .map_err(|fault| ConfigError::in_section("mail", &fault))?,
        None => resolved,
    };
    match &config.transcriber {
        Some(settings) => resolved.with_transcriber(settings, &look_up).map_err(wrong),
        None => Ok(resolved),
    }
}

/// Resolves `secret:<name>` and `env:<NAME>`; any other text is the value itself.
pub(super) fn look_up(
    reference: &str,
    environment: &Environment,
    secrets: &Secrets,
) -> Result<Option<String>, Fault> {
    if let Some(name) = reference.strip_prefix("secret:") {
        return Ok(secrets.get(name)?.map(|secret| secret.reveal().to_owned()));
    }
    if let Some(name) = reference.strip_prefix("env:") {
        return Ok(environment.get(name));
    }
    Ok(Some(reference.to_owned()))
}

/// The health of each account. Undelivered messages degrade it until a person decides about them.
pub(super) async fn dependencies(connectors: &Connectors) -> Vec<Dependency> {
    let Ok(accounts) = connectors.list().await else { return Vec::new() };
    accounts.into_iter().map(dependency).collect()
}

fn dependency(status: AccountStatus) -> Dependency {
    let name = DependencyKind::Connector.named(status.key.to_string());
    let detail = status.detail.unwrap_or_default();
    match status.state {
        AccountState::Unusable => Dependency::degraded(name, detail),
        AccountState::Failing => Dependency::degraded(name, detail),
        AccountState::Deaf => {
            let seconds = status.silent_seconds.unwrap_or_default();
            Dependency::degraded(name, format!("no contact for {seconds} s. {detail}"))
        }
        AccountState::Starting | AccountState::Listening | AccountState::Elsewhere
            if status.queues.dead > 0 =>
        {
            let dead = status.queues.dead;
            Dependency::degraded(name, format!("{dead} messages wait for your decision"))
        }
        AccountState::Starting | AccountState::Listening | AccountState::Elsewhere => {
            Dependency::ok(name)
        }
    }
}

/// Jobs write to peers through the connectors' outbox.
pub(super) struct JobPeers(pub(super) WeakConnectors);

impl JobPeers {
    fn connectors(&self) -> Result<Connectors, Fault> {
        self.0.get().ok_or_else(|| Fault::new(ErrorCode::Internal, "The connectors are stopping."))
    }
}

#[async_trait]
impl PeerWriter for JobPeers {
    async fn write(
        &self,
        person: &PersonId,
        address: &str,
        key: &str,
        text: &str,
    ) -> Result<(), Fault> {
        self.connectors()?.deliver(person, &peer_key(address)?, key, text).await
    }

    async fn check(&self, person: &PersonId, address: &str) -> Result<(), Fault> {
        self.connectors()?.check_paired(person, &peer_key(address)?).await
    }
}

fn peer_key(address: &str) -> Result<PeerKey, Fault> {
    let mut pieces = address.splitn(3, '/').map(str::to_owned);
    let (Some(network), Some(account), Some(peer)) = (pieces.next(), pieces.next(), pieces.next())
    else {
        let message = format!("{address:?} does not name a peer.");
        return Err(Fault::new(ErrorCode::InvalidRequest, message));
    };
    Ok(PeerKey { account: AccountKey { network, account }, peer })
}

/// The mailer for jobs.
pub(super) fn job_mail(resolved: &ResolvedConnectors) -> Option<Arc<dyn MailWriter>> {
    resolved.mail.clone().map(|mailer| Arc::new(JobMail(mailer)) as Arc<dyn MailWriter>)
}

struct JobMail(Mailer);

#[async_trait]
impl MailWriter for JobMail {
    fn check(&self, to: &str) -> Result<(), String> {
        self.0.check_recipient(to)
    }

    async fn send(&self, to: &str, key: &str, subject: &str, text: &str) -> Result<(), Unsent> {
        let sent = self.0.send(Letter { to, key, subject, text }).await;
        sent.map_err(|error| Unsent {
            may_go_later: matches!(error, MailError::NotNow(_)),
            why: error.to_string(),
        })
    }
}
