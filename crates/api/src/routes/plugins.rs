//! `/api/admin/plugins`: packages of other people, what each asks for, and which are enabled.

mod view;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onyx_plugins::PackageFiles;
use onyx_storage::Expect;
use onyx_types::Hash;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::routing::PathValue;
use crate::wire::{DocumentBody, Json};
use crate::{
    Access, ApiState, AuthContext, ConfigChange, JsonBody, PluginSwitch, Problem, Route, Routes,
};
use view::{PluginWire, PluginWires};

const NAME: PathValue = PathValue::Pattern("^[a-z0-9][a-z0-9.-]{0,63}$");

pub(super) fn routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/plugins", Owner, list)
            .summary("List plugins: what each asks for, whether it is on, and its state")
            .answers_json::<PluginWires>(),
        Route::post("/api/admin/plugins", Owner, add)
            .summary("Add or update a plugin; it waits for acceptance")
            .body::<NewPlugin>()
            .answers_created::<PluginWire>(),
        Route::get("/api/admin/plugins/{name}", Owner, show)
            .summary("Get a plugin, with what waits for acceptance and its log")
            .path_value("name", NAME)
            .answers_json::<PluginWire>(),
        Route::delete("/api/admin/plugins/{name}", Owner, remove)
            .summary("Delete a plugin with its settings and data")
            .path_value("name", NAME)
            .answers_nothing(),
        Route::post("/api/admin/plugins/{name}/accept", Owner, accept)
            .summary("Accept a plugin and what it asks for, exactly as it is now")
            .path_value("name", NAME)
            .body::<SeenPlugin>()
            .answers_json::<PluginWire>(),
        Route::post("/api/admin/plugins/{name}/enable", Owner, enable)
            .summary("Enable an accepted plugin, or restart one that failed too often")
            .path_value("name", NAME)
            .answers_json::<PluginWire>(),
        Route::post("/api/admin/plugins/{name}/disable", Owner, disable)
            .summary("Disable a plugin")
            .path_value("name", NAME)
            .answers_json::<PluginWire>(),
        Route::put("/api/admin/plugins/{name}/config", Owner, set_config)
            .summary("Set a plugin's configuration; checked against its schema")
            .path_value("name", NAME)
            .body::<PluginConfig>()
            .answers_json::<PluginWire>(),
    ];
    Routes::tagged("plugins", rows)
}

async fn list(State(state): State<ApiState>) -> Result<Json<PluginWires>, Problem> {
    let mut plugins = Vec::new();
    for view in state.extensions.plugins.list().await? {
        let config = state.configuration.plugin(&view.name)?;
        plugins.push(PluginWire::of(view, config));
    }
    Ok(Json(PluginWires { plugins }))
}

async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<PluginWire>, Problem> {
    shown(&state, &name).await
}

async fn shown(state: &ApiState, name: &str) -> Result<Json<PluginWire>, Problem> {
    let view = state.extensions.plugins.get(name).await?;
    let config = state.configuration.plugin(name)?;
    Ok(Json(PluginWire::of(view, config)))
}

/// A plugin as exactly one of `files`, `zip` and `git`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPlugin {
    files: Option<Vec<PluginFile>>,
    /// A ZIP archive, in base64.
    zip: Option<String>,
    /// The https address of a repository; its newest commit is used.
    git: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PluginFile {
    path: String,
    /// The content in base64.
    content: String,
}

async fn add(
    State(state): State<ApiState>,
    DocumentBody(body): DocumentBody<NewPlugin>,
) -> Result<(StatusCode, Json<PluginWire>), Problem> {
    let NewPlugin { files, zip, git } = body;
    let files = match (files, zip, git) {
        (Some(files), None, None) => {
            let files = files.into_iter().map(|file| Ok((file.path, decoded(&file.content)?)));
            PackageFiles::of_files(files.collect::<Result<Vec<_>, Problem>>()?)?
        }
        (None, Some(zip), None) => PackageFiles::of_zip(&decoded(&zip)?)?,
        (None, None, Some(address)) => {
            PackageFiles::of_files(state.extensions.repositories.files(&address).await?)?
        }
        _ => return Err(Problem::field("files", "give one of `files`, `zip` and `git`")),
    };
    let view = state.extensions.plugins.add(files).await?;
    let config = state.configuration.plugin(&view.name)?;
    Ok((StatusCode::CREATED, Json(PluginWire::of(view, config))))
}

fn decoded(content: &str) -> Result<Vec<u8>, Problem> {
    STANDARD.decode(content).map_err(|_| Problem::field("content", "expected base64"))
}

/// The plugin as the person saw it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenPlugin {
    /// The `hash` of the plugin as it was shown.
    #[schemars(regex(pattern = r"^[0-9A-Fa-f]{64}$"))]
    hash: String,
}

async fn accept(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    JsonBody(seen): JsonBody<SeenPlugin>,
) -> Result<Json<PluginWire>, Problem> {
    let seen = Hash::from_hex(&seen.hash)
        .ok_or_else(|| Problem::field("hash", "expected 64 hex digits"))?;
    let view = state.extensions.plugins.accept(&caller.approver()?, &name, seen).await?;
    let config = state.configuration.plugin(&name)?;
    Ok(Json(PluginWire::of(view, config)))
}

async fn enable(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<PluginWire>, Problem> {
    state.extensions.plugins.check_enabling(&name).await?;
    let change = ConfigChange::SwitchPlugin { name: name.clone(), to: PluginSwitch::On };
    state.configuration.change(change, Expect::Anything).await?;
    state.extensions.plugins.start_anew(&name);
    shown(&state, &name).await
}

async fn disable(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<PluginWire>, Problem> {
    // The name must be known; a plugin whose folder is gone can be disabled too.
    state.extensions.plugins.get(&name).await?;
    let change = ConfigChange::SwitchPlugin { name: name.clone(), to: PluginSwitch::Off };
    state.configuration.change(change, Expect::Anything).await?;
    match state.extensions.plugins.get(&name).await {
        Ok(view) => {
            let config = state.configuration.plugin(&name)?;
            Ok(Json(PluginWire::of(view, config)))
        }
        Err(_) => Ok(Json(PluginWire::gone(name))),
    }
}

/// The settings, by the plugin's own schema.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PluginConfig {
    #[serde(flatten)]
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    settings: Map<String, Value>,
}

async fn set_config(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    JsonBody(wish): JsonBody<PluginConfig>,
) -> Result<Json<PluginWire>, Problem> {
    state.extensions.plugins.get(&name).await?;
    let change = ConfigChange::PutPlugin { name: name.clone(), settings: wish.settings };
    state.configuration.change(change, Expect::Anything).await?;
    shown(&state, &name).await
}

async fn remove(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let approver = caller.approver()?;
    state.extensions.plugins.get(&name).await?;
    let change = ConfigChange::RemovePlugin(name.clone());
    state.configuration.change(change, Expect::Anything).await?;
    state.extensions.plugins.remove(&approver, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
