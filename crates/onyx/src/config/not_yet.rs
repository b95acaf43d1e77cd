//! Warnings for what a config sets and nothing reads yet.

use onyx_agent::AgentsSettings;
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

pub(super) fn agents(agents: &AgentsSettings) -> Vec<String> {
    let Some(sentence) = onyx_types::not_yet(NotYetAt::AgentField("workspace")) else {
        return Vec::new();
    };
    let listed = agents.list.iter().map(|agent| (agent.id.as_deref().unwrap_or("?"), agent));
    let keyed = agents.entries.iter().map(|(id, agent)| (id.as_str(), agent));
    let with_one = listed.chain(keyed).filter(|(_, agent)| agent.workspace.is_some());
    with_one.map(|(id, _)| format!("agents.{id}.workspace: {sentence}")).collect()
}
