//! Warnings for what a config sets and nothing reads yet.

use onyx_providers::{ProviderKind, ProviderSettings, VENDORS};
use onyx_types::{NOT_YET, NotYet, NotYetAt};

/// One line for each setting that does nothing yet, with its place in the file.
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
