//! Warnings for what a config sets and nothing reads yet.

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
