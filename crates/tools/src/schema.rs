//! The schemas of tools as models see them, and the errors for calls that do not fit.

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use onyx_types::{ErrorCode, Fault, ToolSpec};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ToolError;

/// The most errors that a model is shown at once.
const MOST_COMPLAINTS: usize = 3;

/// The schema of a tool's arguments, without parts that cost tokens and do not help a model.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    slim(&mut schema);
    schema
}

/// Converts arguments that passed the schema into their Rust type.
pub(crate) fn arguments<T: DeserializeOwned>(value: &Value) -> Result<T, ToolError> {
    T::deserialize(value).map_err(|error| ToolError::Arguments(error.to_string()))
}

/// One tool's schema, compiled once.
pub(crate) struct Checker {
    validator: Validator,
    fields: Vec<String>,
}

impl Checker {
    pub(crate) fn new(spec: &ToolSpec) -> Result<Self, Fault> {
        let validator = jsonschema::validator_for(&spec.input_schema).map_err(|error| {
            Fault::new(ErrorCode::Internal, format!("the schema of {}: {error}", spec.name))
        })?;
        let fields = match spec.input_schema.get("properties") {
            Some(Value::Object(properties)) => properties.keys().cloned().collect(),
            Some(_) | None => Vec::new(),
        };
        Ok(Self { validator, fields })
    }

    /// Returns the arguments for planning, or an error that says how to correct them.
    pub(crate) fn check(&self, input: &Value) -> Result<Value, ToolError> {
        let arguments = without_nulls(input);
        let complaints: Vec<String> = self
            .validator
            .iter_errors(&arguments)
            .take(MOST_COMPLAINTS)
            .map(|error| self.complaint(&error))
            .collect();
        if complaints.is_empty() {
            Ok(arguments)
        } else {
            Err(ToolError::Arguments(format!(
                "wrong arguments: {}. Nothing was done; call it again",
                complaints.join("; ")
            )))
        }
    }

    fn complaint(&self, error: &jsonschema::ValidationError<'_>) -> String {
        let place = match error.instance_path().as_str().trim_start_matches('/') {
            "" => "the arguments".to_owned(),
            path => format!("{path:?}"),
        };
        match error.kind() {
            ValidationErrorKind::Required { property } => format!("{property} is missing"),
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                format!("there is no {}, only {}", unexpected.join(", "), self.fields.join(", "))
            }
            ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
                format!("{place} must be of type {kind}")
            }
            ValidationErrorKind::Enum { options } => format!("{place} must be one of {options}"),
            // Other errors are rare in our schemas, so the library's text is used, without the
            // value.
            _ => format!("{place}: {}", error.masked()),
        }
    }
}

/// Drops arguments that mean "not given": models write `null` or an empty string, or leave the
/// field out.
fn without_nulls(input: &Value) -> Value {
    match input {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        ),
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.is_empty() => Value::Object(Map::new()),
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) => input.clone(),
    }
}

fn slim(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| match name.as_str() {
                // These are dropped only where they are keywords. A property may have the same
                // name, and its value is an object.
                "title" | "format" => !value.is_string(),
                "default" => !value.is_null(),
                // Negative numbers need no bound in the schema, because converting the arguments
                // refuses them.
                "minimum" => *value != 0,
                _ => true,
            });
            if let Some(kinds) = fields.get_mut("type") {
                drop_null(kinds);
            }
            fields.values_mut().for_each(slim);
        }
        Value::Array(items) => items.iter_mut().for_each(slim),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn drop_null(kinds: &mut Value) {
    if let Value::Array(names) = kinds {
        names.retain(|name| name != "null");
        if let [only] = names.as_slice() {
            *kinds = only.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onyx_types::ToolEffect;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Arguments {
        /// Where
        path: String,
        #[schemars(range(min = 1))]
        from: Option<u32>,
        lines: Option<u32>,
    }

    fn checker() -> Checker {
        Checker::new(&ToolSpec {
            name: "probe".into(),
            group: "fs".into(),
            description: String::new(),
            input_schema: schema_of::<Arguments>().into(),
            usual_effect: ToolEffect::Read,
            repeats: false,
            timeout: Duration::ZERO,
            needs: Vec::new(),
            agents: None,
        })
        .unwrap()
    }

    #[test]
    fn a_schema_holds_only_what_a_model_needs() {
        assert_eq!(
            schema_of::<Arguments>(),
            json!({
                "type": "object",
                "properties": {
                    "path": { "description": "Where", "type": "string" },
                    "from": { "type": "integer", "minimum": 1 },
                    "lines": { "type": "integer" },
                },
                "additionalProperties": false,
                "required": ["path"],
            })
        );
    }

    #[test]
    fn a_wrong_call_is_told_how_to_mend_it() {
        let told = |input: Value| checker().check(&input).unwrap_err().to_string();
        let wrap = |text: &str| format!("wrong arguments: {text}. Nothing was done; call it again");
        assert_eq!(told(json!({})), wrap(r#""path" is missing"#));
        assert_eq!(told(json!({"path": 3})), wrap(r#""path" must be of type string"#));
        assert_eq!(
            told(json!({"path": "a", "form": 1})),
            wrap("there is no form, only path, from, lines")
        );
        assert_eq!(
            told(json!({"path": "a", "from": 0})),
            wrap(r#""from": value is less than the minimum of 1"#)
        );
        assert_eq!(told(json!("notes.md")), wrap("the arguments must be of type object"));
    }

    #[test]
    fn a_field_left_out_as_null_is_left_out() {
        assert_eq!(
            checker().check(&json!({"path": "a", "from": null})).unwrap(),
            json!({"path": "a"})
        );
    }
}
