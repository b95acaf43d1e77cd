//! `/api/admin/providers*`, `/api/admin/models*`, `/api/admin/budgets`.

use axum::Json;
use axum::extract::{Path, State};
use onyx_storage::Spent;
use onyx_types::Fault;
use serde::Serialize;

use crate::{ApiState, ModelView, Problem, ProviderView, TestView};

#[derive(Serialize)]
pub(crate) struct Providers {
    providers: Vec<ProviderView>,
}

#[derive(Serialize)]
pub(crate) struct Models {
    models: Vec<ModelView>,
}

pub(crate) async fn providers(State(state): State<ApiState>) -> Json<Providers> {
    Json(Providers { providers: state.catalogue.providers() })
}

pub(crate) async fn test(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<TestView>, Problem> {
    Ok(Json(state.catalogue.test(&name).await?))
}

pub(crate) async fn listed(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<Models>, Problem> {
    Ok(Json(Models { models: state.catalogue.listed(&name).await? }))
}

pub(crate) async fn models(State(state): State<ApiState>) -> Json<Models> {
    Json(Models { models: state.catalogue.models() })
}

pub(crate) async fn model(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Json<ModelView>, Problem> {
    Ok(Json(state.catalogue.model(&id)?))
}

/// Today's spending beside its limits; 0 is no limit. In the currency of the price data.
#[derive(Serialize)]
pub(crate) struct Budgets {
    /// UTC, `YYYY-MM-DD`.
    day: String,
    limit_per_run: f64,
    limit_per_person: f64,
    limit_per_agent: f64,
    people: Vec<Account>,
    agents: Vec<Account>,
}

#[derive(Serialize)]
struct Account {
    name: String,
    cost: f64,
    tokens: u64,
}

/// What is stored; runs at work are booked at their end.
pub(crate) async fn budgets(State(state): State<ApiState>) -> Result<Json<Budgets>, Problem> {
    let day = state.runs.today();
    let spending = state.store.ledger.spending(&day).await.map_err(Fault::from)?;
    let roster = state.runs.roster();
    let limits = roster.limits();
    Ok(Json(Budgets {
        day,
        limit_per_run: limits.max_cost,
        limit_per_person: limits.max_cost_per_day,
        limit_per_agent: limits.max_cost_per_agent_day,
        people: spending.people.into_iter().map(account).collect(),
        agents: spending.agents.into_iter().map(account).collect(),
    }))
}

fn account<Name: ToString>((name, spent): (Name, Spent)) -> Account {
    Account { name: name.to_string(), cost: spent.cost, tokens: spent.tokens }
}
