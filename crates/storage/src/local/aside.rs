//! Keeps bytes that were cut off or could not be read in a file beside their log, so that nothing
//! is lost.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::StoreError;

use super::beneath::{Dir, FileAccess, classify, plain_file};
use super::ops::{AppendFault, FileOps, append_whole};

/// One line of a `.torn` or `.quarantine` file: bytes that were taken from the log.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The offset at which the bytes were in the log.
    at: u64,
    len: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes as hex digits in place of `text`, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

impl Record {
    fn new(at: u64, bytes: &[u8]) -> Self {
        let len = bytes.len() as u64;
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { at, len, text: Some(text.to_owned()), hex: None },
            Err(_) => Self { at, len, text: None, hex: Some(hex(bytes)) },
        }
    }
}

/// Appends the bytes to a file beside the log. They are durable when this returns.
pub(crate) fn keep(
    ops: &dyn FileOps,
    folder: &Dir,
    name: &str,
    at: u64,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let file = folder.open(name, FileAccess::AppendOrCreate).map_err(classify)?;
    let len = length(&file)?;
    let mut line = serde_json::to_vec(&Record::new(at, bytes))
        .map_err(|error| StoreError::Failed(error.to_string()))?;
    line.push(b'\n');
    append_whole(ops, &file, &line, len).map_err(|fault| match fault {
        AppendFault::TakenBack(error) | AppendFault::Stuck(error) => StoreError::from(error),
    })?;
    ops.sync_data(&file)?;
    if len == 0 {
        folder.sync(ops)?;
    }
    Ok(())
}

/// Returns the offset and length of each record in a file beside the log.
pub(crate) fn places(folder: &Dir, name: &str) -> Result<HashSet<(u64, u64)>, StoreError> {
    let file = match folder.open(name, FileAccess::Read) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(HashSet::new()),
        Err(error) => return Err(classify(error)),
    };
    let mut places = HashSet::new();
    for line in BufReader::new(file).split(b'\n') {
        // A record torn by a crash is ignored, so its bytes are kept once more.
        if let Ok(record) = serde_json::from_slice::<Record>(&line?) {
            places.insert((record.at, record.len));
        }
    }
    Ok(places)
}

pub(crate) fn length(file: &File) -> Result<u64, StoreError> {
    u64::try_from(plain_file(file)?.st_size).map_err(|error| StoreError::Failed(error.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}
