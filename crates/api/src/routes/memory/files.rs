//! `/v1/memory/files/{path}`: the person's files and their history.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_storage::{AuditEntry, SourceKind, SourceRow};
use onyx_tools::{NumberedVersion, PersonFiles};
use onyx_types::{
    Actor, Author, ErrorCode, Fault, Hash, Origin, RecordedTool, RunId, Scope, Timestamp,
    ToolEffect, Verdict, percent_encoded_path,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::routes::sessions::body_of;
use crate::routing::PathValue;
use crate::wire::{Json, JsonBody, RawBody};
use crate::wire::{etag, expected};
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

const LIST_MAX: u32 = 1_000;
/// The header that carries the origin of a file's content.
const ORIGIN: &str = "x-onyx-origin";
/// The header that carries the path of a file from the person's root.
const PATH: &str = "x-onyx-path";
const FILE_PATH: PathValue =
    PathValue::Pattern("^(memory/[a-z0-9][a-z0-9_-]{0,63}|vault)/[A-Za-z0-9_-]{1,64}\\.md$");

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/v1/memory/files", Read, list)
            .summary("List files")
            .query::<FilesQuery>()
            .answers_json::<FileList>(),
        Route::get("/v1/memory/files/{*path}", Read, read)
            .summary("Read a file, with its ETag; `<path>/history` lists its versions")
            .path_value("path", FILE_PATH)
            .query::<ReadQuery>()
            .answers_text("text/markdown"),
        Route::put("/v1/memory/files/{*path}", Write, write)
            .summary("Write a file; honours If-Match and If-None-Match")
            .path_value("path", FILE_PATH)
            .answers_nothing(),
        Route::delete("/v1/memory/files/{*path}", Write, delete)
            .summary("Delete a file; its last version is kept")
            .path_value("path", FILE_PATH)
            .answers_nothing(),
        Route::post("/v1/memory/files/{*path}", Write, act)
            .summary("Restore an earlier version (`<path>/restore`) or accept the file (`<path>/accept`)")
            .path_value("path", FILE_PATH)
            .body::<FileAct>()
            .answers_nothing(),
    ];
    Routes::tagged("memory", rows)
}

pub(super) fn own(state: &ApiState, caller: &AuthContext) -> PersonFiles {
    let files = Arc::clone(&state.store.files);
    PersonFiles::new(files, caller.person.clone(), state.agent.clock())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FilesQuery {
    /// Some of the kinds of sources, separated by commas; by default memory and daily.
    #[schemars(regex(
        pattern = r"^ *(page|task|ref|project|note|source|memory|daily|session|shared)( *, *(page|task|ref|project|note|source|memory|daily|session|shared))* *$"
    ))]
    types: Option<String>,
    /// Only paths after this one.
    after: Option<String>,
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FileList {
    files: Vec<FileView>,
    /// Give it as `after` for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FileView {
    path: String,
    source: SourceKind,
    scope: Scope,
    title: String,
    origin: Origin,
    size: u64,
    modified: Timestamp,
    /// Why its content is not indexed.
    problem: Option<String>,
}

impl From<SourceRow> for FileView {
    fn from(row: SourceRow) -> Self {
        Self {
            path: row.key.rooted_path(),
            source: row.kind,
            scope: row.scope,
            title: row.title,
            origin: row.origin,
            size: row.stamp.size,
            modified: row.stamp.modified,
            problem: row.problem,
        }
    }
}

