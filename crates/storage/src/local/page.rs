use std::fs::File;

use onyx_types::Turn;

use crate::{Damage, DamageKind, Page, Pos, StoreError};

use super::backwards::BackwardLines;
use super::line::{self, Line};
use super::ops::FileOps;

/// A page of a log, and those of its lines that cannot be read. It is empty for a session whose
/// first turn is not written yet, because such a session has no file.
#[derive(Debug, Default)]
pub(crate) struct ReadPage {
    pub(crate) page: Page,
    pub(crate) unreadable: Vec<(u64, Vec<u8>)>,
}

/// How much of a log is read at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadLimits {
    pub(crate) turns: usize,
    /// The bound on bytes. One line may exceed it.
    pub(crate) bytes: u64,
}

/// Reads the last turns before `end`, which must be the end of a line.
pub(crate) fn read(
    ops: &dyn FileOps,
    file: &File,
    end: u64,
    limits: ReadLimits,
) -> Result<ReadPage, StoreError> {
    let mut lines = BackwardLines::new(ops, file, end);
    if limits.turns > 0 && !matches!(lines.last_byte()?, None | Some(b'\n')) {
        return Err(StoreError::Refused("not a position of this log".to_owned()));
    }
    let mut found = FoundTurns::default();
    let mut start = end;
    while found.turns.len() < limits.turns
        && end - start < limits.bytes
        && let Some((at, bytes)) = lines.next_line()?
    {
        found.take(at, bytes);
        start = at;
    }
    Ok(found.into_page(start))
}

/// The turns and damage found in lines, collected newest first while the lines are read.
#[derive(Default)]
pub(crate) struct FoundTurns {
    turns: Vec<Turn>,
    damage: Vec<Damage>,
    unreadable: Vec<(u64, Vec<u8>)>,
}

impl FoundTurns {
    pub(crate) fn take(&mut self, at: u64, bytes: &mut [u8]) {
        match line::decode(bytes) {
            Line::Turn(turn) => self.turns.push(turn),
            Line::Altered(turn, why) => {
                self.turns.push(turn);
                self.report(at, DamageKind::Altered, why);
            }
            Line::Unreadable(why) => self.take_pieces(at, bytes, &why),
            Line::Blank => {}
        }
    }

    fn take_pieces(&mut self, at: u64, bytes: &mut [u8], why: &str) {
        let pieces = line::pieces(bytes);
        if pieces.len() < 2 {
            self.unreadable.push((at, bytes.to_vec()));
            self.report(at, DamageKind::Unreadable, why);
            return;
        }
        self.report(at, DamageKind::Altered, "the newline between two lines was changed");
        for piece in pieces.into_iter().rev() {
            self.take(at + piece.start as u64, &mut bytes[piece]);
        }
    }

    fn report(&mut self, at: u64, kind: DamageKind, detail: &str) {
        self.damage.push(Damage { at: Pos(at), kind, detail: detail.to_owned() });
    }

    pub(crate) fn into_page(mut self, start: u64) -> ReadPage {
        self.turns.reverse();
        self.damage.reverse();
        let page = Page {
            turns: self.turns,
            start: Pos(start),
            has_older: start > 0,
            damage: self.damage,
        };
        ReadPage { page, unreadable: self.unreadable }
    }
}
