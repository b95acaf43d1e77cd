//! `/v1/agents/{id}/files/{name}`: the files that describe an agent. Replaced content is kept in
//! the agent's own history.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_storage::{Area, Change, Expect, Object, ObjectKey, Objects, StoreError};
use onyx_types::{Author, ErrorCode, Fault, Hash, Origin};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{known, objects};
use crate::wire::{JsonBody, RawBody};
use crate::wire::{etag, expected};
use crate::{ApiState, AuthContext, Problem};

/// The most bytes of a file: more than any prompt uses of it.
const LONGEST_FILE: usize = 256 * 1024;

pub(crate) async fn read(
    State(state): State<ApiState>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let agent = known(&state.agent.roster(), &id)?.id.clone();
    let found = current(&*objects(&state, &agent)?, &file_key(&name)?).await?;
    let found = found.ok_or_else(|| no_file(&name))?;
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/markdown; charset=utf-8"));
    Ok(([kind, etag(&found.hash)], found.bytes).into_response())
}

/// Writes the whole file. With `If-Match` only the version that was read is replaced, with
/// `If-None-Match: *` no file is replaced.
pub(crate) async fn write(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    let agent = known(&state.agent.roster(), &id)?.id.clone();
    let key = file_key(&name)?;
    if body.len() > LONGEST_FILE {
        let message = format!("an agent's file may have at most {LONGEST_FILE} bytes");
        return Err(Problem::new(ErrorCode::TooLarge, message));
    }
    if std::str::from_utf8(&body).is_err() {
        return Err(Problem::new(ErrorCode::InvalidRequest, "the file is not UTF-8"));
    }
    let objects = objects(&state, &agent)?;
    let before = current(&*objects, &key).await?;
    let present = before.as_ref().map_or(Expect::Absent, |file| Expect::Is(file.hash));
    let holds = match expected(&headers)? {
        Expect::Anything => true,
        wanted => wanted == present,
    };
    if !holds {
        return Err(Fault::plain(ErrorCode::VersionConflict).into());
    }
    let change = Change {
        ts: state.agent.now(),
        author: Author::Person(caller.person.clone()),
        origin: Origin::Person,
        run: None,
        tool: "api".to_owned(),
    };
    if before.as_ref().is_none_or(|file| file.hash != Hash::of(&body)) {
        let area = Area::Agent(agent.clone());
        let history = state.store.files.history_of(&area).map_err(Fault::from)?;
        history.keep(&key, before.as_ref(), Some(&body), change).await.map_err(Fault::from)?;
    }
    // The write is conditional on the content that was kept, so no text is replaced without being
    // in the history.
    let hash = match objects.put(&key, &body, present).await {
        Ok(hash) => hash,
        Err(StoreError::Conflict) => return Err(Fault::plain(ErrorCode::VersionConflict).into()),
        Err(error) => return Err(Fault::from(error).into()),
    };
    Ok((StatusCode::NO_CONTENT, [etag(&hash)]).into_response())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AcceptFile {
    /// The ETag of the version that was read.
    seen: String,
}

/// The owner has read the file and lets the agent follow it, wherever its content came from.
pub(crate) async fn accept(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, name)): Path<(String, String)>,
    JsonBody(asked): JsonBody<AcceptFile>,
) -> Result<StatusCode, Problem> {
    caller.approver()?;
    let agent = known(&state.agent.roster(), &id)?.id.clone();
    let key = file_key(&name)?;
    let found = current(&*objects(&state, &agent)?, &key).await?.ok_or_else(|| no_file(&name))?;
    if Hash::from_hex(asked.seen.trim_matches('"')) != Some(found.hash) {
        return Err(Fault::plain(ErrorCode::VersionConflict).into());
    }
    let history = state.store.files.history_of(&Area::Agent(agent)).map_err(Fault::from)?;
    history.accept(&key, &found).await.map_err(Fault::from)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn current(objects: &dyn Objects, key: &ObjectKey) -> Result<Option<Object>, Fault> {
    Ok(objects.get(key, LONGEST_FILE as u64).await?)
}

fn file_key(name: &str) -> Result<ObjectKey, Problem> {
    let key: ObjectKey = name.parse().map_err(|error| Problem::field("name", error))?;
    if !name.ends_with(".md") || key.is_hidden() {
        return Err(Problem::field("name", "an agent's file must be named <name>.md"));
    }
    Ok(key)
}

fn no_file(name: &str) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("The agent has no file {name:?}."))
}