pub(in crate::routes) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<FilesQuery>,
) -> Result<Json<FileList>, Problem> {
    let limit = query.limit.unwrap_or(LIST_MAX);
    if !(1..=LIST_MAX).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {LIST_MAX}")));
    }
    let kinds = query.types.as_deref().unwrap_or("memory,daily");
    let kinds: Vec<SourceKind> =
        kinds.split(',').map(str::trim).map(super::parse_kind).collect::<Result<_, _>>()?;
    let mut sources = state.index.files(&caller.person).await.map_err(Fault::from)?;
    if kinds.contains(&SourceKind::Shared) {
        sources.extend(state.store.chunks.sources(None).await.map_err(Fault::from)?);
    }
    let after = query.after.as_deref().unwrap_or_default();
    let wanted = sources.into_iter().filter(|row| kinds.contains(&row.kind));
    let wanted = wanted.map(FileView::from).filter(|file| file.path.as_str() > after);
    let mut files: Vec<FileView> = wanted.collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let more = files.len() > limit as usize;
    files.truncate(limit as usize);
    let after = files.last().filter(|_| more).map(|file| file.path.clone());
    Ok(Json(FileList { files, after }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VersionList {
    /// Newest first.
    versions: Vec<VersionView>,
}

/// A change of the file; restoring it brings back the content before it.
#[derive(Serialize, JsonSchema)]
struct VersionView {
    version: u64,
    ts: Timestamp,
    author: String,
    origin: Origin,
    run_id: Option<RunId>,
    tool: String,
    /// The file did not exist before this change.
    created: bool,
    deleted: bool,
}

impl From<NumberedVersion> for VersionView {
    fn from(NumberedVersion { number, version }: NumberedVersion) -> Self {
        Self {
            version: number,
            ts: version.change.ts,
            author: match &version.change.author {
                Author::Person(person) => format!("person:{person}"),
                Author::Agent(agent) => format!("agent:{agent}"),
                Author::System => "system".to_owned(),
            },
            origin: version.change.origin,
            run_id: version.change.run,
            tool: version.change.tool,
            created: version.before.is_none(),
            deleted: version.after.is_none(),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadQuery {
    /// Returns the content before this change instead of the current content.
    version: Option<u64>,
    /// The path is as an agent wrote it: one that names no folder of the person's is in the vault.
    #[serde(default)]
    cited: bool,
    /// With `version`: only this part of the content.
    part: Option<FilePart>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FilePart {
    /// The text without its front matter.
    Body,
}

/// The path from the person's root for a path that an agent wrote in a text.
fn path_cited(path: String) -> String {
    let root = path.split('/').next().unwrap_or_default();
    match root {
        "USER.md" | "memory" | "vault" | "spaces" | "shared" => path,
        _ => format!("vault/{path}"),
    }
}

/// Returns a file; `…/history` lists its changes, unless a file has that name.
pub(in crate::routes) async fn read(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<String>,
    QueryOf(query): QueryOf<ReadQuery>,
) -> Result<Response, Problem> {
    let own = own(&state, &caller);
    let path = if query.cited { path_cited(path) } else { path };
    if let Some(number) = query.version {
        let bytes = own.version(&path, number).await?.unwrap_or_default();
        let shown = match (query.part, std::str::from_utf8(&bytes)) {
            (Some(FilePart::Body), Ok(text)) => body_of(text).as_bytes().to_vec(),
            _ => bytes.to_vec(),
        };
        return Ok(([kind_of(&shown)], shown).into_response());
    }
    let found = own.read(&path).await;
    if let (Some(file), false) = (path.strip_suffix("/history"), matches!(found, Ok(Some(_)))) {
        match (own.versions(file).await, &found) {
            (Ok(versions), _) => {
                let versions = versions.into_iter().map(VersionView::from).collect();
                return Ok(Json(VersionList { versions }).into_response());
            }
            // The path before `/history` is invalid, so the whole path was meant as a file, which
            // does not exist.
            (Err(fault), Ok(_)) if fault.code == ErrorCode::InvalidRequest => {}
            (Err(fault), _) => return Err(fault.into()),
        }
    }
    let found = found?
        .ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no file {path:?}.")))?;
    let origin = own.origin(&path).await?.unwrap_or(Origin::Person);
    let origin = (HeaderName::from_static(ORIGIN), HeaderValue::from_static(origin.as_str()));
    let path = [(PATH, percent_encoded_path(&path))];
    let headers = [kind_of(&found.bytes), etag(&found.hash), origin];
    Ok((headers, path, found.bytes).into_response())
}

/// The content type of a file: text, or bytes for the other files that a vault may hold.
fn kind_of(bytes: &[u8]) -> (header::HeaderName, HeaderValue) {
    let kind = match std::str::from_utf8(bytes) {
        Ok(_) => "text/markdown; charset=utf-8",
        Err(_) => "application/octet-stream",
    };
    (header::CONTENT_TYPE, HeaderValue::from_static(kind))
}

/// Writes the whole file. With `If-Match` only the version that was read is replaced, with
/// `If-None-Match: *` no file is replaced.
pub(in crate::routes) async fn write(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<String>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    let hash = own(&state, &caller).write(&path, &body, expected(&headers)?).await?;
    Ok((StatusCode::NO_CONTENT, [etag(&hash)]).into_response())
}

pub(in crate::routes) async fn delete(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    own(&state, &caller).delete(&path, expected(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FileAct {
    /// For `restore`: the change whose previous content is restored.
    version: Option<u64>,
    /// For `accept`: the ETag of the file that the person read.
    seen: Option<String>,
}

pub(in crate::routes) async fn act(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(path): Path<String>,
    JsonBody(asked): JsonBody<FileAct>,
) -> Result<Response, Problem> {
    if let Some(path) = path.strip_suffix("/restore") {
        let missing = || Problem::field("version", "missing; name the version to restore");
        return restore(&own(&state, &caller), path, asked.version.ok_or_else(missing)?).await;
    }
    if let Some(path) = path.strip_suffix("/accept") {
        let missing = || Problem::field("seen", "it must be the ETag of the file that you read");
        let seen = asked.seen.as_deref().map(|tag| tag.trim_matches('"')).and_then(Hash::from_hex);
        return accept(&state, &caller, path, seen.ok_or_else(missing)?).await;
    }
    let message = "POST only to `<path>/restore` or `<path>/accept`; write a file with PUT";
    Err(Problem::new(ErrorCode::NotFound, message))
}

/// Restores the content that the file had before a change.
async fn restore(own: &PersonFiles, path: &str, version: u64) -> Result<Response, Problem> {
    Ok(match own.restore(path, version).await? {
        Some(hash) => (StatusCode::NO_CONTENT, [etag(&hash)]).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// The person has read the file and accepts its foreign text as their own; agents may then follow
/// it.
async fn accept(
    state: &ApiState,
    caller: &AuthContext,
    path: &str,
    seen: Hash,
) -> Result<Response, Problem> {
    let approver = caller.approver()?;
    let entry = AuditEntry {
        ts: state.agent.now(),
        person: caller.person.clone(),
        actor: Actor::Person(approver.person().clone()),
        agent: None,
        session: None,
        run: None,
        tool: Some(RecordedTool::constant("accept_file")),
        effect: Some(ToolEffect::Write),
        decision: Some(Verdict::Allow),
        diff_summary: path.to_owned(),
        result: format!("accepted {seen}"),
    };
    state.store.ledger.append_audit(entry).await.map_err(Fault::from)?;
    own(state, caller).accept(path, seen).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
