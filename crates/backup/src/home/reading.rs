//! Reads a file in a state between two changes.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use onyx_types::Hash;

use crate::error::BackupError;
use crate::repository::{CHUNK, FileStamp};

/// After this many tries, a file that is written all the time is stored as it was read.
const TRIES: usize = 3;
const NANOS: i64 = 1_000_000_000;

/// The content read from a file.
pub(crate) struct Read {
    pub(crate) size: u64,
    pub(crate) chunks: Vec<Hash>,
    pub(crate) seen: FileStamp,
    /// Whether the file was written to during every try, so that the copy may mix several states.
    pub(crate) is_torn: bool,
}

/// How much of a file is backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// The file up to its last complete line: the rest is still being written and was not confirmed
    /// to a caller.
    WholeLines,
}

/// The properties by which the file is recognised.
pub(crate) fn seen(metadata: &Metadata) -> FileStamp {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(NANOS).saturating_add(nanos);
    FileStamp {
        size: metadata.len(),
        inode: metadata.ino(),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// The permission bits of a file, without its kind.
pub(crate) fn kept_mode(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o7777
}

/// Passes the file's chunks to the caller one after the other. `Err(Failed::Reading)` concerns only
/// this file.
pub(crate) fn read_file(
    file: &File,
    extent: Extent,
    add: &mut dyn FnMut(&[u8]) -> Result<Hash, BackupError>,
) -> Result<Read, Failed> {
    for left in (0..TRIES).rev() {
        let before = seen(&file.metadata().map_err(Failed::Reading)?);
        let end = match extent {
            Extent::Whole => before.size,
            Extent::WholeLines => whole_lines(file, before.size).map_err(Failed::Reading)?,
        };
        let (size, chunks) = read_chunks(file, end, add)?;
        let after = seen(&file.metadata().map_err(Failed::Reading)?);
        // A log only grows, so its earlier bytes have not changed.
        let grew = extent == Extent::WholeLines && after.size >= before.size;
        let is_torn = size != end || (after != before && !grew);
        if !is_torn || left == 0 {
            return Ok(Read { size, chunks, seen: before, is_torn });
        }
    }
    Err(Failed::Reading(io::ErrorKind::Interrupted.into()))
}

/// Why a file was not backed up.
pub(crate) enum Failed {
    /// The file cannot be read, but others may be.
    Reading(io::Error),
    /// The backup cannot store anything more.
    Keeping(BackupError),
}

fn read_chunks(
    file: &File,
    end: u64,
    add: &mut dyn FnMut(&[u8]) -> Result<Hash, BackupError>,
) -> Result<(u64, Vec<Hash>), Failed> {
    let mut buffer = vec![0; CHUNK.min(usize::try_from(end).unwrap_or(CHUNK)).max(1)];
    let (mut at, mut chunks) = (0, Vec::new());
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        let got = read_full(file, &mut buffer[..wanted], at).map_err(Failed::Reading)?;
        if got == 0 {
            break;
        }
        chunks.push(add(&buffer[..got]).map_err(Failed::Keeping)?);
        at += got as u64;
    }
    Ok((at, chunks))
}

/// Reads up to the whole buffer, or to the end of the file.
fn read_full(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The position after the last complete line.
fn whole_lines(file: &File, size: u64) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = size;
    let mut buffer = vec![0; usize::try_from(STEP.min(size)).unwrap_or_default()];
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let piece = &mut buffer[..usize::try_from(end - start).unwrap_or_default()];
        let got = read_full(file, piece, start)?;
        if let Some(line_end) = piece[..got].iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + line_end as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(content: &[u8], extent: Extent) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        let mut kept = Vec::new();
        let mut add = |chunk: &[u8]| {
            kept.extend_from_slice(chunk);
            Ok(Hash::of(chunk))
        };
        let read = read_file(&File::open(&path).unwrap(), extent, &mut add);
        let read = read.ok().unwrap();
        assert_eq!((read.size, read.is_torn), (kept.len() as u64, false));
        kept
    }

    #[test]
    fn a_log_is_kept_up_to_its_last_whole_line_wherever_that_ends() {
        let long = "x".repeat(200_000);
        for (log, whole) in [
            ("", ""),
            ("no line", ""),
            ("one\n", "one\n"),
            ("one\ntwo\nthr", "one\ntwo\n"),
            (&*format!("one\n{long}"), "one\n"),
            (&*format!("{long}\nrest"), &*format!("{long}\n")),
        ] {
            assert_eq!(kept(log.as_bytes(), Extent::WholeLines), whole.as_bytes());
            assert_eq!(kept(log.as_bytes(), Extent::Whole), log.as_bytes());
        }
    }

    #[test]
    fn long_files_are_cut_at_the_same_places_whatever_follows() {
        let content: Vec<u8> = (0..CHUNK * 2 + 17).map(|at| (at % 251) as u8).collect();
        assert_eq!(kept(&content, Extent::Whole), content);
    }
}
