//! Job files: front matter, then the prompt.

use onyx_tools::front_matter;
use onyx_types::JobId;
use serde_json::{Map, Value};

use super::fields::FIELDS;
use super::spec::JobFlaw;

/// The most bytes of a job file in addition to its prompt.
pub(super) const LONGEST_FRONT: usize = 16 * 1024;

/// The fields of a file and the prompt below them.
pub(super) struct JobFile<'t> {
    pub(super) fields: Map<String, Value>,
    pub(super) prompt: &'t str,
    pub(super) warnings: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<JobFile<'_>, JobFlaw> {
    let (fields, prompt) = front_matter(text).map_err(|why| JobFlaw::new("file", why))?;
    let is_unknown = |key: &&String| !FIELDS.contains(&key.as_str()) || key.as_str() == "prompt";
    let there_are = FIELDS[..FIELDS.len() - 1].join(", ");
    let warn = |key: &String| format!("the front matter has no key {key:?}; there are {there_are}");
    let warnings = fields.keys().filter(is_unknown).map(warn).collect();
    Ok(JobFile { fields, prompt, warnings })
}

/// Writes a file with these fields. JSON values are valid YAML, so each field takes one line.
pub(super) fn compose(fields: &Map<String, Value>, prompt: &str) -> String {
    let mut text = String::from("---\n");
    let known = FIELDS.iter().filter(|name| **name != "prompt");
    for (name, value) in known.filter_map(|name| Some((name, fields.get(*name)?))) {
        if !value.is_null() {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    text.push_str("---\n");
    if !prompt.trim().is_empty() {
        text.push_str(prompt.trim());
        text.push('\n');
    }
    text
}

/// The front matter of a text, for surfaces that show or edit it field by field.
pub fn front_of(text: &str) -> Option<(Map<String, Value>, String)> {
    let file = parse(text).ok()?;
    Some((file.fields, file.prompt.trim().to_owned()))
}

/// The id in a file's name; `None` if the file is no job file.
pub(super) fn id_of(name: &str) -> Option<Result<JobId, String>> {
    let stem = name.strip_suffix(".md").filter(|stem| !stem.is_empty())?;
    let id: Result<JobId, _> = stem.parse();
    Some(match id {
        Ok(id) if id.as_str() == id.name() => Ok(id),
        _ => Err(stem.to_owned()),
    })
}
