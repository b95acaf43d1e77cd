//! Reads `plugin.json`, as Agent Plugins 1.0 defines it.

use serde_json::Value;

pub(super) const PLUGIN_SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const LONGEST_NAME: usize = 64;
/// The longest text that is shown.
const LONGEST_TEXT: usize = 2_000;

/// A package's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) description: String,
}

impl Manifest {
    /// Reads a manifest. Harmless errors are added to `problems`.
    pub(super) fn of_json(bytes: &[u8], problems: &mut Vec<String>) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let fields = value.as_object().ok_or("it must be an object")?;
        let known = [
            "$schema",
            "name",
            "version",
            "description",
            "author",
            "homepage",
            "repository",
            "license",
            "keywords",
            "extensions",
        ];
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            problems.push(format!("plugin.json: unknown field {key}, which is ignored"));
        }
        if fields.get("extensions").is_some_and(|value| !value.is_object()) {
            problems.push("plugin.json: extensions is not an object and is ignored".to_owned());
        }
        if fields.get("$schema").and_then(Value::as_str) != Some(PLUGIN_SCHEMA) {
            return Err(format!("$schema must be {PLUGIN_SCHEMA}"));
        }
        for key in ["version", "description", "homepage", "repository", "license"] {
            if fields.get(key).is_some_and(|value| !value.is_string()) {
                return Err(format!("{key} must be a text"));
            }
        }
        check_author(fields.get("author"))?;
        check_keywords(fields.get("keywords"))?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(bounded);
        Ok(Self {
            name: name(fields.get("name"))?,
            version: text("version"),
            description: text("description").unwrap_or_default(),
        })
    }
}

fn check_author(author: Option<&Value>) -> Result<(), String> {
    let Some(author) = author else { return Ok(()) };
    let fields = author.as_object().ok_or("author must be an object")?;
    let fits = |(key, value): (&String, &Value)| {
        ["name", "email", "url"].contains(&key.as_str()) && value.is_string()
    };
    if fields.iter().all(fits) {
        return Ok(());
    }
    Err("author has name, email and url only, each a text".to_owned())
}

fn check_keywords(keywords: Option<&Value>) -> Result<(), String> {
    let Some(keywords) = keywords else { return Ok(()) };
    let all = keywords.as_array().ok_or("keywords must be a list")?;
    if all.iter().all(Value::is_string) {
        return Ok(());
    }
    Err("keywords must be texts".to_owned())
}

/// The name in a manifest, if it is valid.
pub(super) fn name(value: Option<&Value>) -> Result<String, String> {
    let name = value.and_then(Value::as_str).ok_or("name is missing")?;
    if is_plugin_name(name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "name must be 1 to {LONGEST_NAME} of a-z, 0-9, `-` and `.`, begin and end with a letter or \
         digit, and not be `enabled`"
    ))
}

/// Whether the name is valid. `enabled` is not valid, because the config uses it beside the
/// plugins' names.
pub(crate) fn is_plugin_name(name: &str) -> bool {
    let fits = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
    };
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    name.len() <= LONGEST_NAME
        && name.bytes().all(fits)
        && is_end(name.bytes().next())
        && is_end(name.bytes().last())
        && !name.contains("--")
        && !name.contains("..")
        && name != "enabled"
}

pub(super) fn bounded(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned()
}
