//! Tools beyond what a prompt has room for. A model finds them by what they do and calls them by
//! name. Two tools with stable schemas stand for all of them, so that provider caches hit however
//! many there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use onyx_types::{CallLabel, ToolCall, ToolEffect, ToolName, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::ToolError;
use crate::schema::schema_of;
use crate::tool::{ReadCall, Tool};

pub(super) const FIND_TOOL: &str = "find_tool";
pub(super) const CALL_TOOL: &str = "call_tool";

/// The most tools of one search, and the most bytes of a prompt that they may take.
const MOST_FOUND: usize = 5;
const MOST_BYTES: usize = 12 * 1024;

/// Whether the tool comes from another program. Prompts leave out such tools if there are many.
pub(super) fn is_foreign(spec: &ToolSpec) -> bool {
    spec.group.starts_with("mcp:")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Need {
    /// What the tool should do, in a few words
    pub(super) need: String,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used: the call becomes another one")]
struct CalledTool {
    /// As find_tool names it
    name: String,
    arguments: Option<serde_json::Map<String, Value>>,
}

/// The two tools. The toolbox answers them itself, because they are about its other tools.
pub fn find_tools() -> Vec<Arc<dyn Tool>> {
    let find = "There are more tools than are shown. Find those that do something.";
    let call = "Call a tool that find_tool named.";
    vec![
        Arc::new(ToolboxTool(spec::<Need>(FIND_TOOL, ToolEffect::Read, find))),
        // The effect of `call_tool` is the effect of the tool that it calls.
        Arc::new(ToolboxTool(spec::<CalledTool>(CALL_TOOL, ToolEffect::Execute, call))),
    ]
}

struct ToolboxTool(ToolSpec);

fn spec<Arguments: JsonSchema>(
    name: &'static str,
    usual_effect: ToolEffect,
    description: &str,
) -> ToolSpec {
    ToolSpec {
        name: ToolName::constant(name),
        group: "find".to_owned(),
        description: description.to_owned(),
        input_schema: schema_of::<Arguments>().into(),
        usual_effect,
        repeats: true,
        timeout: Duration::from_secs(30),
        needs: Vec::new(),
        agents: None,
    }
}

impl Tool for ToolboxTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    /// The tools are offered only if other tools are left out of the prompt.
    fn has_something_for(&self, _: &onyx_types::PersonId, _: &onyx_types::AgentId) -> bool {
        false
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let need = arguments.get("need").or_else(|| arguments.get("name"));
        let need = need.and_then(Value::as_str).unwrap_or_default();
        Verb::new("look for a tool to", "looking for a tool to", "looked for a tool to").of(need)
    }

    fn read(&self, _: Value) -> Result<Box<dyn ReadCall + '_>, ToolError> {
        Err(ToolError::Failed(format!("{} is answered by the toolbox", self.0.name)))
    }
}

/// The call that a `call_tool` stands for; `None` for other calls and for one that names no tool.
pub(super) fn inner_call(call: &ToolCall) -> Option<ToolCall> {
    if call.name != CALL_TOOL {
        return None;
    }
    let name = call.input.get("name")?.as_str()?.to_owned();
    let input = match call.input.get("arguments") {
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        // Some models send an object as a string.
        Some(Value::String(text)) => serde_json::from_str(text).ok()?,
        Some(_) | None => Value::Object(serde_json::Map::new()),
    };
    Some(ToolCall { name, input, ..call.clone() })
}

/// The tools that fit a need best, best first, as a text for a model.
pub(super) fn found(need: &str, tools: &[&ToolSpec]) -> String {
    let best = ranked(need, tools);
    let mut text = String::new();
    for spec in best.into_iter().take(MOST_FOUND) {
        let (name, description) = (&spec.name, &spec.description);
        let entry = format!("{name}: {description}\narguments: {}\n\n", spec.input_schema.text());
        if text.len() + entry.len() > MOST_BYTES {
            break;
        }
        text.push_str(&entry);
    }
    if text.is_empty() {
        return format!("[none of {} tools does that; say it in other words]", tools.len());
    }
    text
}

