//! A session to take away: the log's own lines, or a page to read.

use std::fmt::Write as _;

use onyx_storage::SessionMeta;
use onyx_types::{ErrorCode, Turn};

use crate::history::{HistoryMessage, MessageRole, MessageStatus, messages};
use crate::{Problem, ToolView};

pub(super) fn jsonl(turns: &[Turn]) -> Result<String, Problem> {
    let mut text = String::new();
    for turn in turns {
        let line = serde_json::to_string(turn)
            .map_err(|error| Problem::new(ErrorCode::Internal, format!("a turn: {error}")))?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

// Writing to a string cannot fail, so the results of `write!` are dropped below.

pub(super) fn markdown(meta: &SessionMeta, turns: &[Turn]) -> String {
    let mut page = String::new();
    let title = meta.title.as_deref().unwrap_or("Session").replace('\n', " ");
    let _ = writeln!(page, "# {title}\n");
    let _ = writeln!(
        page,
        "Session `{}` with `{}`, begun {}.",
        meta.session_id, meta.agent, meta.created_at
    );
    for message in messages(turns) {
        add_message(&mut page, &message, meta.agent.as_str());
    }
    page
}

fn add_message(page: &mut String, message: &HistoryMessage, agent: &str) {
    let who = match message.role {
        MessageRole::User => "You",
        MessageRole::Assistant => agent,
    };
    let _ = write!(page, "\n## {who}, {}", message.created_at);
    if let Some(note) = note_of(message.status) {
        let _ = write!(page, " ({note})");
    }
    page.push('\n');
    for tool in &message.tools {
        let _ = writeln!(page, "\n> {}", tool_line(tool));
    }
    if !message.content.is_empty() {
        let _ = writeln!(page, "\n{}", message.content.trim_end());
    }
    if let Some(error) = &message.error {
        let _ = writeln!(page, "\n> {}: {}", error.code, error.message);
    }
}

fn tool_line(tool: &ToolView) -> String {
    let result = match tool.ok {
        Some(true) => "ok",
        Some(false) => "failed",
        None => "no result",
    };
    format!("`{}` {result}: {}", tool.tool, tool.summary)
}

fn note_of(status: MessageStatus) -> Option<&'static str> {
    match status {
        MessageStatus::Complete => None,
        MessageStatus::Cancelled => Some("cancelled"),
        MessageStatus::Error => Some("failed"),
        MessageStatus::Interrupted => Some("interrupted"),
        MessageStatus::Streaming => Some("still at work"),
    }
}
