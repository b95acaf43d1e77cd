//! `/api/admin/*`: for the owner.

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

/// What a provider or a secret may be called in the config.
pub(super) const CONFIG_NAME: PathValue = PathValue::Pattern("^[A-Za-z0-9._-]{1,64}$");

pub(super) fn routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::post("/api/admin/reindex", Owner, reindex)
            .summary("Makes everything derived anew")
            .answers_json::<Reindexed>(),
        Route::get("/api/admin/config", Owner, config::read)
            .summary("The config file")
            .answers_json::<ConfigView>(),
        Route::put("/api/admin/config", Owner, config::write)
            .summary("Writes it; If-Match holds")
            .body::<NewConfig>()
            .answers_nothing(),
        Route::post("/api/admin/import", Owner, import::import)
            .summary("Brings what another program exported; twice brings nothing twice")
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
            .summary("The gateways that share one database, and what each does")
            .answers_json::<GatewayList>(),
        Route::post("/api/admin/gateways/{id}/drain", Owner, gateways::drain)
            .summary("Has one give back what it holds; one that is silent is forgotten")
            .path_value("id", CONFIG_NAME)
            .answers_nothing(),
    ];
    Routes::tagged("admin", rows)
}

fn provider_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/providers", Owner, providers::list)
            .summary("Where models come from")
            .answers_json::<Providers>(),
        Route::get("/api/admin/providers/found", Owner, logins::found)
            .summary("What runs on this machine and is not configured")
            .answers_json::<FoundProviders>(),
        Route::get("/api/admin/providers/{name}", Owner, providers::show)
            .summary("One of them, as it is and as it is written")
            .path_value("name", CONFIG_NAME)
            .answers_json::<ProviderDetails>(),
        Route::put("/api/admin/providers/{name}", Owner, providers::put)
            .summary("Makes it, or sets it anew")
            .path_value("name", CONFIG_NAME)
            .body::<PutProvider>()
            .answers_json::<ProviderDetails>(),
        Route::delete("/api/admin/providers/{name}", Owner, providers::remove)
            .summary("Takes it out of the config")
            .path_value("name", CONFIG_NAME)
            .answers_nothing(),
        Route::post("/api/admin/providers/{name}/test", Owner, providers::test)
            .summary("Asks it")
            .path_value("name", CONFIG_NAME)
            .answers_json::<TestView>(),
        Route::get("/api/admin/providers/{name}/models", Owner, providers::listed)
            .summary("What it says it has")
            .path_value("name", CONFIG_NAME)
            .answers_json::<Models>(),
        Route::get("/api/admin/providers/{name}/login", Owner, logins::show)
            .summary("How it stands with the sign-in")
            .path_value("name", CONFIG_NAME)
            .answers_json::<LoginView>(),
        Route::post("/api/admin/providers/{name}/login", Owner, logins::begin)
            .summary("Begins a sign-in, or gives back the one that waits")
            .path_value("name", CONFIG_NAME)
            .query::<logins::BeginLogin>()
            .answers_created::<LoginBegun>(),
        Route::post("/api/admin/providers/{name}/login/callback", Owner, logins::finish)
            .summary("Takes the address at which a browser on another machine ended")
            .path_value("name", CONFIG_NAME)
            .body::<logins::FinishLogin>()
            .answers_json::<LoginView>(),
        Route::delete("/api/admin/providers/{name}/login", Owner, logins::end)
            .summary("Signs out, or stops waiting")
            .path_value("name", CONFIG_NAME)
            .answers_nothing(),
    ];
    Routes::tagged("admin", rows)
}

fn model_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/models", Owner, models::models)
            .summary("The models to choose from")
            .answers_json::<Models>(),
        Route::get("/api/admin/models/{*id}", Owner, models::model)
            .summary("What is known of one")
            .answers_json::<ModelView>(),
        Route::get("/api/admin/default-model", Owner, default_model::show)
            .summary("What agents without a model of their own answer with")
            .answers_json::<DefaultModel>(),
        Route::put("/api/admin/default-model", Owner, default_model::set)
            .summary("Sets it, and what is asked in its place")
            .body::<DefaultModel>()
            .answers_json::<DefaultModel>(),
        Route::get("/api/admin/budgets", Owner, models::budgets)
            .summary("Today's spending and its limits")
            .answers_json::<Budgets>(),
        Route::put("/api/admin/budgets", Owner, models::set_limits)
            .summary("Sets the limits")
            .body::<NewLimits>()
            .answers_json::<Budgets>(),
        Route::get("/api/admin/usage", Owner, usage::usage)
            .summary("What was used, by day, agent, model and person")
            .query::<UsageQuery>()
            .answers_json::<UsageReport>(),
    ];
    Routes::tagged("admin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reindexed {
    sessions: u64,
    /// Logs with lines that cannot be read; the rest of them was.
    damaged: u64,
    /// Files that were read for the index, and how many of them held something new.
    files: u64,
    changed: u64,
}

/// Makes everything derived anew from the files.
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
