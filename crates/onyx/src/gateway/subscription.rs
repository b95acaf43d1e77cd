//! The subscription gateway: the first provider of the config that is a program with a person's sign-in. A
//! model of Anthropic is mapped to the same model there.

use onyx_agent::{ModelChoice, is_anthropic};
use onyx_api::{Dependency, DependencyKind};
use onyx_providers::{
    LoginState, ProviderHealth, ProviderKind, ProviderState, ProviderStatus, Registry,
};
use onyx_types::{ErrorCode, Fault, ModelId};

const NONE: &str = "There is no subscription gateway.";
const HOW: &str = "Connect Claude Code on this machine: Settings → Providers, or \
    `providers.claude-subscription: {}` in onyx.json.";

/// The choice through the subscription gateway; `None` if the model is not Anthropic's or is asked
/// through a program already.
pub(super) fn through(registry: &Registry, model: &ModelId) -> Option<Result<ModelChoice, Fault>> {
    if !is_anthropic(model.as_str()) {
        return None;
    }
    let programs = registry.programs();
    if programs.iter().any(|program| program.name == model.provider()) {
        return None;
    }
    let Some(gateway) = programs.first() else {
        return Some(Err(Fault::new(ErrorCode::ProviderUnavailable, NONE).with_hint(HOW)));
    };
    if let Some(trouble) = trouble(gateway) {
        let message =
            format!("The subscription gateway `{}` cannot be used: {trouble}.", gateway.name);
        return Some(Err(Fault::new(ErrorCode::ProviderUnavailable, message)
            .with_hint(format!("See `onyx providers test {}`.", gateway.name))));
    }
    let name = model.as_str().rsplit('/').next().unwrap_or_default();
    let through = if gateway.kind == Some(ProviderKind::Pi) {
        format!("{}/anthropic/{name}", gateway.name)
    } else {
        format!("{}/{name}", gateway.name)
    };
    Some(Ok(ModelChoice::only(ModelId::new(through))))
}

pub(super) fn dependency(registry: &Registry) -> Dependency {
    let programs = registry.programs();
    let Some(gateway) = programs.first() else {
        return Dependency::off(DependencyKind::Gateway, NONE).with_hint(HOW);
    };
    let account = gateway.login.as_ref().and_then(|login| login.account.as_deref());
    match (trouble(gateway), gateway.health()) {
        (Some(trouble), _) => Dependency::degraded(DependencyKind::Gateway, trouble),
        (None, ProviderHealth::Failing { reason, .. }) => {
            Dependency::degraded(DependencyKind::Gateway, reason)
        }
        (None, ProviderHealth::Untried | ProviderHealth::Well) => {
            let detail = match account {
                Some(account) => format!("{}, signed in as {account}", gateway.name),
                None => gateway.name.clone(),
            };
            Dependency::ok(DependencyKind::Gateway).with_detail(detail)
        }
    }
}

/// Why the gateway cannot be used: it is missing, or its sign-in is known to be refused.
fn trouble(gateway: &ProviderStatus) -> Option<String> {
    if let ProviderState::Disabled { reason } = &gateway.state {
        return Some(reason.clone());
    }
    let login = gateway.login.as_ref()?;
    let lapsed = matches!(login.state, LoginState::SignInAgain | LoginState::None);
    let reason = login.error.clone().filter(|_| lapsed);
    reason.map(|reason| reason.trim_end_matches('.').to_owned())
}
