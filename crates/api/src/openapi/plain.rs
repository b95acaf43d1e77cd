//! Rewrites the schemas of Rust types so that client generators can read them.

use serde_json::{Value, json};

/// Adds bounds to numbers, which the schemas of Rust types only name in `format`.
pub(super) fn bound(schema: &mut Value) {
    let largest = match schema["format"].as_str() {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint16") => Some(u64::from(u16::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some("uint" | "uint64") => Some(u64::MAX),
        _ => None,
    };
    if let (Some(largest), Some(object)) = (largest, schema.as_object_mut()) {
        object.entry("maximum").or_insert_with(|| largest.into());
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(bound),
        Value::Array(items) => items.iter_mut().for_each(bound),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces `true`, a schema that accepts anything: client generators only know objects.
pub(super) fn without_boolean_schemas(value: &mut Value) {
    const NAMED: [&str; 4] = ["properties", "$defs", "patternProperties", "schemas"];
    const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
    let anything = |schema: &mut Value| {
        if *schema == Value::Bool(true) {
            *schema = json!({});
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "items" || name == "schema" {
                    anything(value);
                } else if NAMED.contains(&name.as_str()) {
                    value.as_object_mut().into_iter().flatten().for_each(|(_, one)| anything(one));
                } else if LISTED.contains(&name.as_str()) {
                    value.as_array_mut().into_iter().flatten().for_each(anything);
                }
                without_boolean_schemas(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_boolean_schemas),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes a choice of words as an `enum`, with the meaning of each word in the description.
/// Generators create one type for an `enum`, but one per word for a `oneOf`.
pub(super) fn plain_choices(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(plain_choices);
            let Some(forms) = fields.get("oneOf").and_then(Value::as_array) else { return };
            let words: Option<Vec<Value>> =
                forms.iter().map(words_of).collect::<Option<Vec<_>>>().map(|found| found.concat());
            let Some(words) = words else { return };
            let meaning = |form: &Value| {
                Some(format!("`{}`: {}", form["const"].as_str()?, form["description"].as_str()?))
            };
            let description = fields.get("description").and_then(Value::as_str).map(str::to_owned);
            let lines: Vec<String> =
                description.into_iter().chain(forms.iter().filter_map(meaning)).collect();
            if !lines.is_empty() {
                fields.insert("description".into(), lines.join(" ").into());
            }
            fields.remove("oneOf");
            fields.insert("type".into(), "string".into());
            fields.insert("enum".into(), words.into());
        }
        Value::Array(items) => items.iter_mut().for_each(plain_choices),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The words of a choice, if it consists of words only.
fn words_of(form: &Value) -> Option<Vec<Value>> {
    const KNOWN: [&str; 4] = ["type", "const", "enum", "description"];
    let fields = form.as_object()?;
    let is_plain = fields.keys().all(|key| KNOWN.contains(&key.as_str()));
    if !is_plain || form["type"] != "string" {
        return None;
    }
    match (form.get("const"), form.get("enum").and_then(Value::as_array)) {
        (Some(word), None) => Some(vec![word.clone()]),
        (None, Some(words)) => Some(words.clone()),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

pub(super) fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = match kinds.as_slice() {
            [one] => one.clone(),
            _ => kinds.into(),
        };
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let forms: Vec<Value> =
            forms.iter().filter(|form| form["type"] != "null").cloned().collect();
        if let [one] = forms.as_slice() {
            *schema = one.clone();
        }
    }
    if let Some(object) = schema.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
}
