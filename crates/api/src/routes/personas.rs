//! Agents as personas: their texts and test inputs, and the built-in agent that edits them. The
//! wire is camelCase, as the clients of this surface have it.

mod editor;
mod storage;
mod test_inputs;

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use onyx_agent::AgentProfile;
use onyx_storage::{Change, PersonaFiles, StoreError};
use onyx_types::{AgentId, Author, ErrorCode, Fault, Origin};

use super::owned::OwnedRun;
use crate::routing::PathValue;
use crate::wire::encode::{PersonaEvent, PersonaFrames};
use crate::{Access, ApiState, AuthContext, Problem, Route, Routes};
use editor::{ChatRequest, Cleared, History, HistoryQuery, OfPersona};
use storage::{PersonaView, PutPersona};
use test_inputs::{Content, TestInputList, TestInputView};

const TEST_INPUT: PathValue =
    PathValue::Pattern(r"^[^./\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]*$");

pub(super) fn routes() -> Routes {
    use Access::{Owner, Read};
    let editor = [
        Route::post("/api/persona-agent/chat", Owner, editor::chat)
            .summary("Send a message to the persona editor")
            .body::<ChatRequest>()
            .answers_events::<PersonaEvent<'static>>(),
        Route::post("/api/persona-agent/clear", Owner, editor::clear)
            .summary("Begin a new conversation with the persona editor")
            .body::<OfPersona>()
            .answers_json::<Cleared>(),
        Route::get("/api/persona-agent/history", Read, editor::history)
            .summary("Get the messages of the persona editor")
            .query::<HistoryQuery>()
            .answers_json::<History>(),
    ];
    let personas = [
        Route::get("/api/storage/personas/{id}", Read, storage::show)
            .summary("Get an agent as a persona")
            .path_value("id", PathValue::NAME)
            .answers_json::<PersonaView>(),
        Route::put("/api/storage/personas/{id}", Owner, storage::put)
            .summary("Create or change a persona")
            .path_value("id", PathValue::NAME)
            .body::<PutPersona>()
            .answers_json::<PersonaView>(),
        Route::delete("/api/storage/personas/{id}", Owner, storage::delete)
            .summary("Remove a persona's agent from the config")
            .path_value("id", PathValue::NAME)
            .answers_nothing(),
    ];
    Routes::tagged("persona-agent", editor)
        .merge(Routes::tagged("storage", personas))
        .merge(test_input_routes())
}

fn test_input_routes() -> Routes {
    use Access::{Chat, Owner, Read};
    let rows = [
        Route::get("/api/storage/personas/{id}/test-inputs", Read, test_inputs::list)
            .summary("List a persona's test inputs")
            .path_value("id", PathValue::NAME)
            .answers_json::<TestInputList>(),
        Route::post("/api/storage/personas/{id}/test-inputs", Owner, test_inputs::create)
            .summary("Add a test input")
            .path_value("id", PathValue::NAME)
            .body::<Content>()
            .answers_created::<TestInputView>(),
        Route::get("/api/storage/personas/{id}/test-inputs/{tid}", Read, test_inputs::show)
            .summary("Get a test input")
            .path_value("id", PathValue::NAME)
            .path_value("tid", TEST_INPUT)
            .answers_json::<TestInputView>(),
        Route::put("/api/storage/personas/{id}/test-inputs/{tid}", Owner, test_inputs::put)
            .summary("Create or change a test input")
            .path_value("id", PathValue::NAME)
            .path_value("tid", TEST_INPUT)
            .body::<Content>()
            .answers_json::<TestInputView>(),
        Route::delete("/api/storage/personas/{id}/test-inputs/{tid}", Owner, test_inputs::delete)
            .summary("Delete a test input; its last version is kept")
            .path_value("id", PathValue::NAME)
            .path_value("tid", TEST_INPUT)
            .answers_nothing(),
        Route::post("/api/storage/personas/{id}/test-inputs/{tid}/run", Chat, test_inputs::run)
            .summary("Run a test input and stream the persona's answer")
            .path_value("id", PathValue::NAME)
            .path_value("tid", TEST_INPUT)
            .answers_events::<PersonaEvent<'static>>(),
    ];
    Routes::tagged("storage", rows)
}

fn known(state: &ApiState, id: &str) -> Result<AgentProfile, Problem> {
    let roster = state.agent.roster();
    let found = id.parse().ok().and_then(|id: AgentId| roster.get(&id).map(|it| (**it).clone()));
    found.ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no persona {id:?}.")))
}

fn files(state: &ApiState, persona: &AgentId) -> Result<PersonaFiles, Problem> {
    Ok(PersonaFiles::open(&*state.store.files, persona).map_err(Fault::from)?)
}

/// The record of a change that the person made.
fn change(state: &ApiState, caller: &AuthContext) -> Change {
    Change {
        ts: state.agent.now(),
        author: Author::Person(caller.person.clone()),
        origin: Origin::Person,
        run: None,
        tool: "persona".to_owned(),
    }
}

fn not_kept(error: StoreError) -> Problem {
    match error {
        StoreError::Refused(why) => Problem::new(ErrorCode::TooLarge, why),
        other => Fault::from(other).into(),
    }
}

/// The run in this surface's format, with the headers that are needed to resume it.
fn streamed(run: OwnedRun) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    let place = [
        (HeaderName::from_static("x-onyx-session-id"), run.session_id().to_string()),
        (HeaderName::from_static("x-onyx-run-id"), run.run_id().to_string()),
    ];
    (kind, place, run.into_body(PersonaFrames::default())).into_response()
}
