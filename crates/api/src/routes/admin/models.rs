//! `/api/admin/models*`, `/api/admin/budgets`.

use axum::extract::{Path, State};
use onyx_storage::{Expect, SpentAmount};
use onyx_types::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wire::Json;
use crate::{ApiState, AuthContext, ConfigChange, JsonBody, ModelView, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Models {
    pub(super) models: Vec<ModelView>,
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

/// Today's spending and its limits; 0 is no limit. In the currency of the price data.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Budgets {
    /// UTC, `YYYY-MM-DD`.
    day: String,
    limit_per_run: f64,
    limit_per_person: f64,
    limit_per_agent: f64,
    people: Vec<Account>,
    agents: Vec<Account>,
}

#[derive(Serialize, JsonSchema)]
struct Account {
    name: String,
    cost: f64,
    tokens: u64,
}

/// Sums of what is stored; runs in progress are added when they end.
pub(crate) async fn budgets(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<Budgets>, Problem> {
    let day = state.agent.today(&caller.person);
    let spending = state.store.ledger.spending(&day).await.map_err(Fault::from)?;
    let roster = state.agent.roster();
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

/// Absent limits stay as they are.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewLimits {
    #[schemars(range(min = 0.0))]
    limit_per_run: Option<f64>,
    #[schemars(range(min = 0.0))]
    limit_per_person: Option<f64>,
    #[schemars(range(min = 0.0))]
    limit_per_agent: Option<f64>,
}

/// Writes them into the config's `limits`.
pub(crate) async fn set_limits(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(new): JsonBody<NewLimits>,
) -> Result<Json<Budgets>, Problem> {
    let settings = [
        ("limit_per_run", "max_cost", new.limit_per_run),
        ("limit_per_person", "max_cost_per_day", new.limit_per_person),
        ("limit_per_agent", "max_cost_per_agent_day", new.limit_per_agent),
    ];
    let mut limits = Map::new();
    for (field, key, limit) in settings {
        let Some(limit) = limit else { continue };
        if !(limit.is_finite() && limit >= 0.0) {
            return Err(Problem::field(field, "it must be 0 (no limit) or more"));
        }
        limits.insert(key.to_owned(), Value::from(limit));
    }
    if !limits.is_empty() {
        let change = ConfigChange::SetLimits(limits);
        state.configuration.change(change, Expect::Anything).await?;
    }
    budgets(State(state), caller).await
}

fn account<Name: ToString>((name, spent): (Name, SpentAmount)) -> Account {
    Account { name: name.to_string(), cost: spent.cost, tokens: spent.tokens }
}
