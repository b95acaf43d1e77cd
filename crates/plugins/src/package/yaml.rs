//! `manifest.yaml`, which holds the same facts in the format of the first Onyx.

use serde_json::{Map, Value, json};

use super::manifest::{self, Manifest, bounded};
use super::onyx_manifest::OnyxManifest;

const KNOWN: &[&str] = &[
    "name",
    "version",
    "description",
    "entry_point",
    "command",
    "dependencies",
    "config_schema",
    "hooks",
    "connectors",
    "grants",
];

/// Reads a package's `manifest.yaml`.
pub(super) fn read(
    bytes: &[u8],
    problems: &mut Vec<String>,
) -> Result<(Manifest, OnyxManifest), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let fields: Value = serde_saphyr::from_str(text)
        .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())?;
    let fields = fields.as_object().ok_or("it must be lines of `key: value`")?;
    for key in fields.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        problems.push(format!("manifest.yaml: unknown field {key}, which is ignored"));
    }
    if fields
        .get("dependencies")
        .is_some_and(|all| all.as_array().is_some_and(|all| !all.is_empty()))
    {
        let why =
            "dependencies are not installed: put everything the plugin needs into its package";
        problems.push(format!("manifest.yaml: dependencies: {why}"));
    }
    let text = |key: &str| match fields.get(key) {
        Some(Value::String(text)) => Some(bounded(text)),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let manifest = Manifest {
        name: manifest::name(fields.get("name"))?,
        version: text("version"),
        description: text("description").unwrap_or_default(),
    };
    let mut onyx = Map::new();
    onyx.insert("command".to_owned(), command(fields)?);
    onyx.insert("hooks".to_owned(), hooks(fields.get("hooks")));
    for key in ["connectors", "grants"] {
        if let Some(value) = fields.get(key).filter(|value| !value.is_null()) {
            onyx.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(schema) = fields.get("config_schema").filter(|value| !value.is_null()) {
        onyx.insert("config_schema".to_owned(), json_schema(schema));
    }
    let onyx = serde_json::from_value(Value::Object(onyx)).map_err(|error| error.to_string())?;
    Ok((manifest, onyx))
}

/// The program: `command`, or the file that `entry_point` names.
fn command(fields: &Map<String, Value>) -> Result<Value, String> {
    if let Some(command) = fields.get("command") {
        return Ok(command.clone());
    }
    let Some(entry) = fields.get("entry_point").and_then(Value::as_str) else {
        return Ok(json!([]));
    };
    if entry.contains(':') {
        let why = "entry_point must be a file of the package, such as main.py: plugins run as \
                   programs of their own";
        return Err(why.to_owned());
    }
    let entry = entry.trim_start_matches("./");
    Ok(match entry.rsplit('.').next() {
        Some("py") => json!(["python3", entry]),
        Some("js" | "mjs" | "cjs" | "ts" | "mts") => json!(["node", entry]),
        _ => json!([format!("./{entry}")]),
    })
}

/// The hooks, each of which is written as its name alone, or as in `onyx.json`.
fn hooks(written: Option<&Value>) -> Value {
    let event = |hook: &Value| match hook.as_str() {
        Some("on_ready") => json!({"event": "on_start"}),
        Some(name) => json!({"event": name}),
        None => hook.clone(),
    };
    let hooks = written.and_then(Value::as_array).into_iter().flatten();
    hooks.map(event).collect()
}

/// Converts fields by name, each with `type` and `required`, to a JSON schema.
fn json_schema(fields: &Value) -> Value {
    let Some(by_name) = fields.as_object().filter(|fields| !fields.contains_key("properties"))
    else {
        return fields.clone();
    };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, written) in by_name {
        let mut field = written.as_object().cloned().unwrap_or_default();
        if field.remove("required") == Some(Value::Bool(true)) {
            required.push(name.clone());
        }
        field.remove("env");
        if let Some(Value::String(kind)) = field.get("items").cloned() {
            field.insert("items".to_owned(), json!({"type": kind}));
        }
        properties.insert(name.clone(), Value::Object(field));
    }
    json!({"type": "object", "properties": properties, "required": required})
}
