//! Text that is still streaming, in a file beside its session's log. It is written without a sync:
//! the next process finds it after a crash of this one, but a loss of power may lose it.

use std::io::Read as _;

use rustix::io::Errno;

use crate::{LiveText, StoreError};

use super::aside;
use super::beneath::{Dir, FileAccess, classify};
use super::ops::{AppendFault, FileOps, append_whole};

/// The largest file that is read. It is more than any run may say, so Onyx did not write a longer
/// one.
const LARGEST: u64 = 64 * 1024 * 1024;

pub(crate) fn add(
    ops: &dyn FileOps,
    folder: &Dir,
    name: &str,
    pieces: &[LiveText],
) -> Result<(), StoreError> {
    let bytes = lines(pieces)?;
    let file = folder.open(name, FileAccess::AppendOrCreate).map_err(classify)?;
    let len = aside::length(&file)?;
    append_whole(ops, &file, &bytes, len).map_err(|fault| match fault {
        AppendFault::TakenBack(error) | AppendFault::Stuck(error) => StoreError::from(error),
    })
}

/// Returns the texts with the pieces of each turn joined, in the order in which the turns began. A
/// torn last line means that a crash came there; the lines before it are whole.
pub(crate) fn read(folder: &Dir, name: &str) -> Result<Vec<LiveText>, StoreError> {
    let file = match folder.open(name, FileAccess::Read) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(classify(error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(put_together(&bytes))
}

/// Encodes the pieces, one per line.
pub(crate) fn lines(pieces: &[LiveText]) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    for piece in pieces {
        serde_json::to_writer(&mut bytes, piece)
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Joins the pieces of each turn, in the order in which the turns began.
pub(crate) fn put_together(bytes: &[u8]) -> Vec<LiveText> {
    let mut texts: Vec<LiveText> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(piece) = serde_json::from_slice::<LiveText>(line) else { continue };
        match texts.iter_mut().find(|text| text.turn == piece.turn) {
            Some(text) => text.text.push_str(&piece.text),
            None => texts.push(piece),
        }
    }
    texts
}
