//! The front matter of a skill: its name and description.

use onyx_types::one_line;
use serde_json::{Map, Value};

use crate::text::front_matter::front_matter;

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1_024;

/// The front matter of a `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillHead {
    /// The purpose of the skill in one line.
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: Vec<(String, String)>,
    /// The permissions that the skill asks for, as written. They are shown to people and allow
    /// nothing.
    pub allowed_tools: Option<String>,
}

/// Whether this is a valid name: lower case letters, digits and single dashes, as agentskills.io
/// defines it.
pub fn is_skill_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let parts_fit = name.split('-').all(|part| !part.is_empty() && part.chars().all(fits));
    parts_fit && name.len() <= LONGEST_NAME
}

impl SkillHead {
    /// Reads the head of a skill with this name, or says why it is not valid.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, String> {
        if !is_skill_name(name) {
            return Err(format!(
                "its name must be 1 to {LONGEST_NAME} of a-z, 0-9 and single dashes"
            ));
        }
        let (mut fields, body) = front_matter(text)?;
        if let Some(declared) = words(&mut fields, "name").filter(|declared| declared != name) {
            return Err(format!(
                "its front matter names it {declared:?}, but its file or folder is named {name:?}"
            ));
        }
        let description = words(&mut fields, "description");
        let description = description.ok_or("the front matter has no `description`")?;
        if description.chars().count() > LONGEST_DESCRIPTION {
            return Err(format!("its description is longer than {LONGEST_DESCRIPTION} characters"));
        }
        if body.trim().is_empty() {
            return Err("it says nothing below its front matter".to_owned());
        }
        let metadata = match fields.remove("metadata") {
            Some(Value::Object(metadata)) => {
                metadata.into_iter().map(|(key, value)| (key, plain(&value))).collect()
            }
            Some(_) | None => Vec::new(),
        };
        Ok(Self {
            description: one_line(&description),
            license: words(&mut fields, "license"),
            compatibility: words(&mut fields, "compatibility"),
            allowed_tools: words(&mut fields, "allowed-tools"),
            metadata,
        })
    }

    /// The name that a skill's text gives, for a skill that is not stored yet.
    pub(super) fn own_name(text: &str) -> Option<String> {
        let (mut fields, _) = front_matter(text).ok()?;
        words(&mut fields, "name")
    }
}

fn words(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    let value = fields.remove(key).filter(|value| !value.is_null())?;
    Some(plain(&value).trim().to_owned()).filter(|text| !text.is_empty())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_whole_and_lists_are_one_text() {
        let text = "---\nname: pdf-forms\ndescription: >\n  Fill in\n  forms.\nlicense: MIT\n\
            metadata:\n  author: ada\n  version: 2\nallowed-tools: [exec, read_file]\n---\nDo it.\n";
        let expected = SkillHead {
            description: "Fill in forms.".into(),
            license: Some("MIT".into()),
            compatibility: None,
            metadata: vec![("author".into(), "ada".into()), ("version".into(), "2".into())],
            allowed_tools: Some("exec read_file".into()),
        };
        assert_eq!(SkillHead::read("pdf-forms", text), Ok(expected));
    }

    #[test]
    fn what_is_no_skill_says_why() {
        let body = "---\nname: cook\ndescription: d\n---\n";
        for (name, text, why) in [
            ("Cook", "---\ndescription: d\n---\nx", "a-z, 0-9 and single dashes"),
            ("a--b", "---\ndescription: d\n---\nx", "a-z, 0-9 and single dashes"),
            ("bake", "---\nname: cook\ndescription: d\n---\nx", "front matter names it \"cook\""),
            ("cook", "Just text.", "no `description`"),
            ("cook", "---\ndescription: d\n", "has no end"),
            ("cook", body, "says nothing"),
        ] {
            let error = SkillHead::read(name, text).unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
