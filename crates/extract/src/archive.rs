//! The files in a ZIP archive, each read within bounds, because a small archive may unpack to very
//! much.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;

use crate::{ExtractError, LONGEST_TEXT};

const MOST_FILES: usize = 10_000;
/// The most bytes that are read of all files together. It is more than the longest text, because a
/// text becomes smaller when its tags are removed.
const MOST_BYTES: u64 = 4 * LONGEST_TEXT as u64;

pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, ExtractError> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
        if zip.len() > MOST_FILES {
            return Err(ExtractError::TooComplex("archive"));
        }
        Ok(Self { zip, left: MOST_BYTES })
    }

    /// The text of a file; `None` if there is no file of this name.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(damaged(&error)),
        };
        if file.encrypted() {
            return Err(ExtractError::Encrypted);
        }
        let mut bytes = Vec::new();
        // The declared size is not trusted.
        file.take(self.left + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or(ExtractError::TooLarge { limit: LONGEST_TEXT })?;
        crate::decode::text(&bytes, None).map(Some)
    }
}

fn damaged(error: &dyn std::fmt::Display) -> ExtractError {
    ExtractError::Damaged(format!("the archive cannot be read: {error}"))
}
