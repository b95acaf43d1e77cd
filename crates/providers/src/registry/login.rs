//! Sign-ins by the provider's name, and which settings are missing where a provider has none.

use std::sync::Arc;

use onyx_types::{ErrorCode, Fault};

use super::catalogue::Catalogue;
use super::provider::Provider;
use super::settings::ProviderSettings;
use super::vendor::vendor;
use crate::oauth::{Login, LoginStatus};

pub(super) fn status(catalogue: &Catalogue, name: &str) -> Result<Option<LoginStatus>, Fault> {
    if let Some(sourced) = catalogue.sourced(name) {
        return Ok(sourced.login());
    }
    Ok(entry(catalogue, name)?.ok().map(|login| login.status()))
}

/// The sign-in of this provider, or a fault that says which settings are missing.
pub(super) fn named<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Arc<Login>, Fault> {
    entry(catalogue, name)?.map_err(Clone::clone)
}

fn entry<'a>(
    catalogue: &'a Catalogue,
    name: &str,
) -> Result<Result<&'a Arc<Login>, &'a Fault>, Fault> {
    if let Some(entry) = catalogue.providers.iter().find(|entry| entry.name == name) {
        return Ok(entry.login.as_ref());
    }
    if let Some(sourced) = catalogue.sourced(name) {
        return Ok(Err(&sourced.no_login));
    }
    let message = format!("There is no provider {name:?}.");
    Err(Fault::new(ErrorCode::NotFound, message))
}

/// The sign-in of a resolved provider, or a fault that says which settings are missing.
pub(super) fn of(
    name: &str,
    settings: &ProviderSettings,
    resolved: &Result<Arc<Provider>, String>,
) -> Result<Arc<Login>, Fault> {
    let at = format!("providers.{name}");
    let (message, hint) = match resolved {
        Ok(provider) => match provider.login() {
            Some(login) => return Ok(Arc::clone(login)),
            None if settings.api_key.is_some() => (
                format!("`{name}` uses its `apiKey`, which takes precedence over a sign-in."),
                format!("Remove `{at}.apiKey` from onyx.json and set `{at}.login`."),
            ),
            None => (none(name), how(name)),
        },
        Err(reason) if settings.login.is_some() || has_addresses(name) => {
            (format!("`{name}` is disabled: {reason}."), how(name))
        }
        Err(_) => (none(name), how(name)),
    };
    Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint).with_field(at + ".login"))
}

/// The fault for a source that is no provider of the config.
pub(super) fn of_source(name: &str, own_way: Option<String>) -> Fault {
    match own_way {
        Some(way) => Fault::new(ErrorCode::InvalidRequest, way)
            .with_hint(format!("Then test it with `onyx providers test {name}`.")),
        None => Fault::new(ErrorCode::InvalidRequest, none(name))
            .with_hint("Its models need no sign-in."),
    }
}

fn none(name: &str) -> String {
    format!("`{name}` has no settings for a sign-in.")
}

fn has_addresses(name: &str) -> bool {
    vendor(name).is_some_and(|vendor| vendor.login.is_some())
}

fn how(name: &str) -> String {
    if has_addresses(name) {
        format!("Set `providers.{name}.login.clientId` in onyx.json.")
    } else {
        format!(
            "Set `providers.{name}.login` in onyx.json: `clientId`, `tokenUrl`, and `deviceUrl` or \
             `authorizeUrl`."
        )
    }
}
