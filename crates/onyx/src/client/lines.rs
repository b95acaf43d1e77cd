//! Reads NDJSON schema v2.

use bytes::{Buf, Bytes, BytesMut};
use onyx_types::{DraftId, ErrorCode, Preview, RunId, RunStatus, SessionId};
use reqwest::Response;
use serde::Deserialize;
use serde_json::Value;

use super::ClientError;

/// The lines of one answer as they arrive.
#[derive(Debug)]
pub(crate) struct ChatLines {
    response: Response,
    buffer: BytesMut,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ChatLine {
    Start {
        session_id: SessionId,
        run_id: RunId,
    },
    Text {
        delta: String,
        /// The agent whose words these are, if several answer.
        agent: Option<String>,
    },
    ToolCall {
        tool: String,
        args: Value,
    },
    ToolResult {
        ok: bool,
        summary: String,
    },
    Status {
        message: String,
    },
    Draft {
        draft_id: DraftId,
        tool: String,
        summary: String,
    },
    Confirm {
        draft_id: DraftId,
        tool: String,
        summary: String,
        preview: Preview,
    },
    Error {
        message: String,
        code: ErrorCode,
        hint: String,
    },
    Done {
        status: RunStatus,
    },
    /// A line type of a newer server.
    #[serde(other)]
    Unknown,
}

impl ChatLines {
    pub(super) fn new(response: Response) -> Self {
        Self { response, buffer: BytesMut::new() }
    }

    /// The next line without its newline; `None` at the end. Nothing is lost when the future is
    /// dropped before it is ready.
    pub(crate) async fn next_raw(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end).freeze();
                self.buffer.advance(1);
                return Ok(Some(line));
            }
            match self.response.chunk().await.map_err(ClientError::Unreachable)? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}

/// The data of an event stream's events, for events whose data is one line.
#[derive(Debug)]
pub(crate) struct EventLines(ChatLines);

impl EventLines {
    pub(super) fn new(response: Response) -> Self {
        Self(ChatLines::new(response))
    }

    /// The next event's data; `None` when the stream ended.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while let Some(mut line) = self.0.next_raw().await? {
            if line.starts_with(b"data:") {
                line.advance(b"data:".len());
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

impl ChatLine {
    pub(crate) fn parse(line: &[u8]) -> Self {
        // An unreadable line may come from a newer server too.
        serde_json::from_slice(line).unwrap_or(Self::Unknown)
    }
}
