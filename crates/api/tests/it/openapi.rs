use std::path::Path;

use onyx_api::{openapi, routes};
use serde_json::Value;

/// `ONYX_WRITE_DOCS=1` writes the file; `make docs` does that.
#[test]
#[allow(clippy::disallowed_methods, reason = "how a person asks for the file to be written")]
fn the_committed_description_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let written = format!("{:#}\n", openapi());
    if std::env::var_os("ONYX_WRITE_DOCS").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == written, "docs/openapi.json is stale: run `make docs` and commit it");
}

#[test]
fn every_route_is_described_and_every_reference_leads_somewhere() {
    let document = openapi();
    for route in routes().table() {
        let path = route.path.replace("{*", "{");
        let operation = &document["paths"][&path][route.method.to_lowercase()];
        assert!(operation["operationId"].is_string(), "{} {path}", route.method);
        let summary = operation["summary"].as_str().unwrap();
        assert!(
            summary.len() > 3 && !summary.contains(&path),
            "{} {path}: {summary}",
            route.method
        );
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{} {path}", route.method);
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.contains_key("default"), "{} {path}", route.method);
        assert!(answers.keys().any(|status| status != "default"), "{} {path}", route.method);
    }
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 20, "{references:?}");
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn the_events_of_a_run_are_a_union_told_apart_by_type() {
    let document = openapi();
    let text = document["components"]["schemas"]["Envelope"].to_string();
    for kind in ["start", "text_delta", "tool_call", "draft", "confirm", "error", "done"] {
        assert!(text.contains(&format!("\"const\":\"{kind}\"")), "{kind}: {text}");
    }
}

/// Client generators cannot read such schemas; `make test-clients` runs three generators.
#[test]
fn no_schema_is_written_in_a_way_that_generators_cannot_read() {
    let document = openapi();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let origin = &schemas["SessionOrigin"];
    assert_eq!(origin["type"], "string");
    assert!(origin["enum"].as_array().unwrap().contains(&"chat".into()), "{origin}");
    for name in ["ChatRequest", "StopRequest", "NewMemory"] {
        let schema = &schemas[name];
        assert!(schema["properties"].is_object(), "{schema}");
        assert!(schema.get("oneOf").or(schema.get("anyOf")).is_none(), "{schema}");
    }
    // The choice must not contain itself.
    let text = schemas["MessagesResultContent"].to_string();
    assert!(!text.contains("/MessagesBlock\""), "{text}");
    let mut words_apart = Vec::new();
    choices_of_words(&document, &mut words_apart);
    assert!(words_apart.is_empty(), "{words_apart:?}");
}

/// Finds every `oneOf` whose forms are all single words.
fn choices_of_words(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            let forms = fields.get("oneOf").and_then(Value::as_array);
            let is_word = |form: &Value| form["type"] == "string" && form["const"].is_string();
            if forms.is_some_and(|forms| forms.iter().all(is_word)) {
                found.push(value.clone());
            }
            fields.values().for_each(|value| choices_of_words(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| choices_of_words(item, found)),
        _ => {}
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                references.push(reference.clone());
            }
            fields.values().for_each(|field| collect(field, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
