//! Other names for models and agents, so that programs with fixed model names work.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `models` of `onyx.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelsSettings {
    /// Maps the name that clients send to its target: `<provider>/<model>` or `onyx:<agent>`. A `*`
    /// matches any letters.
    pub aliases: BTreeMap<String, String>,
}

impl ModelsSettings {
    /// The target of this name. The exact name takes precedence over patterns, a longer pattern
    /// over a shorter one.
    pub fn meant_by(&self, name: &str) -> Option<&str> {
        if let Some(meant) = self.aliases.get(name) {
            return Some(meant);
        }
        let fitting = self.aliases.iter().filter(|(pattern, _)| fits(pattern, name));
        fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, meant)| meant.as_str())
    }

    /// The names that are not patterns.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let plain = self.aliases.iter().filter(|(name, _)| !name.contains('*'));
        plain.map(|(name, meant)| (name.as_str(), meant.as_str()))
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return false };
    name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}