/// The tools that share words with the need, ranked by BM25. A word in a tool's name counts for
/// more than one in its description.
fn ranked<'a>(need: &str, tools: &[&'a ToolSpec]) -> Vec<&'a ToolSpec> {
    const NAME_WEIGHT: f64 = 3.0;
    const SATURATION: f64 = 1.2;
    let wanted: BTreeSet<String> = words(need).collect();
    let mut holding: BTreeMap<&str, f64> = BTreeMap::new();
    let weighed: Vec<BTreeMap<String, f64>> = tools
        .iter()
        .map(|spec| {
            let mut weights: BTreeMap<String, f64> = BTreeMap::new();
            for word in words(&spec.name) {
                *weights.entry(word).or_default() += NAME_WEIGHT;
            }
            let named = spec.input_schema.get("properties").and_then(Value::as_object);
            let named = named.into_iter().flat_map(|fields| fields.keys());
            for word in words(&spec.description).chain(named.flat_map(|name| words(name))) {
                *weights.entry(word).or_default() += 1.0;
            }
            weights
        })
        .collect();
    for word in &wanted {
        let count = weighed.iter().filter(|weights| weights.contains_key(word)).count();
        holding.insert(word, (1.0 + tools.len() as f64 / (count as f64 + 0.5)).ln());
    }
    let mut scored: Vec<(f64, &ToolSpec)> = weighed
        .iter()
        .zip(tools)
        .map(|(weights, spec)| {
            let length = 1.0 + weights.values().sum::<f64>() / 60.0;
            let score = wanted.iter().filter_map(|word| {
                let weight = weights.get(word)?;
                Some(holding[word.as_str()] * weight / (weight + SATURATION * length))
            });
            (score.sum(), *spec)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.name.cmp(&b.name)));
    scored.into_iter().map(|(_, spec)| spec).collect()
}

/// The words of a text, normalised and without words that say nothing about a tool: `createIssue`,
/// `create_issue` and `creating issues` are the same.
fn words(text: &str) -> impl Iterator<Item = String> {
    const EMPTY: [&str; 24] = [
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "is", "it",
        "me", "mcp", "my", "of", "on", "or", "that", "the", "to", "with",
    ];
    let mut parted = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for letter in text.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            parted.push(' ');
        }
        parted.extend(letter.to_lowercase());
        before = letter;
    }
    let words: Vec<String> = parted
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty() && !EMPTY.contains(word))
        .map(stem)
        .collect();
    words.into_iter()
}

fn stem(word: &str) -> String {
    let cut = |ending: &str, least: usize| {
        word.strip_suffix(ending).filter(|rest| rest.chars().count() >= least)
    };
    let stem = cut("ies", 3)
        .or_else(|| cut("ing", 3))
        .or_else(|| cut("ed", 3))
        .or_else(|| cut("es", 3))
        .or_else(|| cut("s", 3))
        .unwrap_or(word);
    stem.trim_end_matches(['e', 'y']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec_named(name: &str, description: String) -> ToolSpec {
        let name: ToolName = format!("mcp:{name}").parse().unwrap();
        ToolSpec {
            name,
            group: "mcp:x".into(),
            description,
            ..spec::<Need>("x", ToolEffect::Read, "")
        }
    }

    /// A thousand tools of twenty servers, and requests of people for a hundred of them.
    fn tools_and_needs() -> (Vec<ToolSpec>, Vec<(String, String)>) {
        let verbs = [
            ("create", "Create a new", "make a new"),
            ("list", "List all", "show every"),
            ("delete", "Remove one", "delete one"),
            ("update", "Change an existing", "update the"),
            ("search", "Search through", "searching for a"),
        ];
        let nouns = [
            "issue", "branch", "message", "channel", "invoice", "customer", "event", "calendar",
            "photo", "album",
        ];
        let servers = [
            "github", "gitlab", "slack", "discord", "stripe", "paypal", "outlook", "gmail",
            "flickr", "imgur", "notion", "jira", "trello", "asana", "linear", "zoom", "figma",
            "dropbox", "airtable", "hubspot",
        ];
        let (mut tools, mut needs) = (Vec::new(), Vec::new());
        for (s, server) in servers.iter().enumerate() {
            for (n, noun) in nouns.iter().enumerate() {
                for (v, (verb, does, asked)) in verbs.iter().enumerate() {
                    let name = format!("{server}/{verb}_{noun}");
                    let description = format!("{does} {noun} in {server} and return it as JSON.");
                    tools.push(spec_named(&name, description));
                    if (s * 7 + n * 3 + v) % 10 == 0 {
                        needs.push((format!("{asked} {noun}s on {server}"), name));
                    }
                }
            }
        }
        (tools, needs)
    }

    #[test]
    fn the_right_tool_is_among_the_first_three_of_a_thousand() {
        let (tools, needs) = tools_and_needs();
        let tools: Vec<&ToolSpec> = tools.iter().collect();
        assert_eq!((tools.len(), needs.len() >= 100), (1_000, true));
        let is_found = |(need, name): &&(String, String)| {
            let wanted = format!("mcp:{name}");
            ranked(need, &tools).into_iter().take(3).any(|spec| *spec.name == *wanted)
        };
        let right = needs.iter().filter(is_found).count();
        assert!(right * 100 >= needs.len() * 95, "{right} of {}", needs.len());
        assert!(found(&needs[0].0, &tools).len() <= MOST_BYTES);
        assert!(found("xyzzy", &tools).starts_with("[none of 1000 tools"));
    }
}
