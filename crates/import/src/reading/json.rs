//! Reads JSON, JSON5 and JSON Lines; an error names its line.

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value};

use super::OpenedExport;
use crate::error::ImportError;

/// Reads a whole file. Line numbers are the file's own.
pub(crate) fn json_file(opened: &OpenedExport, file: &str) -> Result<Value, ImportError> {
    let bytes = opened.bytes(file)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ImportError::broken(file, error.line(), plain(&error)))
}

/// The form of configs: those of other programs, our own, and the edits of our own. Extra commas are
/// allowed and missing ones are not: otherwise a key without a value would take the next key as its
/// value. Infinite numbers are not allowed, because no setting can be infinite and JSON has no such
/// numbers.
pub const JSON5: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: true,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: true,
    allow_hexadecimal_numbers: true,
    allow_unary_plus_numbers: true,
    allow_bare_decimal_point_numbers: true,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: true,
};

/// Reads a config, which may have comments, unquoted names and trailing commas.
pub(crate) fn json5(file: &str, text: &str) -> Result<Map<String, Value>, ImportError> {
    let value: Value = jsonc_parser::parse_to_serde_value(text, &JSON5).map_err(|error| {
        ImportError::broken(file, error.line_display(), error.kind().to_string())
    })?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(ImportError::broken(file, 1, "an object is expected")),
    }
}

/// A line's number and its content.
pub(crate) type NumberedLine = (usize, Map<String, Value>);

/// Each non-empty line, with its number.
pub(crate) fn json_lines(file: &str, bytes: &[u8]) -> Result<Vec<NumberedLine>, ImportError> {
    let mut values = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value = serde_json::from_slice(line)
            .map_err(|error| ImportError::broken(file, index + 1, plain(&error)))?;
        values.push((index + 1, value));
    }
    Ok(values)
}

/// The text of the error without the position that serde adds, because serde parsed only one line.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

pub(crate) fn text<'v>(value: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The text of a message, which is a string or a list of blocks. `wordless` counts the blocks
/// without text, such as pictures.
pub(crate) fn words(content: Option<&Value>, wordless: &mut usize) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let mut words = Vec::new();
            for block in blocks.iter().filter_map(Value::as_object) {
                match text(block, "text") {
                    Some(text) => words.push(text),
                    None => *wordless += 1,
                }
            }
            words.join("\n")
        }
        _ => String::new(),
    }
}

pub(crate) fn number(value: &Map<String, Value>, key: &str) -> Option<f64> {
    value.get(key).and_then(Value::as_f64)
}

pub(crate) fn object<'v>(
    value: &'v Map<String, Value>,
    key: &str,
) -> Option<&'v Map<String, Value>> {
    value.get(key).and_then(Value::as_object)
}
