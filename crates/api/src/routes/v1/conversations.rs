//! Responses and conversations that OpenAI's clients refer to by id: `/v1/responses/{id}`,
//! `/v1/conversations`.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Map, Value, json};

use super::schemas;
use super::thread::{items, missing};
use crate::pass_through::{StoredConversation, StoredResponses};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, Route, Routes};

type JsonResult = Result<Json<Value>, Problem>;

pub(super) fn routes() -> Routes {
    let rows = [
        Route::get("/v1/responses/{id}", Access::Chat, response)
            .summary("Get a response of the last day")
            .answers_json::<schemas::AnyObject>(),
        Route::delete("/v1/responses/{id}", Access::Chat, delete_response)
            .summary("Delete a response")
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/responses/{id}/input_items", Access::Chat, input_items)
            .summary("List the input items of a response")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/conversations", Access::Chat, create)
            .summary("Create a conversation for responses")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/conversations/{id}", Access::Chat, show)
            .summary("Get a conversation of the last day")
            .answers_json::<schemas::AnyObject>(),
        Route::delete("/v1/conversations/{id}", Access::Chat, delete)
            .summary("Delete a conversation of responses")
            .answers_json::<schemas::AnyObject>(),
        Route::get("/v1/conversations/{id}/items", Access::Chat, conversation_items)
            .summary("List the items of a conversation")
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/conversations/{id}/items", Access::Chat, add_items)
            .summary("Add items to a conversation")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
    ];
    Routes::tagged("responses", rows)
}

async fn response(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> JsonResult {
    let found = stored(&state, &caller).response(&id).await?;
    found.map(|found| Json(found.body)).ok_or_else(|| missing("response_id", &id))
}

async fn delete_response(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> JsonResult {
    if !stored(&state, &caller).forget_response(&id).await? {
        return Err(missing("response_id", &id));
    }
    Ok(Json(json!({"id": id, "object": "response", "deleted": true})))
}

async fn input_items(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> JsonResult {
    let found = stored(&state, &caller).response(&id).await?;
    let found = found.ok_or_else(|| missing("response_id", &id))?;
    Ok(Json(listed(&found.input)))
}

async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> JsonResult {
    let conversation = StoredConversation {
        at: state.agent.now(),
        id: format!("conv_{}", state.agent.fresh_id()),
        metadata: body.get("metadata").cloned().unwrap_or_else(|| json!({})),
        items: items(body.get("items")),
    };
    stored(&state, &caller).put_conversation(&conversation).await?;
    Ok(Json(view(&conversation)))
}

async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> JsonResult {
    stored_conversation(&state, &caller, &id).await.map(|conversation| Json(view(&conversation)))
}

async fn delete(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> JsonResult {
    if !stored(&state, &caller).forget_conversation(&id).await? {
        return Err(missing("conversation_id", &id));
    }
    Ok(Json(json!({"id": id, "object": "conversation.deleted", "deleted": true})))
}

async fn conversation_items(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> JsonResult {
    stored_conversation(&state, &caller, &id)
        .await
        .map(|conversation| Json(listed(&conversation.items)))
}

async fn add_items(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> JsonResult {
    let mut conversation = stored_conversation(&state, &caller, &id).await?;
    let added = items(body.get("items"));
    conversation.items.extend(added.iter().cloned());
    stored(&state, &caller).put_conversation(&conversation).await?;
    Ok(Json(listed(&added)))
}

fn stored<'a>(state: &'a ApiState, caller: &'a AuthContext) -> StoredResponses<'a> {
    StoredResponses::of(&*state.store.short_lived, &caller.person)
}

async fn stored_conversation(
    state: &ApiState,
    caller: &AuthContext,
    id: &str,
) -> Result<StoredConversation, Problem> {
    let found = stored(state, caller).conversation(id).await?;
    found.ok_or_else(|| missing("conversation_id", id))
}

fn view(conversation: &StoredConversation) -> Value {
    json!({
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.at.as_millis() / 1_000,
        "metadata": conversation.metadata,
    })
}

fn listed(items: &[Value]) -> Value {
    let id = |item: Option<&Value>| item.and_then(|item| item.get("id")).cloned();
    let (first, last) = (id(items.first()), id(items.last()));
    json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": false})
}
