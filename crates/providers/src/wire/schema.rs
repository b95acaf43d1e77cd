//! Removes keywords from a JSON Schema for servers that refuse them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Compat;

/// The keys in these maps are names that the schema's author chose, not keywords.
const MAPS_OF_SCHEMAS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// These keywords hold instances: nothing in them is a keyword.
const INSTANCES: [&str; 4] = ["const", "default", "enum", "examples"];

/// The schema in the form that this server accepts.
pub(super) fn schema_for<'a>(schema: &'a Value, compat: &Compat) -> Cow<'a, Value> {
    let dropped = &compat.dropped_schema_keywords;
    if dropped.is_empty() {
        Cow::Borrowed(schema)
    } else {
        Cow::Owned(without_keywords(schema, dropped))
    }
}

fn without_keywords(schema: &Value, dropped: &[String]) -> Value {
    match schema {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, _)| !dropped.contains(key))
                .map(|(key, value)| (key.clone(), keyword_value(key, value, dropped)))
                .collect(),
        ),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| without_keywords(item, dropped)).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn keyword_value(key: &str, value: &Value, dropped: &[String]) -> Value {
    match value {
        Value::Object(map) if MAPS_OF_SCHEMAS.contains(&key) => {
            let schemas = map.iter();
            let mended: Map<String, Value> = schemas
                .map(|(name, schema)| (name.clone(), without_keywords(schema, dropped)))
                .collect();
            Value::Object(mended)
        }
        _ if INSTANCES.contains(&key) => value.clone(),
        _ => without_keywords(value, dropped),
    }
}
