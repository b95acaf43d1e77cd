//! `/api/skills`: instructions for certain kinds of work, which agents open when they need them.

mod view;

use crate::wire::{DocumentBody, Json};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onyx_tools::{Skill, SkillPackage};
use onyx_types::{AgentId, ErrorCode, Fault, Hash};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::routing::PathValue;
use crate::wire::expected;
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};
use view::{SkillFileView, SkillView, SkillViews};

const NAME: PathValue = PathValue::Pattern("^[a-z0-9]+(-[a-z0-9]+)*$");

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/api/skills", Read, list)
            .summary("List the skills of the vault and of agents, including those with errors")
            .answers_json::<SkillViews>(),
        Route::post("/api/skills/import", Write, import)
            .summary("Import skills into the vault; they wait for acceptance")
            .body::<SkillImport>()
            .answers_created::<SkillViews>(),
        Route::get("/api/skills/{name}", Read, show)
            .summary("Get a skill with its text and what waits for acceptance")
            .path_value("name", NAME)
            .query::<WhoseSkill>()
            .answers_json::<SkillView>(),
        Route::put("/api/skills/{name}", Write, write)
            .summary("Write and accept a skill of the vault; honours If-Match and If-None-Match")
            .path_value("name", NAME)
            .body::<SkillText>()
            .answers_json::<SkillView>(),
        Route::delete("/api/skills/{name}", Write, remove)
            .summary("Delete a skill; its files' last versions are kept")
            .path_value("name", NAME)
            .answers_nothing(),
        Route::post("/api/skills/{name}/accept", Write, accept)
            .summary("Accept a skill as it is now")
            .path_value("name", NAME)
            .body::<SeenSkill>()
            .answers_json::<SkillView>(),
        Route::get("/api/skills/{name}/file", Read, file)
            .summary("Read a file of a skill")
            .path_value("name", NAME)
            .query::<FileOfSkill>()
            .answers_json::<SkillFileView>(),
    ];
    Routes::tagged("skills", rows)
}

async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<SkillViews>, Problem> {
    let agents: Vec<AgentId> =
        state.agent.roster().agents().map(|agent| agent.id.clone()).collect();
    let skills = state.extensions.skills.list(&caller.person, &agents).await?;
    Ok(Json(SkillViews { skills: skills.iter().map(SkillView::of).collect() }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WhoseSkill {
    /// The agent in whose folder the skill is; without it, the vault.
    agent: Option<AgentId>,
}

async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    QueryOf(owner): QueryOf<WhoseSkill>,
) -> Result<Json<SkillView>, Problem> {
    let skills = &state.extensions.skills;
    shown(skills.get(&caller.person, owner.agent.as_ref(), &name).await?)
}

/// The whole `SKILL.md`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SkillText {
    text: String,
}

async fn write(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SkillText>,
) -> Result<Json<SkillView>, Problem> {
    let (approver, expect) = (caller.approver()?, expected(&headers)?);
    shown(state.extensions.skills.write(&approver, &name, &body.text, expect).await?)
}

async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    state.extensions.skills.remove(&caller.approver()?, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The skill as the person saw it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SeenSkill {
    /// The `hash` of the skill as it was shown.
    #[schemars(regex(pattern = r"^[0-9A-Fa-f]{64}$"))]
    hash: String,
}

async fn accept(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    JsonBody(seen): JsonBody<SeenSkill>,
) -> Result<Json<SkillView>, Problem> {
    let seen = Hash::from_hex(&seen.hash)
        .ok_or_else(|| Problem::field("hash", "expected 64 hex digits"))?;
    shown(state.extensions.skills.accept(&caller.approver()?, &name, seen).await?)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FileOfSkill {
    /// A path as the skill's `files` list it.
    path: String,
    agent: Option<AgentId>,
}

async fn file(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    QueryOf(query): QueryOf<FileOfSkill>,
) -> Result<Json<SkillFileView>, Problem> {
    let skills = &state.extensions.skills;
    let skill = skills.get(&caller.person, query.agent.as_ref(), &name).await?;
    let bytes = skill.files.get(&query.path).ok_or_else(|| {
        let message = format!("The skill {name} has no file {}.", query.path);
        Fault::new(ErrorCode::NotFound, message)
    })?;
    Ok(Json(SkillFileView::of(&query.path, bytes)))
}

/// Files, or a ZIP archive of them. Each folder with a `SKILL.md` is a skill.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillImport {
    /// The name of a skill at the top of the package that does not name itself.
    name: Option<String>,
    files: Option<Vec<BroughtFile>>,
    /// A ZIP archive in base64.
    zip: Option<String>,
    /// The https address of a repository; its newest commit is used.
    git: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BroughtFile {
    path: String,
    /// The content in base64.
    content: String,
}

async fn import(
    State(state): State<ApiState>,
    caller: AuthContext,
    DocumentBody(body): DocumentBody<SkillImport>,
) -> Result<(StatusCode, Json<SkillViews>), Problem> {
    let SkillImport { name, files, zip, git } = body;
    let package = match (files, zip, git) {
        (Some(files), None, None) => {
            let files = files.into_iter().map(|file| Ok((file.path, decoded(&file.content)?)));
            SkillPackage::of_files(name, files.collect::<Result<Vec<_>, Problem>>()?)?
        }
        (None, Some(zip), None) => SkillPackage::of_zip(name, &decoded(&zip)?)?,
        (None, None, Some(address)) => {
            let last = address.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let name = name.or_else(|| Some(last.trim_end_matches(".git").to_lowercase()));
            SkillPackage::of_files(name, state.extensions.repositories.files(&address).await?)?
        }
        _ => return Err(Problem::field("files", "give one of `files`, `zip` and `git`")),
    };
    let skills = state.extensions.skills.import(&caller.approver()?, package).await?;
    let skills = skills.iter().map(SkillView::of).collect();
    Ok((StatusCode::CREATED, Json(SkillViews { skills })))
}

fn decoded(content: &str) -> Result<Vec<u8>, Problem> {
    STANDARD.decode(content).map_err(|_| Problem::field("content", "expected base64"))
}

fn shown(skill: Skill) -> Result<Json<SkillView>, Problem> {
    Ok(Json(SkillView::whole(skill)))
}
