//! A test of one provider: does it respond, does it accept the key, which models does it have?

use std::sync::Arc;

use onyx_types::{Clock, Fault};

use super::catalogue::Catalogue;
use super::check::{self, ProviderProblem, ProviderTest};
use super::error::RegistryError;
use super::listing::{self, ListedModel};
use super::provider::Provider;

/// Lists a provider's models, and explains what is wrong if it does not answer.
pub(super) async fn probe(
    catalogue: &Catalogue,
    clock: &Arc<dyn Clock>,
    name: &str,
) -> ProviderTest {
    if let Some(sourced) = catalogue.sourced(name) {
        return match sourced.check().await {
            Err(fault) => check::unusable(name, fault),
            Ok(()) => check::sourced(&sourced.status(clock.now().mono)),
        };
    }
    match catalogue.provider(name) {
        Ok(provider) => ask(&provider, clock, name).await,
        Err(RegistryError::Disabled { reason, .. }) => check::disabled(name, &reason),
        Err(RegistryError::Source(fault)) => check::disabled(name, &fault.message),
        Err(RegistryError::UnknownProvider(_) | RegistryError::NotAModel(_)) => {
            let known = catalogue.providers.iter().map(|entry| entry.name.clone());
            check::unknown(name, &known.collect::<Vec<_>>())
        }
    }
}

async fn ask(provider: &Provider, clock: &Arc<dyn Clock>, name: &str) -> ProviderTest {
    if let Some(reason) = provider.absence() {
        return check::disabled(name, &reason);
    }
    let start = clock.now().mono;
    match listing::list(provider).await {
        Ok(models) => {
            let latency = clock.now().mono.saturating_sub(start);
            let configured: Vec<String> =
                provider.models().iter().map(|model| model.id.clone()).collect();
            check::works(name, latency, models, &configured)
        }
        Err(none) => {
            let elsewhere = if ProviderProblem::of(&none).may_be_mistaken() {
                listing::found_elsewhere(provider).await
            } else {
                None
            };
            check::fails(name, &none, elsewhere)
        }
    }
}

/// The models that a provider lists.
pub(super) async fn list_models(
    catalogue: &Catalogue,
    clock: &Arc<dyn Clock>,
    name: &str,
) -> Result<Vec<ListedModel>, Fault> {
    if let Some(sourced) = catalogue.sourced(name) {
        let listed = sourced.candidates(clock.now().mono);
        return Ok(listed.map(|candidate| ListedModel::of(name, &candidate)).collect());
    }
    let provider = catalogue.provider(name)?;
    listing::list(&provider).await.map_err(|none| none.failure.into())
}
