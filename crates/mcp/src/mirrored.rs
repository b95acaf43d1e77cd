//! Arguments that a tool wants repeated in headers (`x-mcp-header`), so that a proxy in front of
//! its server can route by them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

const MARK: &str = "x-mcp-header";

/// Why the marks of a schema are invalid.
pub(crate) fn flaw(schema: &Value) -> Option<&'static str> {
    let (mut names, mut marked) = (BTreeSet::new(), 0);
    for (_, field) in fields(schema, &[]) {
        let Some(mark) = field.get(MARK) else { continue };
        marked += 1;
        let name = mark.as_str().unwrap_or_default();
        if name.is_empty() || !name.bytes().all(is_token) {
            return Some("it names a header whose name is not valid");
        }
        if !["string", "integer", "boolean"].iter().any(|kind| field["type"] == *kind) {
            return Some("it wants a header of an argument that does not fit into one");
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Some("it wants the same header twice");
        }
    }
    (marked != count(schema)).then_some("it wants a header of something that is not an argument")
}

/// The headers of a call with these arguments.
pub(crate) fn mirrored(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let header = |(path, field): (Vec<String>, &Value)| {
        let name = field.get(MARK)?.as_str()?;
        let value = path.iter().try_fold(arguments, |at, key| at.get(key))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("mcp-param-{}", name.to_ascii_lowercase()), written(&text)))
    };
    fields(schema, &[]).into_iter().filter_map(header).collect()
}

/// The value of a header. A text that a header cannot carry, or that looks encoded, is encoded.
fn written(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text == text.trim();
    if is_plain && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", BASE64.encode(text))
}

/// Every property with its path.
fn fields<'s>(schema: &'s Value, path: &[String]) -> Vec<(Vec<String>, &'s Value)> {
    let mut found = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let mut way = path.to_vec();
        way.push(name.clone());
        found.extend(fields(field, &way));
        found.push((way, field));
    }
    found
}

fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(object) => {
            usize::from(object.get(MARK).is_some_and(|mark| !mark.is_object()))
                + object.values().map(count).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_mirrored_as_headers_can_carry_them() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {
                "count": {"type": "integer", "x-mcp-header": "Count"}}},
            "on": {"type": "boolean", "x-mcp-header": "On"},
            "off": {"type": "boolean", "x-mcp-header": "Off"},
            "query": {"type": "string"},
        }});
        assert_eq!(flaw(&schema), None);
        let arguments = json!({"region": " \u{e4}", "deep": {"count": 3}, "on": true, "off": null,
            "query": "x"});
        let mut headers = mirrored(&schema, &arguments);
        headers.sort();
        let header = |name: &str, value: &str| (format!("mcp-param-{name}"), value.to_owned());
        assert_eq!(
            headers,
            [header("count", "3"), header("on", "true"), header("region", "=?base64?IMOk?=")]
        );
        for (text, plain) in [("us west", "us west"), ("", ""), ("a\nb", "=?base64?YQpi?=")] {
            assert_eq!(written(text), plain);
        }
    }

    #[test]
    fn marks_that_cannot_be_meant_are_told() {
        let of = |field: Value| json!({"type": "object", "properties": {"a": field}});
        for (schema, why) in [
            (of(json!({"type": "string", "x-mcp-header": ""})), "name is not valid"),
            (of(json!({"type": "string", "x-mcp-header": "A B"})), "name is not valid"),
            (of(json!({"type": "number", "x-mcp-header": "A"})), "does not fit"),
            (of(json!({"type": "array", "items": {"x-mcp-header": "A"}})), "not an argument"),
            (
                json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"},
                    "b": {"type": "string", "x-mcp-header": "a"}}}),
                "twice",
            ),
        ] {
            assert!(flaw(&schema).is_some_and(|told| told.contains(why)), "{schema}");
        }
    }
}
