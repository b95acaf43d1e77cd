use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

/// The calls by which logs and objects use a disk. They are a trait so that tests can fail,
/// shorten, count or delay each of them; the default methods are what runs in production.
pub trait FileOps: Send + Sync + fmt::Debug {
    /// Makes one `write` call, which may write less than asked.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Makes one `pread` call; returns 0 at the end of the file.
    fn read_at(&self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Syncs a file with its metadata, or a directory with its names.
    fn sync_all(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }
}

/// The file operations of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFiles;

impl FileOps for SystemFiles {}

/// Fills the buffer from an offset; `UnexpectedEof` when the file ends before that.
pub(crate) fn read_exact_at(
    ops: &dyn FileOps,
    file: &File,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match ops.read_at(file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Appends all of the bytes or none to a file opened for appending. What a full disk cut short is
/// removed by truncating the file to `len`, its length before.
pub(crate) fn append_whole(
    ops: &dyn FileOps,
    file: &File,
    bytes: &[u8],
    len: u64,
) -> Result<(), AppendFault> {
    let written = loop {
        match ops.write(file, bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    let error = match written {
        Ok(count) if count == bytes.len() => return Ok(()),
        // A short write means that the disk is full. Writing the rest would give the error itself,
        // but could also write half a line more.
        Ok(_) => io::Error::from(io::ErrorKind::StorageFull),
        Err(error) => error,
    };
    match ops.set_len(file, len) {
        Ok(()) => Err(AppendFault::TakenBack(error)),
        Err(truncate) => Err(AppendFault::Stuck(truncate)),
    }
}

#[derive(Debug)]
pub(crate) enum AppendFault {
    /// None of the bytes are in the file.
    TakenBack(io::Error),
    /// Some of the bytes may be in the file and could not be removed.
    Stuck(io::Error),
}
