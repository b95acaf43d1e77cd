//! Conversations that are attached to a page, task, ref or project.

use axum::extract::{Path, State};
use onyx_storage::SessionFilter;
use onyx_types::EntityRef;
use schemars::JsonSchema;
use serde::Serialize;

use super::entities::{check_entity, entity_ref};
use crate::routes::sessions::SessionView;
use crate::wire::Json;
use crate::{ApiState, AuthContext, Problem};

/// The most conversations listed beside an entity; all of them are in the list of chats.
const MOST: u32 = 50;

#[derive(Serialize, JsonSchema)]
pub(crate) struct AttachedConversations {
    sessions: Vec<SessionView>,
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<(String, String, String)>,
) -> Result<Json<AttachedConversations>, Problem> {
    let at: EntityRef = entity_ref(&state, &caller, &path).await?;
    check_entity(&state, &caller, &at).await?;
    let filter = SessionFilter { attached: Some(at), limit: MOST, ..SessionFilter::default() };
    let sessions = state.agent.sessions.list(&caller.person, &filter).await?;
    let sessions = sessions.into_iter().map(SessionView::from).collect();
    Ok(Json(AttachedConversations { sessions }))
}
