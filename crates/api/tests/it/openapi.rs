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
