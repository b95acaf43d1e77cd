//! `/api/storage/personas/{id}/test-inputs`: example messages that show how a persona answers.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use onyx_agent::Personas;
use onyx_storage::{PersonaFiles, TestInput, TestInputId};
use onyx_types::{ErrorCode, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{change, files, known, not_kept, streamed};
use crate::routes::owned::OwnedRun;
use crate::wire::Json;
use crate::{ApiState, AuthContext, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct TestInputView {
    id: String,
    content: String,
}

impl From<TestInput> for TestInputView {
    fn from(input: TestInput) -> Self {
        Self { id: input.id.to_string(), content: input.content.text }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestInputList {
    test_inputs: Vec<TestInputView>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "TestInputContent")]
pub(crate) struct Content {
    #[schemars(regex(pattern = r"\S"))]
    content: String,
}

impl Content {
    fn checked(self) -> Result<String, Problem> {
        if self.content.trim().is_empty() {
            return Err(Problem::field("content", "it is empty"));
        }
        Ok(self.content)
    }
}

pub(super) async fn list(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Json<TestInputList>, Problem> {
    let inputs = files(&state, &known(&state, &id)?.id)?.test_inputs().await;
    let inputs = inputs.map_err(Fault::from)?;
    Ok(Json(TestInputList { test_inputs: inputs.into_iter().map(TestInputView::from).collect() }))
}

pub(super) async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Content>,
) -> Result<(StatusCode, Json<TestInputView>), Problem> {
    let files = files(&state, &known(&state, &id)?.id)?;
    let content = body.checked()?;
    let id = files.free_test_input_id(&content).await.map_err(Fault::from)?;
    let change = change(&state, &caller);
    files.put_test_input(&id, &content, None, change).await.map_err(not_kept)?;
    Ok((StatusCode::CREATED, Json(TestInputView { id: id.to_string(), content })))
}

pub(super) async fn show(
    State(state): State<ApiState>,
    Path((id, test)): Path<(String, String)>,
) -> Result<Json<TestInputView>, Problem> {
    let files = files(&state, &known(&state, &id)?.id)?;
    Ok(Json(existing(&files, &test).await?.into()))
}

pub(super) async fn put(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, test)): Path<(String, String)>,
    JsonBody(body): JsonBody<Content>,
) -> Result<Json<TestInputView>, Problem> {
    let files = files(&state, &known(&state, &id)?.id)?;
    let content = body.checked()?;
    let test: TestInputId = test.parse().map_err(|error| Problem::field("tid", error))?;
    let present = files.test_input(&test).await.map_err(Fault::from)?;
    let base = present.map(|input| input.content.hash);
    let change = change(&state, &caller);
    files.put_test_input(&test, &content, base, change).await.map_err(not_kept)?;
    Ok(Json(TestInputView { id: test.to_string(), content }))
}

pub(super) async fn delete(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, test)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let files = files(&state, &known(&state, &id)?.id)?;
    let input = existing(&files, &test).await?;
    let change = change(&state, &caller);
    files.delete_test_input(&input.id, input.content.hash, change).await.map_err(not_kept)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Streams the persona's answer.
pub(super) async fn run(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, test)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let persona = known(&state, &id)?.id;
    let input = existing(&files(&state, &persona)?, &test).await?;
    let person = caller.person.clone();
    let request = Personas::test_request(person, persona, input.content.text);
    Ok(streamed(OwnedRun::start(&state.agent.runs, request).await?))
}

async fn existing(files: &PersonaFiles, test: &str) -> Result<TestInput, Problem> {
    let missing = || Problem::new(ErrorCode::NotFound, format!("There is no test input {test:?}."));
    let id: TestInputId = test.parse().map_err(|_| missing())?;
    files.test_input(&id).await.map_err(Fault::from)?.ok_or_else(missing)
}
