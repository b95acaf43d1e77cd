use std::fs::File;

use onyx_types::TurnId;

use crate::StoreError;

use super::line::{self, Line};
use super::ops::{FileOps, read_exact_at};

const BLOCK: u64 = 1024 * 1024;

/// Copies lines of a log from its start through one turn, byte for byte, checksums included.
/// Unreadable lines are left out, because they are kept with the log in which they were damaged.
pub(crate) fn through(
    ops: &dyn FileOps,
    from: &File,
    len: u64,
    last: TurnId,
    to: &File,
) -> Result<u64, StoreError> {
    let mut copy = Copy { ops, to, last, buffer: Vec::new(), written: 0 };
    let mut pending = Vec::new();
    let mut at = 0;
    while at < len {
        let size = usize::try_from(BLOCK.min(len - at)).unwrap_or(0);
        let kept = pending.len();
        pending.resize(kept + size, 0);
        read_exact_at(ops, from, &mut pending[kept..], at)?;
        at += size as u64;
        let mut start = 0;
        while let Some(length) = pending[start..].iter().position(|byte| *byte == b'\n') {
            if copy.line(&mut pending[start..start + length])? == CopyProgress::Last {
                copy.flush()?;
                return Ok(copy.written);
            }
            start += length + 1;
        }
        pending.drain(..start);
    }
    Err(StoreError::NotFound)
}

struct Copy<'a> {
    ops: &'a dyn FileOps,
    to: &'a File,
    last: TurnId,
    buffer: Vec<u8>,
    written: u64,
}

#[derive(PartialEq, Eq)]
enum CopyProgress {
    More,
    Last,
}

impl Copy<'_> {
    fn line(&mut self, bytes: &mut [u8]) -> Result<CopyProgress, StoreError> {
        let pieces = line::pieces(bytes);
        for piece in pieces {
            let bytes = &mut bytes[piece];
            let turn = match line::decode(bytes) {
                Line::Turn(turn) | Line::Altered(turn, _) => turn,
                Line::Unreadable(_) | Line::Blank => continue,
            };
            self.buffer.extend_from_slice(bytes);
            self.buffer.push(b'\n');
            if turn.id == self.last {
                return Ok(CopyProgress::Last);
            }
        }
        if self.buffer.len() as u64 >= BLOCK {
            self.flush()?;
        }
        Ok(CopyProgress::More)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            match self.ops.write(self.to, rest)? {
                0 => return Err(StoreError::Full),
                count => rest = &rest[count..],
            }
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
