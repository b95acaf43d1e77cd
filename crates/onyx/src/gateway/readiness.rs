//! What Onyx cannot work well without, as `/ready` reports it. The page about health shows it too,
//! with the rest from `health.rs`.

use futures::future::BoxFuture;
use onyx_api::{Dependency, DependencyKind, Gateways, Readiness};
use onyx_knowledge::EmbeddingState;
use onyx_providers::{ProviderHealth, ProviderState, ProviderStatus};
use onyx_types::PersonId;

use super::live::Live;

impl Readiness for Live {
    fn dependencies(&self) -> BoxFuture<'_, Vec<Dependency>> {
        Box::pin(async {
            let (storage, objects) = tokio::join!(storage(self), objects(self));
            let mut all = vec![config(self), storage];
            all.extend(objects);
            all.extend(providers(self));
            all.extend(memory(self));
            all.extend(super::connectors::dependencies(&self.connectors.all).await);
            all
        })
    }

    fn health<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, Vec<Dependency>> {
        Box::pin(async {
            let mut all = self.dependencies().await;
            // Memory is left out here, because the embedder has its own entry.
            all.retain(|dependency| dependency.name != "memory");
            all.extend(self.the_rest(person).await);
            all
        })
    }

    fn gateways(&self) -> &dyn Gateways {
        self
    }
}

async fn storage(live: &Live) -> Dependency {
    let usable = match &live.shared {
        Some(shared) if shared.membership.is_draining() => {
            Err("this gateway is drained; another one answers".to_owned())
        }
        Some(shared) => shared.database.probe(&live.store, &shared.membership).await,
        None => match live.store.ledger.active_runs().await {
            Ok(_) => live.machine.writable.probe(live.home.write_probe()).await,
            Err(error) => Err(error.to_string()),
        },
    };
    match usable {
        Ok(()) => Dependency::ok(DependencyKind::Storage),
        Err(error) => Dependency::down(DependencyKind::Storage, error),
    }
}

/// The object store of server mode. Without it only large contents cannot be read or written, so
/// the gateway stays ready.
async fn objects(live: &Live) -> Option<Dependency> {
    let shared = live.shared.as_ref()?;
    Some(match shared.objects.probe(&shared.membership).await {
        Ok(()) => Dependency::ok(DependencyKind::Objects),
        Err(error) => {
            Dependency::degraded(DependencyKind::Objects, error.to_string()).with_hint(error.hint())
        }
    })
}

fn config(live: &Live) -> Dependency {
    match live.broken() {
        None => Dependency::ok(DependencyKind::Config),
        Some(error) => Dependency::degraded(DependencyKind::Config, error.to_string()),
    }
}

/// The check is reported only when it fails: without an embedder there is nothing to be ready.
fn memory(live: &Live) -> Option<Dependency> {
    match live.index.embedding() {
        EmbeddingState::Ready { .. } | EmbeddingState::Off => None,
        EmbeddingState::Failing { model, reason } => {
            let why = format!("searched by words only: {model}: {reason}");
            Some(Dependency::degraded(DependencyKind::Memory, why))
        }
    }
}

fn providers(live: &Live) -> Vec<Dependency> {
    live.models.get().registry.status().iter().map(provider).collect()
}

fn provider(status: &ProviderStatus) -> Dependency {
    let name = DependencyKind::Provider.named(&status.name);
    match (&status.state, status.health()) {
        (ProviderState::Disabled { reason }, _) => Dependency::degraded(name, reason),
        (ProviderState::Ready { .. }, ProviderHealth::Failing { model, reason, .. }) => {
            Dependency::degraded(name, format!("{model}: {reason}"))
        }
        (ProviderState::Ready { .. }, ProviderHealth::Untried | ProviderHealth::Well) => {
            Dependency::ok(name)
        }
    }
}
