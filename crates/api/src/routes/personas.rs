//! Agents as personas: their texts and test inputs, and the built-in agent that edits them. The
//! wire is camelCase, as the clients of this surface have it.

mod editor;
mod storage;
mod test_inputs;

/// What the routes read and write, for their description.
pub(crate) mod views {
    pub(crate) use super::editor::{ChatRequest, Cleared, History, HistoryQuery, OfPersona};
    pub(crate) use super::storage::{PersonaView, PutPersona};
    pub(crate) use super::test_inputs::{Content, TestInputList, TestInputView};
}

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use onyx_agent::AgentProfile;
use onyx_storage::{Change, PersonaFiles, StoreError};
use onyx_types::{AgentId, Author, ErrorCode, Fault, Origin};

use super::owned::OwnedRun;
use crate::encode::PersonaFrames;
use crate::{Access, ApiState, AuthContext, Problem, Routes};

pub(super) fn routes() -> Routes {
    use Access::{Chat, Owner, Read};
    Routes::new()
        .post("/api/persona-agent/chat", Owner, editor::chat)
        .post("/api/persona-agent/clear", Owner, editor::clear)
        .get("/api/persona-agent/history", Read, editor::history)
        .get("/api/storage/personas/{id}", Read, storage::show)
        .put("/api/storage/personas/{id}", Owner, storage::put)
        .delete("/api/storage/personas/{id}", Owner, storage::delete)
        .get("/api/storage/personas/{id}/test-inputs", Read, test_inputs::list)
        .post("/api/storage/personas/{id}/test-inputs", Owner, test_inputs::create)
        .get("/api/storage/personas/{id}/test-inputs/{tid}", Read, test_inputs::show)
        .put("/api/storage/personas/{id}/test-inputs/{tid}", Owner, test_inputs::put)
        .delete("/api/storage/personas/{id}/test-inputs/{tid}", Owner, test_inputs::delete)
        .post("/api/storage/personas/{id}/test-inputs/{tid}/run", Chat, test_inputs::run)
}

fn known(state: &ApiState, id: &str) -> Result<AgentProfile, Problem> {
    let roster = state.agent.roster();
    let found = id.parse().ok().and_then(|id: AgentId| roster.get(&id).map(|it| (**it).clone()));
    found.ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no persona {id:?}.")))
}

fn files(state: &ApiState, persona: &AgentId) -> Result<PersonaFiles, Problem> {
    Ok(PersonaFiles::open(&*state.store.files, persona).map_err(Fault::from)?)
}

/// A person's own change.
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

/// The run as this surface tells it, with what is needed to come back to it.
fn streamed(run: OwnedRun) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    let place = [
        (HeaderName::from_static("x-onyx-session-id"), run.session_id().to_string()),
        (HeaderName::from_static("x-onyx-run-id"), run.run_id().to_string()),
    ];
    (kind, place, run.into_body(PersonaFrames::default())).into_response()
}
