//! `/api/admin/*`: the routes for the owner.

mod config;
mod default_model;
mod gateways;
mod import;
mod import_lines;
mod logins;
mod models;
mod providers;
mod usage;

use axum::extract::State;
use onyx_import::ImportReport;
use onyx_storage::rebuild_person;
use onyx_types::Fault;
use schemars::JsonSchema;
use serde::Serialize;

use crate::routing::PathValue;
use crate::wire::Json;
use crate::{
    Access, ApiState, ConfigView, LoginBegun, LoginView, ModelView, Problem, Route, Routes,
    TestView,
};
use config::NewConfig;
use default_model::DefaultModel;
use gateways::GatewayList;
use import::ImportQuery;
use import_lines::ImportLine;
use logins::FoundProviders;
use models::{Budgets, Models, NewLimits};
use providers::{ProviderDetails, Providers, PutProvider};
use usage::{UsageQuery, UsageReport};

/// The allowed names of providers and secrets in the config.
pub(super) const CONFIG_NAME: PathValue = PathValue::Pattern("^[A-Za-z0-9._-]{1,64}$");

pub(super) fn routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::post("/api/admin/reindex", Owner, reindex)
            .summary("Rebuild everything derived from the files")
            .answers_json::<Reindexed>(),
        Route::get("/api/admin/config", Owner, config::read)
            .summary("Get the config file")
            .answers_json::<ConfigView>(),
        Route::put("/api/admin/config", Owner, config::write)
            .summary("Replace the config file; honours If-Match")
            .body::<NewConfig>()
            .answers_nothing(),
        Route::post("/api/admin/import", Owner, import::import)
            .summary("Import an export of another program; repeating it adds nothing twice")
            .query::<ImportQuery>()
            .answers_json_or_lines::<ImportReport, ImportLine>(),
    ];
    let all = Routes::tagged("admin", rows).merge(provider_routes()).merge(model_routes());
    all.merge(gateway_routes())
}

fn gateway_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/gateways", Owner, gateways::list)
            .summary("List the gateways that share the database")
            .answers_json::<GatewayList>(),
        Route::post("/api/admin/gateways/{id}/drain", Owner, gateways::drain)
            .summary("Drain a gateway: it gives back what it holds; a silent one is removed from the list")
            .path_value("id", CONFIG_NAME)
            .answers_nothing(),
    ];
    Routes::tagged("admin", rows)
}

fn provider_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/providers", Owner, providers::list)
            .summary("List model providers")
            .answers_json::<Providers>(),
        Route::get("/api/admin/providers/found", Owner, logins::found)
            .summary("List model servers found on this machine that are not configured")
            .answers_json::<FoundProviders>(),
        Route::get("/api/admin/providers/{name}", Owner, providers::show)
            .summary("Get a provider: its state and its settings")
            .path_value("name", CONFIG_NAME)
            .answers_json::<ProviderDetails>(),
        Route::put("/api/admin/providers/{name}", Owner, providers::put)
            .summary("Create or replace a provider")
            .path_value("name", CONFIG_NAME)
            .body::<PutProvider>()
            .answers_json::<ProviderDetails>(),
        Route::delete("/api/admin/providers/{name}", Owner, providers::remove)
            .summary("Remove a provider from the config")
            .path_value("name", CONFIG_NAME)
            .answers_nothing(),
        Route::post("/api/admin/providers/{name}/test", Owner, providers::test)
            .summary("Test a provider with a request")
            .path_value("name", CONFIG_NAME)
            .answers_json::<TestView>(),
        Route::get("/api/admin/providers/{name}/models", Owner, providers::listed)
            .summary("List the models that a provider offers")
            .path_value("name", CONFIG_NAME)
            .answers_json::<Models>(),
        Route::get("/api/admin/providers/{name}/login", Owner, logins::show)
            .summary("Get the state of a provider's sign-in")
            .path_value("name", CONFIG_NAME)
            .answers_json::<LoginView>(),
        Route::post("/api/admin/providers/{name}/login", Owner, logins::begin)
            .summary("Begin a sign-in at a provider, or return the one under way")
            .path_value("name", CONFIG_NAME)
            .query::<logins::BeginLogin>()
            .answers_created::<LoginBegun>(),
        Route::post("/api/admin/providers/{name}/login/callback", Owner, logins::finish)
            .summary("Finish a sign-in with the address that a browser on another machine ended at")
            .path_value("name", CONFIG_NAME)
            .body::<logins::FinishLogin>()
            .answers_json::<LoginView>(),
        Route::delete("/api/admin/providers/{name}/login", Owner, logins::end)
            .summary("Sign out of a provider, or cancel the sign-in under way")
            .path_value("name", CONFIG_NAME)
            .answers_nothing(),
    ];
    Routes::tagged("admin", rows)
}

fn model_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/models", Owner, models::models)
            .summary("List models")
            .answers_json::<Models>(),
        Route::get("/api/admin/models/{*id}", Owner, models::model)
            .summary("Get a model")
            .answers_json::<ModelView>(),
        Route::get("/api/admin/default-model", Owner, default_model::show)
            .summary("Get the default model and its fallbacks")
            .answers_json::<DefaultModel>(),
        Route::put("/api/admin/default-model", Owner, default_model::set)
            .summary("Set the default model and its fallbacks")
            .body::<DefaultModel>()
            .answers_json::<DefaultModel>(),
        Route::get("/api/admin/budgets", Owner, models::budgets)
            .summary("Get today's spending and its limits")
            .answers_json::<Budgets>(),
        Route::put("/api/admin/budgets", Owner, models::set_limits)
            .summary("Set spending limits")
            .body::<NewLimits>()
            .answers_json::<Budgets>(),
        Route::get("/api/admin/usage", Owner, usage::usage)
            .summary("Get usage by day, agent, model and person")
            .query::<UsageQuery>()
            .answers_json::<UsageReport>(),
    ];
    Routes::tagged("admin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reindexed {
    sessions: u64,
    /// Logs with unreadable lines; their other lines were read.
    damaged: u64,
    /// Files that were read for the index, and how many of them had changed.
    files: u64,
    changed: u64,
}

/// Rebuilds everything that is derived from the files.
pub(super) async fn reindex(State(state): State<ApiState>) -> Result<Json<Reindexed>, Problem> {
    let mut all = Reindexed { sessions: 0, damaged: 0, files: 0, changed: 0 };
    for person in state.store.files.people().await.map_err(Fault::from)? {
        let store = &state.store;
        let rebuilt = rebuild_person(&*store.turns, &*store.ledger, &*store.files, &person)
            .await
            .map_err(Fault::from)?;
        all.sessions += rebuilt.sessions;
        all.damaged += rebuilt.damaged;
    }
    let read = state.index.rebuild().await.map_err(Fault::from)?;
    (all.files, all.changed) = (read.checked, read.indexed + read.removed);
    Ok(Json(all))
}
