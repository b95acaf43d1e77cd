//! One pack: chunks one after the other, each preceded by its name and length, and at the end a
//! list of all of them. A pack is written from front to back and never changed afterwards. If the
//! writer died, the pack has no list, and is read from the front instead.

use std::io;

use onyx_types::Hash;

use super::place::{NewFile, PlaceFiles, ReadAt};
use crate::error::BackupError;

const MAGIC: &[u8; 8] = b"ONYXPAK1";
const END: &[u8; 8] = b"ONYXEND1";
const HEAD: usize = 32 + 4;
const ROW: usize = 32 + 8 + 4;
const FOOT: usize = 32 + 4 + 8;
/// The limit of a chunk's stored form; no chunk is longer.
const LONGEST: u32 = 4 * 1024 * 1024;

/// The position of a chunk's stored form in its pack, without name and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackPosition {
    pub(super) name: Hash,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl PackPosition {
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

pub(super) struct PackWriter {
    pub(super) name: String,
    file: Box<dyn NewFile>,
    at: u64,
    pub(super) placed: Vec<PackPosition>,
}

impl PackWriter {
    pub(super) fn create(files: &dyn PlaceFiles, name: &str) -> io::Result<Self> {
        let mut file = files.create(name)?;
        file.write_all(MAGIC)?;
        let at = MAGIC.len() as u64;
        Ok(Self { name: name.to_owned(), file, at, placed: Vec::new() })
    }

    pub(super) fn add(&mut self, name: Hash, kept: &[u8]) -> io::Result<PackPosition> {
        let length = u32::try_from(kept.len()).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        self.file.write_all(name.as_bytes())?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(kept)?;
        let placed = PackPosition { name, offset: self.at + HEAD as u64, length };
        self.at = placed.end();
        self.placed.push(placed);
        Ok(placed)
    }

    pub(super) fn length(&self) -> u64 {
        self.at
    }

    /// Writes the list. The pack is durable when this returns.
    pub(super) fn finish(mut self) -> io::Result<Vec<PackPosition>> {
        self.file.write_all(&list_of(&self.placed))?;
        self.file.finish()?;
        Ok(self.placed)
    }
}

/// The list at the end of a pack.
fn list_of(placed: &[PackPosition]) -> Vec<u8> {
    let mut list = Vec::with_capacity(placed.len() * ROW + FOOT);
    for row in placed {
        list.extend_from_slice(row.name.as_bytes());
        list.extend_from_slice(&row.offset.to_le_bytes());
        list.extend_from_slice(&row.length.to_le_bytes());
    }
    let check = Hash::of(&list);
    // A pack holds far fewer chunks than `u32::MAX`.
    let count = u32::try_from(placed.len()).unwrap_or(u32::MAX);
    list.extend_from_slice(check.as_bytes());
    list.extend_from_slice(&count.to_le_bytes());
    list.extend_from_slice(END);
    list
}

/// Adds a list to a pack that has no complete one. Anything after the last good chunk is cut off.
pub(super) fn give_list(
    files: &dyn PlaceFiles,
    name: &str,
    placed: &[PackPosition],
) -> Result<(), BackupError> {
    let end = placed.iter().map(PackPosition::end).max().unwrap_or(MAGIC.len() as u64);
    files.replace_end(name, end, &list_of(placed))
}

/// The list of a finished pack; `None` if it has no complete one.
pub(super) fn listed(file: &dyn ReadAt) -> io::Result<Option<Vec<PackPosition>>> {
    let length = file.length()?;
    let foot_at = length.checked_sub(FOOT as u64).filter(|at| *at >= MAGIC.len() as u64);
    let Some(foot_at) = foot_at else { return Ok(None) };
    let mut foot = [0; FOOT];
    file.read_exact_at(&mut foot, foot_at)?;
    let count = u32::from_le_bytes([foot[32], foot[33], foot[34], foot[35]]);
    let size = u64::from(count) * ROW as u64;
    let list_at = foot_at.checked_sub(size).filter(|at| *at >= MAGIC.len() as u64);
    let (Some(list_at), true) = (list_at, foot.ends_with(END)) else { return Ok(None) };
    let mut list = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact_at(&mut list, list_at)?;
    if Hash::of(&list).as_bytes().as_slice() != &foot[..32] {
        return Ok(None);
    }
    let placed: Option<Vec<_>> = list.chunks_exact(ROW).map(row).collect();
    Ok(placed.filter(|placed| placed.iter().all(|row| row.end() <= list_at)))
}

fn row(bytes: &[u8]) -> Option<PackPosition> {
    let (name, rest) = bytes.split_first_chunk::<32>()?;
    let (offset, length) = rest.split_first_chunk::<8>()?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let offset = u64::from_le_bytes(*offset);
    let is_sound = length <= LONGEST && offset.checked_add(u64::from(length)).is_some();
    is_sound.then_some(PackPosition { name: Hash::from_bytes(*name), offset, length })
}

/// The chunks according to their heads, read from the front as far as they are valid. The caller
/// must still compare their contents with their names.
pub(super) fn scanned(file: &dyn ReadAt) -> io::Result<Vec<PackPosition>> {
    let end = file.length()?;
    let (mut at, mut placed) = (MAGIC.len() as u64, Vec::new());
    while at + HEAD as u64 <= end {
        let Some(row) = head_at(file, at)? else { break };
        if row.end() > end {
            break;
        }
        at = row.end();
        placed.push(row);
    }
    Ok(placed)
}

/// The chunk whose head is at this position.
pub(super) fn head_at(file: &dyn ReadAt, at: u64) -> io::Result<Option<PackPosition>> {
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, at)?;
    let mut name = [0; 32];
    name.copy_from_slice(&head[..32]);
    let length = u32::from_le_bytes([head[32], head[33], head[34], head[35]]);
    let placed = PackPosition { name: Hash::from_bytes(name), offset: at + HEAD as u64, length };
    Ok((length <= LONGEST).then_some(placed))
}

/// Whether the head before a chunk matches the list, and the pack has a valid beginning.
pub(super) fn agrees(file: &dyn ReadAt, row: &PackPosition) -> io::Result<bool> {
    let Some(at) = row.offset.checked_sub(HEAD as u64) else { return Ok(false) };
    Ok(head_at(file, at)? == Some(*row))
}

pub(super) fn begins_well(file: &dyn ReadAt) -> io::Result<bool> {
    let mut magic = [0; 8];
    match file.read_exact_at(&mut magic, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| &magic == MAGIC),
    }
}
