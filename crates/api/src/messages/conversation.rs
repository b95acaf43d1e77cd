//! Messages of conversations that live in a space, as their surfaces show them.

use axum::http::HeaderMap;
use onyx_storage::InboxRow;
use onyx_surface::ToolState;
use onyx_types::{DraftId, Fault, SessionId, Timestamp, ToolCall, ToolUseId, Turn, TurnId, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use super::history::{HistoryMessage, MessageRole, MessageStatus, messages, status_of_words};
use crate::{ApiState, AuthContext, Problem};

const PAGE: usize = 50;
const LONGEST_PAGE: usize = 200;
/// How many turns are read at a time.
const TURNS: usize = 256;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConversationMessage")]
pub(crate) struct MessageView {
    pub(crate) id: String,
    pub(crate) role: MessageRole,
    /// The agent that answered; `person` for the person's own messages.
    pub(crate) author: String,
    /// For an answer: the message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<TurnId>,
    pub(crate) content: String,
    pub(crate) status: MessageStatus,
    pub(crate) created_at: Timestamp,
    /// The reason why there is no answer, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Fault>,
    pub(crate) metadata: Metadata,
}

#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "MessageMetadata")]
pub(crate) struct Metadata {
    tools: Vec<ToolTrace>,
    draft_ids: Vec<DraftId>,
    model: Option<String>,
    usage: Option<Usage>,
}

#[derive(Serialize, JsonSchema)]
struct ToolTrace {
    id: ToolUseId,
    tool: String,
    args_summary: String,
    status: ToolState,
}

impl MessageView {
    pub(crate) fn of(state: &ApiState, message: &HistoryMessage) -> Self {
        let tools = message.tools.iter().map(|call| {
            let asked =
                ToolCall { id: call.id.clone(), name: call.tool.clone(), input: call.args.clone() };
            ToolTrace {
                id: call.id.clone(),
                tool: call.tool.clone(),
                args_summary: state.agent.call_summary(&asked),
                status: ToolState::of(call.ok),
            }
        });
        Self {
            id: message.id.to_string(),
            role: message.role,
            author: message.agent.as_ref().map_or_else(person, ToString::to_string),
            question: None,
            content: message.content.clone(),
            status: message.status,
            created_at: message.created_at,
            error: message.error.clone(),
            metadata: Metadata {
                tools: tools.collect(),
                draft_ids: message.trace.draft_ids.clone(),
                model: message.trace.model.clone(),
                usage: message.trace.usage,
            },
        }
    }

    /// A message that no run has taken yet.
    pub(crate) fn posted(row: &InboxRow) -> Self {
        Self {
            id: row.turn.to_string(),
            role: MessageRole::User,
            author: person(),
            question: None,
            content: row.words.content.text(),
            status: status_of_words(&row.words),
            created_at: row.received_at,
            error: None,
            metadata: Metadata::default(),
        }
    }
}

/// The client's own key for the message it sends: `Idempotency-Key`. A message that arrives twice
/// under one key, because the receipt was lost, is added once.
pub(crate) fn client_id(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    const NAME: &str = "Idempotency-Key";
    const LONGEST: usize = 200;
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let key = value.to_str().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > LONGEST {
        let why = format!("it must be 1 to {LONGEST} plain characters");
        return Err(Problem::field(NAME, why));
    }
    Ok(Some(key.to_owned()))
}

fn person() -> String {
    "person".to_owned()
}

pub(crate) struct MessagePage {
    /// Oldest first.
    pub(crate) messages: Vec<HistoryMessage>,
    pub(crate) before: Option<TurnId>,
}

/// A page of messages before the given one, or the newest page.
pub(crate) async fn page(
    state: &ApiState,
    caller: &AuthContext,
    session: SessionId,
    before: Option<&str>,
    limit: Option<usize>,
) -> Result<MessagePage, Problem> {
    let limit = limit.unwrap_or(PAGE);
    if !(1..=LONGEST_PAGE).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {LONGEST_PAGE}")));
    }
    let before: Option<TurnId> = before
        .map(str::parse)
        .transpose()
        .map_err(|error: onyx_types::IdError| Problem::field("before", error))?;
    let mut turns: Vec<Turn> = Vec::new();
    let mut cursor = None;
    loop {
        let page = state.agent.sessions.turns(&caller.person, session, cursor, TURNS).await?;
        let (has_older, start) = (page.has_older, page.start);
        let mut older = page.turns;
        older.append(&mut turns);
        turns = older;
        let mut folded = messages(&turns);
        if has_older && folded.first().is_some_and(|first| first.role == MessageRole::Assistant) {
            // The beginning of this answer may be on an earlier page, so the answer is shown with
            // that page.
            folded.remove(0);
        }
        let end = match before {
            None => Some(folded.len()),
            Some(id) => folded.iter().position(|message| message.id == id),
        };
        match end {
            Some(end) if end >= limit || !has_older => {
                folded.truncate(end);
                let first = end.saturating_sub(limit);
                let messages = folded.split_off(first);
                let more = first > 0 || has_older;
                let before = messages.first().filter(|_| more).map(|message| message.id);
                return Ok(MessagePage { messages, before });
            }
            None if !has_older => return Err(Problem::field("before", "there is no such message")),
            Some(_) | None => cursor = Some(start),
        }
    }
}

/// Messages that no run has taken and that are not in the log's newest page.
pub(crate) async fn waiting(
    state: &ApiState,
    caller: &AuthContext,
    session: SessionId,
    newest: &MessagePage,
) -> Result<Vec<InboxRow>, Problem> {
    let mut rows = state.agent.conversations.unanswered(&caller.person, session).await?;
    rows.retain(|row| !newest.messages.iter().any(|message| message.id == row.turn));
    Ok(rows)
}
