//! Reads the files of a ZIP archive that a person uploads.

use std::io::{Cursor, Read as _};

use onyx_types::{ErrorCode, Fault};
use zip::ZipArchive;

/// The limits for an archive.
pub struct ZipLimits {
    pub bytes: u64,
    /// The most files and folders.
    pub entries: usize,
}

/// The files by their paths in the archive. The sizes that the archive states are not trusted.
/// `too_large` is the error for an archive beyond the limits.
pub fn files_of_zip(
    bytes: &[u8],
    limits: &ZipLimits,
    too_large: fn() -> Fault,
) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    let damaged = |error: &dyn std::fmt::Display| {
        Fault::new(ErrorCode::InvalidRequest, format!("The archive cannot be read: {error}"))
    };
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    if zip.len() > limits.entries {
        return Err(too_large());
    }
    let (mut files, mut left) = (Vec::new(), limits.bytes);
    for index in 0..zip.len() {
        let file = zip.by_index(index).map_err(|error| damaged(&error))?;
        // Links are left out, because they could lead anywhere.
        if file.is_dir() || file.is_symlink() {
            continue;
        }
        let path = file.name().map_err(|error| damaged(&error))?.into_owned();
        let mut content = Vec::new();
        file.take(left + 1).read_to_end(&mut content).map_err(|error| damaged(&error))?;
        left = left.checked_sub(content.len() as u64).ok_or_else(too_large)?;
        files.push((path, content));
    }
    Ok(files)
}
