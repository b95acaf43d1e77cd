use std::fs::File;
use std::io;

use super::ops::{FileOps, read_exact_at};

/// The size of the first block. It holds the last lines of most logs; later blocks are larger.
const FIRST_BLOCK: u64 = 4 * 1024;
const USUAL_BLOCK: u64 = 64 * 1024;
/// The largest block. A block grows beyond the usual size only while one line does not fit, so a
/// long line is copied a few times, not once for every 64 KiB of it.
const LARGEST_BLOCK: u64 = 8 * 1024 * 1024;

/// Reads lines from a position towards the start of a file, block by block.
pub(crate) struct BackwardLines<'a> {
    ops: &'a dyn FileOps,
    file: &'a File,
    /// The offset of `buffer[0]` in the file.
    base: u64,
    buffer: Vec<u8>,
    /// The end of the unread part of the buffer. Lines after it were handed out already.
    end: usize,
    block: u64,
}

impl<'a> BackwardLines<'a> {
    /// Starts at the end of the line whose newline ends at `from`.
    pub(crate) fn new(ops: &'a dyn FileOps, file: &'a File, from: u64) -> Self {
        Self { ops, file, base: from, buffer: Vec::new(), end: 0, block: FIRST_BLOCK }
    }

    /// Starts at the end of a line that lacks its newline.
    pub(crate) fn unterminated(ops: &'a dyn FileOps, file: &'a File, from: u64) -> Self {
        Self { buffer: vec![b'\n'], end: 1, ..Self::new(ops, file, from) }
    }

    /// Returns the next line towards the start, without its newline, and its offset. The caller may
    /// change the bytes, because they are not read again.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(u64, &mut [u8])>> {
        if self.end == 0 && !self.read_block()? {
            return Ok(None);
        }
        let newline = self.end - 1;
        let mut unsearched = newline;
        let start = loop {
            if let Some(before) = self.buffer[..unsearched].iter().rposition(|byte| *byte == b'\n')
            {
                break before + 1;
            }
            let held = self.end;
            if !self.read_block()? {
                break 0;
            }
            unsearched = self.end - held;
        };
        let line = start..self.end - 1;
        self.end = start;
        self.block = self.block.min(USUAL_BLOCK);
        Ok(Some((self.base + start as u64, &mut self.buffer[line])))
    }

    /// The byte just before the position where reading began.
    pub(crate) fn last_byte(&mut self) -> io::Result<Option<u8>> {
        if self.end == 0 && !self.read_block()? {
            return Ok(None);
        }
        Ok(self.buffer.get(self.end - 1).copied())
    }

    /// Puts the previous block of the file before the rest of the buffer; `false` at the start of
    /// the file.
    fn read_block(&mut self) -> io::Result<bool> {
        let size = self.block.min(self.base);
        if size == 0 {
            return Ok(false);
        }
        // The size is at most `LARGEST_BLOCK`, so it fits every usize.
        let size_in_memory = usize::try_from(size).map_err(io::Error::other)?;
        let mut joined = vec![0; size_in_memory + self.end];
        let (block, rest) = joined.split_at_mut(size_in_memory);
        read_exact_at(self.ops, self.file, block, self.base - size)?;
        rest.copy_from_slice(&self.buffer[..self.end]);
        self.base -= size;
        self.block = (self.block * 2).min(LARGEST_BLOCK);
        self.end = joined.len();
        self.buffer = joined;
        Ok(true)
    }
}
