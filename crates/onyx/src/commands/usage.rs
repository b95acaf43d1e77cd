//! `onyx usage`: shows tokens and cost by day, agent, model or person.

use anyhow::Result;
use onyx_types::percent_encoded;
use serde::Deserialize;

use super::{show, through};
use crate::cli::{UsageArguments, UsageBy};
use crate::exit::Exit;
use crate::home::HomeFolder;

#[derive(Deserialize)]
struct Report {
    since: String,
    until: String,
    total: Sum,
    days: Vec<Sum>,
    agents: Vec<Sum>,
    models: Vec<Sum>,
    people: Vec<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    name: String,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost: f64,
}

pub(crate) async fn run(home: &HomeFolder, arguments: &UsageArguments) -> Result<Exit> {
    let address = address(arguments);
    through(home, async |client| {
        let report = client.get(&address).await?;
        show(report, arguments.json, |report: Report| lines(&report, arguments.by)).await
    })
    .await
}

fn address(arguments: &UsageArguments) -> String {
    let UsageArguments { by: _, since, until, person, agent, model, json: _ } = arguments;
    let query = [
        ("since", since),
        ("until", until),
        ("person", person),
        ("agent", agent),
        ("model", model),
    ];
    let query = query.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<String> =
        query.map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect();
    format!("/api/admin/usage?{}", query.join("&"))
}

fn lines(report: &Report, by: UsageBy) -> Vec<String> {
    let (title, sums) = match by {
        UsageBy::Day => ("day", &report.days),
        UsageBy::Agent => ("agent", &report.agents),
        UsageBy::Model => ("model", &report.models),
        UsageBy::Person => ("person", &report.people),
    };
    let between = format!("{} to {}", report.since, report.until);
    if sums.is_empty() {
        return vec![format!("nothing was used from {between}")];
    }
    let named = |sum: &Sum| if sum.name.is_empty() { "(unknown)".len() } else { sum.name.len() };
    let width =
        sums.iter().map(named).chain([title.len(), "total".len()]).max().unwrap_or_default();
    let mut lines = vec![format!(
        "{title:<width$} {:>12} {:>12} {:>12} {:>12} {:>10}",
        "input", "output", "cache read", "cache write", "cost"
    )];
    lines.extend(sums.iter().map(|sum| {
        let name = if sum.name.is_empty() { "(unknown)" } else { &sum.name };
        row(name, sum, width)
    }));
    lines.push(row("total", &report.total, width));
    lines.push(format!("tokens and cost from {between}; unknown prices count as 0"));
    lines
}

fn row(name: &str, sum: &Sum, width: usize) -> String {
    let Sum { name: _, input, output, cache_read, cache_write, cost } = sum;
    format!(
        "{name:<width$} {input:>12} {output:>12} {cache_read:>12} {cache_write:>12} {cost:>10.4}"
    )
}
