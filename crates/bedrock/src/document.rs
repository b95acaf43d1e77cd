//! Converts JSON to the client's own form and back.

use aws_smithy_types::{Document, Number};
use serde_json::Value;

pub(crate) fn document(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(bool) => Document::Bool(*bool),
        Value::Number(number) => Document::Number(match (number.as_u64(), number.as_i64()) {
            (Some(positive), _) => Number::PosInt(positive),
            (None, Some(negative)) => Number::NegInt(negative),
            // A number that is no integer can always be read as a float.
            (None, None) => Number::Float(number.as_f64().unwrap_or_default()),
        }),
        Value::String(text) => Document::String(text.clone()),
        Value::Array(items) => Document::Array(items.iter().map(document).collect()),
        Value::Object(fields) => Document::Object(
            fields.iter().map(|(name, value)| (name.clone(), document(value))).collect(),
        ),
    }
}
