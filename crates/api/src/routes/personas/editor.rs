//! `/api/persona-agent/*`: the conversation with the agent that edits a persona.

use axum::extract::State;
use axum::response::Response;
use onyx_agent::AgentServices;
use onyx_storage::Pos;
use onyx_types::{
    CallLabel, CallReport, SessionId, Timestamp, ToolCall, ToolCallTurn, ToolUseId, Turn, TurnBody,
    TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{known, streamed};
use crate::routes::owned::OwnedRun;
use crate::wire::Json;
use crate::{ApiState, AuthContext, JsonBody, Problem, QueryOf};

/// How many turns a page has.
const PAGE: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PersonaChatRequest")]
pub(crate) struct ChatRequest {
    persona_id: String,
    #[schemars(regex(pattern = r"\S"))]
    message: String,
}

pub(super) async fn chat(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<ChatRequest>,
) -> Result<Response, Problem> {
    let persona = known(&state, &request.persona_id)?.id;
    if request.message.trim().is_empty() {
        return Err(Problem::field("message", "it is empty"));
    }
    let request =
        state.agent.personas.editor_request(&caller.person, &persona, request.message).await?;
    Ok(streamed(OwnedRun::start(&state.agent.runs, request).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfPersona {
    persona_id: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PersonaCleared")]
pub(crate) struct Cleared {
    session_id: SessionId,
}

pub(super) async fn clear(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<OfPersona>,
) -> Result<Json<Cleared>, Problem> {
    let persona = known(&state, &request.persona_id)?.id;
    let session_id = state.agent.personas.clear_editor(&caller.person, &persona).await?;
    Ok(Json(Cleared { session_id }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PersonaHistoryQuery")]
pub(crate) struct HistoryQuery {
    persona_id: String,
    before: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PersonaHistory")]
pub(crate) struct History {
    turns: Vec<TurnView>,
    /// Give it as `before` to get the messages before these; absent at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PersonaTurn")]
struct TurnView {
    #[serde(flatten)]
    body: TurnBodyView,
    id: TurnId,
    created_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum TurnBodyView {
    User {
        content: String,
    },
    AssistantText {
        content: String,
    },
    ToolCall {
        tool_use_id: ToolUseId,
        tool_name: String,
        input: Value,
        label: Box<CallLabel>,
    },
    ToolResult {
        tool_use_id: ToolUseId,
        output: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        report: CallReport,
    },
}

pub(super) async fn history(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<HistoryQuery>,
) -> Result<Json<History>, Problem> {
    let persona = known(&state, &query.persona_id)?.id;
    let Some(session) = state.agent.personas.editor_session(&caller.person, &persona).await? else {
        return Ok(Json(History { turns: Vec::new(), before: None }));
    };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE);
    let page =
        state.agent.sessions.turns(&caller.person, session, query.before.map(Pos), limit).await?;
    let turns = page.turns.into_iter().filter_map(|turn| view(&state.agent, turn)).collect();
    Ok(Json(History { turns, before: page.has_older.then_some(page.start.0) }))
}

/// `None` for turns that are no part of the conversation, such as the start of a run.
fn view(agent: &AgentServices, turn: Turn) -> Option<TurnView> {
    let body = match turn.body {
        TurnBody::User(user) => TurnBodyView::User { content: user.content.text() },
        TurnBody::AssistantText(text) => TurnBodyView::AssistantText { content: text.content },
        TurnBody::ToolCall(ToolCallTurn { tool_use_id: id, tool_name: name, input, .. }) => {
            let call = ToolCall { id, name, input };
            let label = Box::new(agent.call_label(&call));
            let ToolCall { id: tool_use_id, name: tool_name, input } = call;
            TurnBodyView::ToolCall { tool_use_id, tool_name, input, label }
        }
        TurnBody::ToolResult(result) => TurnBodyView::ToolResult {
            report: result.known_report(),
            tool_use_id: result.tool_use_id,
            output: result.output,
            is_error: result.is_error,
        },
        TurnBody::Reasoning(_)
        | TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Summary(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => return None,
    };
    Some(TurnView { body, id: turn.id, created_at: turn.ts })
}
