//! What a home holds and nothing uses yet. What the config sets and nothing reads is among the
//! config's own warnings.

use std::fs;

use onyx_types::{NOT_YET, NotYet, NotYetAt};
use serde_json::Value;

use super::{Check, names_in};
use crate::home::HomeFolder;

pub(super) fn check(home: &HomeFolder) -> Vec<Check> {
    let mut checks = Vec::new();
    for NotYet { at, sentence } in NOT_YET {
        let (found, remedy) = match at {
            NotYetAt::RuntimeMode(mode) => {
                (people_in_mode(home, mode), "choose Keys in Settings, You")
            }
            // The config's warnings tell of these.
            NotYetAt::ProviderKind(_) => continue,
        };
        if !found.is_empty() {
            let detail = format!("{}: {sentence}", found.join(", "));
            checks.push(Check::warning("not yet", detail, remedy));
        }
    }
    checks
}

fn people_in_mode(home: &HomeFolder, mode: &str) -> Vec<String> {
    let people = home.path().join("people");
    let chose = |person: &String| {
        // A file that cannot be read is the business of the checks of the store.
        let text = fs::read_to_string(people.join(person).join("agent.json")).unwrap_or_default();
        let chosen: Option<Value> = serde_json::from_str(&text).ok();
        chosen.is_some_and(|chosen| chosen["runtime_mode"] == mode)
    };
    let chosen = names_in(&people).into_iter().filter(chose);
    chosen.map(|person| format!("people/{person}/agent.json: runtime_mode")).collect()
}
