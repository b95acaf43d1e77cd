//! Warnings for what a config sets and nothing reads yet.

use onyx_providers::{ProviderKind, ProviderSettings, VENDORS};
use onyx_types::{NOT_YET, NotYet, NotYetAt};
use serde_json::{Map, Value};

/// One line for each setting that does nothing yet, with its place in the file.
pub(super) fn sections(sections: &Map<String, Value>) -> Vec<String> {
    let is_set = |name: &str| sections.get(name).is_some_and(|value| !value.is_null());
    let mut warnings = Vec::new();
    for NotYet { at, sentence } in NOT_YET {
        if let NotYetAt::ConfigSection(name) = at
            && is_set(name)
        {
            warnings.push(format!("{name}: {sentence}"));
        }
    }
    warnings
}

pub(super) fn providers(providers: &[(String, ProviderSettings)]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, settings) in providers {
        let vendor = VENDORS.iter().find(|vendor| vendor.name == name);
        let kind = settings.kind.or(vendor.map(|vendor| vendor.kind)).map(ProviderKind::as_str);
        for NotYet { at, sentence } in NOT_YET {
            if let NotYetAt::ProviderKind(unbuilt) = at
                && kind == Some(unbuilt)
            {
                warnings.push(format!("providers.{name}.kind: {sentence}"));
            }
        }
    }
    warnings
}
