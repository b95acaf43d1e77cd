//! `/api/admin/mcp`: MCP servers, and which of their tools agents may use.

mod view;

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_mcp::oauth::Callback;
use onyx_mcp::{ServerSettings, from_others};
use onyx_storage::Expect;
use onyx_types::{ErrorCode, Fault, Hash, ToolEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::routing::PathValue;
use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, ConfigChange, JsonBody, Problem, Route, Routes};
use view::{McpServerView, McpServerViews};

const NAME: PathValue = PathValue::Pattern("^[a-z0-9_-]{1,32}$");

pub(super) fn routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/mcp", Owner, list)
            .summary("List MCP servers with the tools they last offered")
            .answers_json::<McpServerViews>(),
        Route::post("/api/admin/mcp", Owner, add)
            .summary(
                "Add MCP servers in the format of other clients; their tools wait for acceptance",
            )
            .body::<NewMcpServers>()
            .answers_created::<McpServerViews>(),
        Route::get("/api/admin/mcp/{name}", Owner, show)
            .summary("Get an MCP server: its state, tools and log")
            .path_value("name", NAME)
            .answers_json::<McpServerView>(),
        Route::delete("/api/admin/mcp/{name}", Owner, remove)
            .summary("Remove an MCP server from the config")
            .path_value("name", NAME)
            .answers_nothing(),
        Route::post("/api/admin/mcp/{name}/test", Owner, test)
            .summary("Restart an MCP server and list its tools")
            .path_value("name", NAME)
            .answers_json::<McpServerView>(),
        Route::post("/api/admin/mcp/{name}/accept", Owner, accept)
            .summary("Accept tools as they describe themselves now")
            .path_value("name", NAME)
            .body::<SeenTools>()
            .answers_json::<McpServerView>(),
        Route::post("/api/admin/mcp/{name}/login", Owner, login)
            .summary("Begin a sign-in at an MCP server: get the address to open")
            .path_value("name", NAME)
            .body::<McpLogin>()
            .answers_json::<McpLoginBegun>(),
        Route::post("/api/admin/mcp/{name}/login/finish", Owner, finish_login)
            .summary("Finish a sign-in at an MCP server with what the browser brought back")
            .path_value("name", NAME)
            .body::<McpCallback>()
            .answers_json::<McpServerView>(),
        Route::post("/api/admin/mcp/{name}/logout", Owner, logout)
            .summary("Sign out of an MCP server")
            .path_value("name", NAME)
            .answers_json::<McpServerView>(),
        Route::put("/api/admin/mcp/{name}/tools/{tool}", Owner, set_tool)
            .summary("Switch a tool on or off, or set its effect")
            .path_value("name", NAME)
            .body::<McpToolSettings>()
            .answers_json::<McpServerView>(),
    ];
    Routes::tagged("mcp", rows)
}

async fn list(State(state): State<ApiState>) -> Result<Json<McpServerViews>, Problem> {
    let servers = state.extensions.mcp.list().await?;
    Ok(Json(McpServerViews { servers: servers.into_iter().map(McpServerView::of).collect() }))
}

async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<McpServerView>, Problem> {
    Ok(Json(McpServerView::of(state.extensions.mcp.get(&name).await?)))
}

/// `{"mcpServers": {…}}` as other clients have it, or servers by name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewMcpServers {
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pasted: Map<String, Value>,
}

async fn add(
    State(state): State<ApiState>,
    JsonBody(new): JsonBody<NewMcpServers>,
) -> Result<(StatusCode, Json<McpServerViews>), Problem> {
    let servers = from_others(&Value::Object(new.pasted))?;
    let mut added = Vec::new();
    for (name, settings) in servers {
        let settings = written(&settings)?;
        let change = ConfigChange::PutMcpServer { name: name.clone(), settings };
        let put = state.configuration.change(change, Expect::Absent).await;
        put.map_err(|problem| name_taken(&name, problem))?;
        added.push(McpServerView::of(state.extensions.mcp.get(&name).await?));
    }
    Ok((StatusCode::CREATED, Json(McpServerViews { servers: added })))
}

fn name_taken(name: &str, problem: Problem) -> Problem {
    if problem.fault().code != ErrorCode::VersionConflict {
        return problem;
    }
    let message = format!("An MCP server {name} already exists.");
    let hint = "Remove it first, or choose another name.";
    Fault::new(ErrorCode::VersionConflict, message).with_hint(hint).into()
}

