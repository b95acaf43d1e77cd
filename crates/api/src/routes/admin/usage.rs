//! `GET /api/admin/usage`: usage, summed up for the owner.

use std::collections::BTreeMap;

use axum::extract::State;
use onyx_storage::UsageRow;
use onyx_types::{Fault, Timestamp, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Json;
use crate::{ApiState, AuthContext, Problem, QueryOf};

const USUAL_DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UsageQuery {
    /// The first day, UTC; by default 30 days before the last.
    #[schemars(extend("format" = "date"))]
    since: Option<String>,
    /// The last day, UTC; by default today.
    #[schemars(extend("format" = "date"))]
    until: Option<String>,
    person: Option<String>,
    agent: Option<String>,
    model: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageReport {
    since: String,
    until: String,
    total: Sum,
    /// Each list holds every part of the total once, sorted by name; days without use are left out.
    days: Vec<Sum>,
    agents: Vec<Sum>,
    models: Vec<Sum>,
    people: Vec<Sum>,
}

#[derive(Default, Serialize, JsonSchema)]
struct Sum {
    /// The day, agent, model or person; empty for the total, and where the model is unknown.
    name: String,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// In the currency of the price data; models without a known price count as zero.
    cost: f64,
}

impl Sum {
    fn add(&mut self, usage: &Usage) {
        self.input += usage.input;
        self.output += usage.output;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write;
        self.cost += usage.cost.unwrap_or(0.0);
    }
}

/// Sums of what is stored; runs in progress are added when they end.
pub(crate) async fn usage(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<UsageQuery>,
) -> Result<Json<UsageReport>, Problem> {
    let until = match query.until {
        Some(day) => checked("until", day)?,
        None => state.agent.today(&caller.person),
    };
    let since = match query.since {
        Some(day) => checked("since", day)?,
        None => days_before(&until)?,
    };
    let rows = state.store.ledger.usage(&since, &until).await.map_err(Fault::from)?;
    let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|it| it == name);
    let rows: Vec<UsageRow> = rows
        .into_iter()
        .filter(|row| is(&query.person, row.person.as_str()))
        .filter(|row| is(&query.agent, row.used.agent.as_str()))
        .filter(|row| is(&query.model, row.used.model.as_str()))
        .collect();
    let mut total = Sum::default();
    rows.iter().for_each(|row| total.add(&row.used.usage));
    Ok(Json(UsageReport {
        since,
        until,
        total,
        days: summed(&rows, |row| &row.day),
        agents: summed(&rows, |row| row.used.agent.as_str()),
        models: summed(&rows, |row| row.used.model.as_str()),
        people: summed(&rows, |row| row.person.as_str()),
    }))
}

fn summed(rows: &[UsageRow], name: impl Fn(&UsageRow) -> &str) -> Vec<Sum> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for row in rows {
        sums.entry(name(row)).or_default().add(&row.used.usage);
    }
    sums.into_iter().map(|(name, sum)| Sum { name: name.to_owned(), ..sum }).collect()
}

fn checked(field: &str, day: String) -> Result<String, Problem> {
    match start_of(&day) {
        Some(_) => Ok(day),
        None => Err(Problem::field(field, "it must be a day: YYYY-MM-DD")),
    }
}

fn start_of(day: &str) -> Option<Timestamp> {
    format!("{day}T00:00:00Z").parse().ok()
}

fn days_before(until: &str) -> Result<String, Problem> {
    let until =
        start_of(until).ok_or_else(|| Problem::field("until", "it must be a day: YYYY-MM-DD"))?;
    Ok(Timestamp::from_millis(until.as_millis() - USUAL_DAYS * DAY_MS).utc_date())
}
