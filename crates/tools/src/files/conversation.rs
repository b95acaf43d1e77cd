//! A person's conversation as text, made from its log.

use onyx_storage::{Area, ObjectKey, StoreError};
use onyx_types::{HomePath, Origin, SessionId, Turn, TurnBody};

use crate::{ToolCx, ToolError};

/// The most bytes of a log that are read, from its end.
const LOG_BYTES: u64 = 32 * 1024 * 1024;
const MOST_AGENTS: usize = 1_000;

pub(crate) fn name(cx: &ToolCx, id: &str) -> Result<HomePath, ToolError> {
    let session = session(id)?;
    let person = Area::Person(cx.key.person.clone()).path();
    Ok(HomePath::new(format!("{person}/sessions/{session}")))
}

/// The conversation as text, one paragraph for each turn, without tool calls. Its origin is that of
/// the least trusted turn.
pub(crate) async fn read(cx: &ToolCx, id: &str) -> Result<(String, Origin), ToolError> {
    let session = session(id)?;
    let log = log(cx, session).await?;
    let log = log.ok_or_else(|| ToolError::NotFound(format!("conversation {session}")))?;
    let (mut text, mut origin) = (String::new(), Origin::Person);
    for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        // A line that a crash cut off holds no complete turn. Damage is reported by the part that
        // owns the log.
        let Ok(turn) = serde_json::from_slice::<Turn>(line) else { continue };
        if let Some(words) = spoken_text(&turn) {
            origin = origin.max(turn.origin);
            text.push_str(&format!("[{}] {}: {words}\n\n", turn.ts, turn.author));
        }
    }
    Ok((text, origin))
}

fn session(id: &str) -> Result<SessionId, ToolError> {
    id.parse().map_err(|error| ToolError::Arguments(format!("\"id\": {error}")))
}

async fn log(cx: &ToolCx, session: SessionId) -> Result<Option<Vec<u8>>, ToolError> {
    let person = cx.files.objects(&Area::Person(cx.key.person.clone()))?;
    let root: ObjectKey = "sessions".parse().map_err(StoreError::from)?;
    let agents = match person.list(Some(&root), MOST_AGENTS).await {
        Err(StoreError::NotFound) => return Ok(None),
        agents => agents?,
    };
    for agent in agents.iter().filter(|agent| agent.is_folder) {
        let key = agent.key.join(&format!("{session}.jsonl")).map_err(StoreError::from)?;
        match person.get(&key, LOG_BYTES).await {
            Ok(Some(object)) => return Ok(Some(object.bytes)),
            Ok(None) | Err(StoreError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn spoken_text(turn: &Turn) -> Option<String> {
    let text = match &turn.body {
        TurnBody::User(user) => user.content.text(),
        TurnBody::AssistantText(answer) => answer.content.clone(),
        TurnBody::Summary(summary) => summary.content.clone(),
        TurnBody::Reasoning(_)
        | TurnBody::ToolCall(_)
        | TurnBody::ToolResult(_)
        | TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}
