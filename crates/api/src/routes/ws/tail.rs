//! New log lines that a connection follows.

use std::sync::Arc;

use futures::stream::{Stream, StreamExt as _};
use tokio::task::AbortHandle;

use super::command::RequestId;
use super::outbox::Outbox;
use super::result;
use crate::logs::LogLine;

#[derive(Debug, Default)]
pub(super) struct LogTail(Option<AbortHandle>);

impl LogTail {
    pub(super) fn tell(
        lines: impl Stream<Item = Arc<LogLine>> + Send + 'static,
        id: Option<RequestId>,
        outbox: Outbox,
    ) -> Self {
        let task = tokio::spawn(async move {
            let mut lines = std::pin::pin!(lines);
            while let Some(line) = lines.next().await {
                outbox.tell(result::log_line(id.as_ref(), &line)).await;
            }
        });
        Self(Some(task.abort_handle()))
    }
}

impl Drop for LogTail {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
