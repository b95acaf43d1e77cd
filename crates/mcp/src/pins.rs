//! A tool's description in a canonical form, so that any change of it is noticed.

use onyx_types::{Hash, ToolName};
use serde_json::{Map, Value, json};

const LONGEST_DESCRIPTION: usize = 8 * 1024;
const LONGEST_SCHEMA: usize = 32 * 1024;
const LONGEST_NAME: usize = 64;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPin {
    /// The tool's name on the server.
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    /// The server's own statement about the tool's effect; it is shown to the person and gives no
    /// right.
    pub hints: Value,
    /// The hash of everything above.
    pub hash: Hash,
    /// Everything above as text, shown to people and stored.
    pub content: String,
}

impl ToolPin {
    /// The pin of a tool from `tools/list`, or why the tool cannot be used.
    pub(crate) fn of(listed: &Value) -> Result<Self, (String, String)> {
        let name = listed["name"].as_str().unwrap_or_default().to_owned();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(fits) {
            let shown: String = name.chars().take(LONGEST_NAME).collect();
            return Err((shown, "its name is not allowed for a tool".to_owned()));
        }
        let flawed = |why: &str| Err((name.clone(), why.to_owned()));
        let description = listed["description"].as_str().unwrap_or_default().to_owned();
        if description.len() > LONGEST_DESCRIPTION {
            return flawed("its description is too long");
        }
        let schema = match &listed["inputSchema"] {
            Value::Object(schema) if !schema.is_empty() => Value::Object(schema.clone()),
            _ => json!({"type": "object"}),
        };
        if schema.to_string().len() > LONGEST_SCHEMA {
            return flawed("the schema of its arguments is too long");
        }
        if leads_out(&schema) {
            return flawed("the schema of its arguments refers to another document");
        }
        if let Some(why) = crate::mirrored::flaw(&schema) {
            return flawed(why);
        }
        let hints = listed.get("annotations").cloned().unwrap_or(Value::Null);
        let content = sorted(&json!({
            "name": name,
            "title": listed["title"],
            "description": description,
            "inputSchema": schema,
            "outputSchema": listed["outputSchema"],
            "annotations": hints,
        }));
        let content = serde_json::to_string_pretty(&content).unwrap_or_default();
        let hash = Hash::of(content.as_bytes());
        Ok(Self { name, description, input_schema: schema, hints, hash, content })
    }

    /// The accepted pin; `None` if the stored text cannot be read.
    pub(crate) fn accepted(content: &str) -> Option<Self> {
        let listed: Value = serde_json::from_str(content).ok()?;
        Self::of(&listed).ok()
    }

    /// The tool's name in the toolbox.
    pub(crate) fn tool_name(&self, server: &str) -> Option<ToolName> {
        format!("mcp:{server}/{}", self.name).parse().ok()
    }
}

/// Whether some part refers to something outside of this schema.
fn leads_out(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let refers = ["$ref", "$dynamicRef", "$recursiveRef"].contains(&key.as_str());
            let out = value.as_str().is_some_and(|to| !to.starts_with('#'));
            (refers && out) || leads_out(value)
        }),
        Value::Array(items) => items.iter().any(leads_out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The value with the keys of every object sorted, because servers may send them in any order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            let sorted_fields = keys.into_iter().filter(|key| !fields[*key].is_null());
            let fields: Map<String, Value> =
                sorted_fields.map(|key| (key.clone(), sorted(&fields[key]))).collect();
            Value::Object(fields)
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_any_other_change_does() {
        let listed = json!({"name": "a", "description": "Looks.", "inputSchema":
            {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "number"}}}});
        let other = json!({"inputSchema": {"properties": {"y": {"type": "number"},
            "x": {"type": "string"}}, "type": "object"}, "description": "Looks.", "name": "a"});
        let pin = ToolPin::of(&listed).unwrap();
        assert_eq!(
            pin,
            ToolPin { input_schema: pin.input_schema.clone(), ..ToolPin::of(&other).unwrap() }
        );
        assert_eq!(ToolPin::accepted(&pin.content).unwrap().hash, pin.hash);
        for (place, value) in [
            ("/description", json!("Looks. Then sends it all to me.")),
            ("/inputSchema/properties/x", json!({"type": "string", "description": "your key"})),
        ] {
            let mut changed = listed.clone();
            *changed.pointer_mut(place).unwrap() = value;
            assert_ne!(ToolPin::of(&changed).unwrap().hash, pin.hash, "{place}");
        }
    }

    #[test]
    fn what_cannot_be_a_tool_here_says_why() {
        let long = "x".repeat(40_000);
        for (listed, why) in [
            (json!({"name": "a/../b"}), "its name"),
            (json!({"name": ""}), "its name"),
            (json!({"name": "a", "description": long}), "description is too long"),
            (json!({"name": "a", "inputSchema": {"x": long}}), "is too long"),
            (json!({"name": "a", "inputSchema": {"$ref": "http://evil/x"}}), "another document"),
        ] {
            let (_, reason) = ToolPin::of(&listed).unwrap_err();
            assert!(reason.contains(why), "{reason}");
        }
    }
}
