//! Judges paths before any file is touched: whether a path leads out of its folder, whether the
//! config hides or protects it, and whether agents or the person's own programs obey the file.
//!
//! Everything here is pure. It never reads a file, and the gate decides whether a call happens.

pub(crate) mod instruction;
mod program_path;
mod rules;

use onyx_storage::{ObjectKey, ObjectKeyError};

use crate::ToolError;

pub use rules::{HiddenPaths, PathRules};

/// Parses a path that a model wrote. A path that leads out of the folder is refused.
pub(crate) fn key(path: &str) -> Result<ObjectKey, ToolError> {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.parse().map_err(|error: ObjectKeyError| ToolError::Refused(error.to_string()))
}
