//! An append by one statement, in the form in which `append_once` decides what became of it.

use async_trait::async_trait;

use super::PostgresTurnLog;
use super::append::{AppendStatement, LogAfterAppend, NewLine, Written};
use crate::postgres::transaction::TransactionError;
use crate::{Attempt, Lease, LogState, LogTail, OneAppend, Pos, StoreError};

pub(super) struct StatementAppend<'a> {
    log: &'a PostgresTurnLog,
    lease: &'a Lease,
    lines: &'a [NewLine],
    statement: &'a AppendStatement<'a>,
    /// Where the holder left the log before this append.
    from: u64,
}

impl<'a> StatementAppend<'a> {
    pub(super) fn new(
        log: &'a PostgresTurnLog,
        lease: &'a Lease,
        lines: &'a [NewLine],
        statement: &'a AppendStatement<'a>,
    ) -> Self {
        let from = log.leases.log(&lease.key).map_or(0, |state| state.len);
        Self { log, lease, lines, statement, from }
    }
}

#[async_trait]
impl OneAppend for StatementAppend<'_> {
    type Fence = i64;
    type Written = Written;
    type Error = TransactionError;

    async fn attempt(&self, fence: i64) -> Attempt<Written, TransactionError> {
        self.log.put(self.lease, fence, self.lines, self.statement).await
    }

    async fn raise_fence(&self) -> Result<i64, StoreError> {
        self.log.leases.raise(self.lease).await
    }

    async fn tail(&self) -> Result<LogTail, StoreError> {
        self.log.tail_from(&self.lease.key, self.from).await
    }

    fn lines(&self) -> Vec<Vec<u8>> {
        self.lines.iter().map(|line| line.bytes.clone()).collect()
    }

    fn found(&self, tail: &LogTail, through: usize) -> Written {
        let bytes: usize = tail.lines[..through].iter().map(Vec::len).sum();
        let len = self.from + bytes as u64;
        let log = LogState { len, stamp: tail.state.stamp };
        self.log.leases.wrote(self.lease, log);
        // The next append sees how much is to be sealed.
        let appended = LogAfterAppend { end: Pos(len), unsealed_rows: 0, unsealed_bytes: 0 };
        Written { appended, log, row: None }
    }

    fn give_up(&self) {
        drop(self.log.leases.lost(self.lease));
    }
}
