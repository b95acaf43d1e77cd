use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::ModelFacts;

/// A hand-written file; a larger one is a mistake.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why the person's `models.json` is not used. The caller adds the file's path.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("it is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it is not valid: {0}")]
    Invalid(#[from] serde_json::Error),
}

pub(super) fn read(path: &Path) -> Result<BTreeMap<String, ModelFacts>, MetadataError> {
    match std::fs::metadata(path) {
        Ok(found) if found.len() > MAX_BYTES => return Err(MetadataError::TooLarge),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.into()),
    }
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}