async fn remove(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let change = ConfigChange::RemoveMcpServer(name);
    state.configuration.change(change, Expect::Anything).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn test(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<McpServerView>, Problem> {
    Ok(Json(McpServerView::of(state.extensions.mcp.refresh(&name).await?)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpLogin {
    /// The address that the browser returns to; it must be on this machine.
    redirect_uri: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct McpLoginBegun {
    /// The address to open in the browser.
    address: String,
    /// Comes back with the browser.
    state: String,
}

async fn login(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    JsonBody(wish): JsonBody<McpLogin>,
) -> Result<Json<McpLoginBegun>, Problem> {
    let near = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];
    if !near.iter().any(|near| wish.redirect_uri.starts_with(near)) {
        return Err(Problem::field("redirect_uri", "it must be an address of this machine"));
    }
    let begun = state.extensions.mcp.begin_sign_in(&name, &wish.redirect_uri).await?;
    Ok(Json(McpLoginBegun { address: begun.address, state: begun.state }))
}

/// What the browser brought back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpCallback {
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

async fn finish_login(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    JsonBody(back): JsonBody<McpCallback>,
) -> Result<Json<McpServerView>, Problem> {
    let McpCallback { state: attempt, code, iss, error } = back;
    let callback = Callback { state: attempt, code, iss, error };
    let mcp = &state.extensions.mcp;
    let view = mcp.finish_sign_in(&caller.approver()?, &name, &callback).await?;
    Ok(Json(McpServerView::of(view)))
}

async fn logout(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<McpServerView>, Problem> {
    Ok(Json(McpServerView::of(state.extensions.mcp.sign_out(&name).await?)))
}

/// The tools as the person saw them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenTools {
    /// The `hash` of each tool as it was shown.
    tools: BTreeMap<String, String>,
}

async fn accept(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(name): Path<String>,
    JsonBody(seen): JsonBody<SeenTools>,
) -> Result<Json<McpServerView>, Problem> {
    let hash = |(tool, hash): (&String, &String)| {
        let hash = Hash::from_hex(hash);
        let hash = hash.ok_or_else(|| Problem::field("tools", "expected 64 hex digits"))?;
        Ok((tool.clone(), hash))
    };
    let seen = seen.tools.iter().map(hash).collect::<Result<BTreeMap<_, _>, Problem>>()?;
    let view = state.extensions.mcp.accept(&caller.approver()?, &name, &seen).await?;
    Ok(Json(McpServerView::of(view)))
}

/// Absent settings stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpToolSettings {
    enabled: Option<bool>,
    effect: Option<ToolEffect>,
}

async fn set_tool(
    State(state): State<ApiState>,
    Path((name, tool)): Path<(String, String)>,
    JsonBody(wish): JsonBody<McpToolSettings>,
) -> Result<Json<McpServerView>, Problem> {
    if let Some(plugin) = state.extensions.plugins.plugin_of_server(&name) {
        let message = format!("The MCP server {name} belongs to the plugin {plugin}.");
        let hint = "The effect of its tools is fixed: they reach out. Accept the tools that agents may use.";
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint).into());
    }
    let view = state.extensions.mcp.get(&name).await?;
    if !view.tools.iter().any(|known| known.name == tool) {
        let message = format!("The MCP server {name} has no tool {tool}.");
        return Err(Fault::new(ErrorCode::NotFound, message).into());
    }
    let mut settings = view.settings;
    if let Some(enabled) = wish.enabled {
        settings.tools.deny.retain(|denied| *denied != tool);
        if !enabled {
            settings.tools.deny.push(tool.clone());
        } else if let Some(allow) = &mut settings.tools.allow
            && !allow.contains(&tool)
        {
            allow.push(tool.clone());
        }
    }
    settings.effects.extend(wish.effect.map(|effect| (tool, effect)));
    let settings = written(&settings)?;
    let change = ConfigChange::PutMcpServer { name: name.clone(), settings };
    state.configuration.change(change, Expect::Anything).await?;
    Ok(Json(McpServerView::of(state.extensions.mcp.get(&name).await?)))
}

/// The settings as the config has them, without defaults.
fn written(settings: &ServerSettings) -> Result<Map<String, Value>, Problem> {
    let usual = serde_json::to_value(ServerSettings::default());
    let (Ok(Value::Object(mut fields)), Ok(usual)) = (serde_json::to_value(settings), usual) else {
        return Err(Problem::field("settings", "they cannot be written to the config"));
    };
    fields.retain(|key, value| usual.get(key) != Some(value));
    Ok(fields)
}
