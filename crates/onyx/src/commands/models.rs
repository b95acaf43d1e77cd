//! `onyx providers`, `onyx models`, `onyx budgets`: providers and their health, models, and spending.

use anyhow::Result;
use onyx_local::LOCAL;
use serde::Deserialize;
use serde_json::{Value, json};

use super::login::{self, Login, SignInWay};
use super::refused;
use super::weights::{self, ModelFiles};
use crate::cli::{BudgetArguments, ModelsCommand, ProvidersCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

pub(crate) async fn providers(home: &HomeFolder, command: ProvidersCommand) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let client = connection.client();
    let result = match command {
        ProvidersCommand::List { json } => show(client, "/api/admin/providers", json, list).await,
        ProvidersCommand::Status { json } => {
            show(client, "/api/admin/providers", json, status).await
        }
        ProvidersCommand::Models { provider, json } => {
            let path = format!("/api/admin/providers/{provider}/models");
            show(client, &path, json, model_table).await
        }
        ProvidersCommand::Test { provider, json } => test(client, provider, json).await,
        ProvidersCommand::Login { provider, browser, json } => {
            let way = if browser { SignInWay::Browser } else { SignInWay::Usual };
            login::login(client, &provider, way, json).await
        }
        ProvidersCommand::Logout { provider, json } => login::logout(client, &provider, json).await,
    };
    finish(connection, result).await
}

pub(crate) async fn models(home: &HomeFolder, command: ModelsCommand) -> Result<Exit> {
    match command {
        ModelsCommand::List { json: true } => {
            one(home, "/api/admin/models", true, model_table).await
        }
        ModelsCommand::List { json: false } => {
            let connection = Connection::open(home).await?;
            let result = list_models(home, connection.client()).await;
            finish(connection, result).await
        }
        ModelsCommand::Info { model, json } => {
            let connection = Connection::open(home).await?;
            let result = info(connection.client(), &model, json).await;
            finish(connection, result).await
        }
        ModelsCommand::Pull(arguments) => weights::pull(home, arguments).await,
        ModelsCommand::Rm { model, json } => weights::remove(home, &model, json),
    }
}

pub(crate) async fn budgets(home: &HomeFolder, arguments: &BudgetArguments) -> Result<Exit> {
    one(home, "/api/admin/budgets", arguments.json, spending).await
}

async fn one<T: serde::de::DeserializeOwned>(
    home: &HomeFolder,
    path: &str,
    json: bool,
    print: fn(T),
) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let result = show(connection.client(), path, json, print).await;
    finish(connection, result).await
}

async fn finish(connection: Connection, result: Result<Exit, ClientError>) -> Result<Exit> {
    connection.close().await;
    Ok(result.unwrap_or_else(|error| refused(&error)))
}

/// Prints an answer, as JSON or as text for a person.
async fn show<T: serde::de::DeserializeOwned>(
    client: &Client,
    path: &str,
    json: bool,
    print: fn(T),
) -> Result<Exit, ClientError> {
    if json {
        let value: Value = client.get_json(path).await?;
        output::json(&value);
    } else {
        print(client.get_json(path).await?);
    }
    Ok(Exit::Done)
}

#[derive(Deserialize)]
struct Providers {
    providers: Vec<Provider>,
}

#[derive(Deserialize)]
struct Provider {
    name: String,
    kind: Option<String>,
    state: String,
    detail: Option<String>,
    address: Option<String>,
    key: Option<String>,
    health: String,
    models: Vec<String>,
    called: Vec<ModelCalls>,
    login: Option<Login>,
}

#[derive(Deserialize)]
struct ModelCalls {
    model: String,
    circuit: String,
    failures: u32,
    next_try_seconds: Option<u64>,
    calls: u64,
    answered: u64,
    retries: u64,
    first_content_ms: Option<f64>,
}

fn list(all: Providers) {
    if all.providers.is_empty() {
        return output::aside("no provider is configured: add one under `providers` in onyx.json");
    }
    let row = |provider: Provider| {
        let place = provider.address.or(provider.detail).unwrap_or_default();
        let kind = provider.kind.unwrap_or_default();
        let signed_in = provider.login.as_ref().map(Login::words);
        let key = provider.key.or(signed_in).unwrap_or_default();
        [provider.name, kind, provider.state, key, place]
    };
    table(["NAME", "KIND", "STATE", "KEY", "ADDRESS"], all.providers.into_iter().map(row));
}

fn status(all: Providers) {
    for provider in all.providers {
        let detail = provider.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
        let word = if provider.state == "ready" { &provider.health } else { &provider.state };
        output::line(&format!("{} {word}{detail}", provider.name));
        if let Some(login) = &provider.login {
            output::line(&format!("  {}", login.words()));
        }
        if provider.called.is_empty() && !provider.models.is_empty() {
            output::line(&format!("  not called yet: {}", provider.models.join(", ")));
        }
        for called in provider.called {
            output::line(&format!("  {}", called.line()));
        }
    }
}

impl ModelCalls {
    fn line(&self) -> String {
        let Self { model, calls, answered, retries, failures, .. } = self;
        let mut line = format!("{model}: {calls} calls, {answered} answered, {retries} retries");
        if let Some(first) = self.first_content_ms {
            line += &format!(", first word after {first:.0} ms");
        }
        match (self.circuit.as_str(), self.next_try_seconds) {
            ("open", Some(seconds)) => {
                line += &format!("; paused after {failures} failures, next try in {seconds} s");
            }
            ("half_open", _) => line += "; being tried again",
            _ if *failures > 0 => line += &format!("; {failures} failures in a row"),
            _ => {}
        }
        line
    }
}

#[derive(Deserialize)]
struct TestedProvider {
    name: String,
    ok: bool,
    advice: String,
}

/// Tests one provider, or all of them at the same time. Fails when one does not work.
async fn test(client: &Client, name: Option<String>, json: bool) -> Result<Exit, ClientError> {
    let names = match name {
        Some(name) => vec![name],
        None => {
            let all: Providers = client.get_json("/api/admin/providers").await?;
            all.providers.into_iter().map(|provider| provider.name).collect()
        }
    };
    let tests = names.iter().map(async |name| {
        let answer = client.post(&format!("/api/admin/providers/{name}/test"), &json!({})).await?;
        answer.json::<Value>().await.map_err(ClientError::Unreachable)
    });
    let tests = futures::future::join_all(tests).await;
    let tests = tests.into_iter().collect::<Result<Vec<Value>, _>>()?;
    let works = tests.iter().all(|test| test["ok"] == true);
    if json {
        output::json(&json!({"tests": tests}));
    } else {
        for test in tests {
            // An answer of a newer server may have another form; it is printed as it is.
            match serde_json::from_value::<TestedProvider>(test.clone()) {
                Ok(TestedProvider { name, ok, advice }) => {
                    output::line(&format!("{} {name}: {advice}", if ok { "✓" } else { "✗" }));
                }
                Err(_) => output::json_text(&test.to_string()),
            }
        }
    }
    Ok(if works { Exit::Done } else { Exit::Failed })
}

#[derive(Deserialize)]
struct Models {
    models: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    context_window: Option<u32>,
    max_output_tokens: Option<u32>,
    price: Option<Price>,
    inputs: Option<Vec<String>>,
    tools: Option<bool>,
    reasoning: Option<bool>,
    locality: Option<String>,
    rests: bool,
    weights: Option<ModelFiles>,
}

#[derive(Deserialize)]
struct Price {
    input: f64,
    output: f64,
}

const UNKNOWN: &str = "–";

/// Lists the models to choose from, then all other downloaded files, because they take up disk space.
async fn list_models(home: &HomeFolder, client: &Client) -> Result<Exit, ClientError> {
    let all: Models = client.get_json("/api/admin/models").await?;
    let shown: Vec<String> = all.models.iter().map(|model| model.id.clone()).collect();
    model_table(all);
    weights::tell_others(home, &shown);
    Ok(Exit::Done)
}

fn model_table(all: Models) {
    if all.models.is_empty() {
        return output::aside("no models");
    }
    let row = |model: Model| {
        let price = |of: fn(&Price) -> f64| {
            model.price.as_ref().map_or_else(|| UNKNOWN.to_owned(), |price| of(price).to_string())
        };
        let (input, output) = (price(|price| price.input), price(|price| price.output));
        let state = if model.rests { "paused" } else { "" };
        [model.id.clone(), number(model.context_window), input, output, state.to_owned()]
    };
    let head = ["MODEL", "WINDOW", "$/M IN", "$/M OUT", ""];
    table(head, all.models.into_iter().map(row));
}

/// Shows one model. The checksums of its files are computed here, from the files on disk.
async fn info(client: &Client, model: &str, json: bool) -> Result<Exit, ClientError> {
    // A name without a provider means a local model, as for `pull` and `rm`.
    let provider = if model.contains('/') { String::new() } else { format!("{LOCAL}/") };
    let path = format!("/api/admin/models/{provider}{model}");
    let mut value: Value = client.get_json(&path).await?;
    if let Some(weights) = value.get_mut("weights") {
        weights::add_sums(weights).await;
    }
    let model: Model = match serde_json::from_value(value.clone()) {
        Ok(model) if !json => model,
        // An answer of a newer server may have another form; it is printed as it is.
        Ok(_) | Err(_) => {
            output::json(&value);
            return Ok(Exit::Done);
        }
    };
    let whole = model.weights.as_ref().is_none_or(ModelFiles::is_whole);
    tell(model);
    Ok(if whole { Exit::Done } else { Exit::Failed })
}

fn tell(model: Model) {
    let yes_no = |known: Option<bool>| match known {
        Some(true) => "yes",
        Some(false) => "no",
        None => UNKNOWN,
    };
    let price = match (model.price, &model.weights) {
        (Some(Price { input, output }), _) => {
            format!("{input} in, {output} out, in dollars per million tokens")
        }
        (None, Some(_)) => "free: it runs here".to_owned(),
        (None, None) => "unknown: counts as 0 in budgets".to_owned(),
    };
    let inputs = model.inputs.map_or_else(
        || UNKNOWN.to_owned(),
        |inputs| [vec!["text".to_owned()], inputs].concat().join(", "),
    );
    output::line(&model.id);
    for (name, value) in [
        ("window", number(model.context_window)),
        ("longest answer", number(model.max_output_tokens)),
        ("price", price),
        ("takes", inputs),
        ("tools", yes_no(model.tools).to_owned()),
        ("reasoning", yes_no(model.reasoning).to_owned()),
        ("runs", model.locality.unwrap_or_else(|| UNKNOWN.to_owned()).replace('_', " ")),
    ] {
        output::line(&format!("  {name}: {value}"));
    }
    if let Some(held) = &model.weights {
        held.tell();
    }
    if model.rests {
        output::line("  it failed repeatedly and is paused for now");
    }
}

fn number(value: Option<u32>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| value.to_string())
}

#[derive(Deserialize)]
struct Budgets {
    day: String,
    limit_per_run: f64,
    limit_per_person: f64,
    limit_per_agent: f64,
    people: Vec<Account>,
    agents: Vec<Account>,
}

#[derive(Deserialize)]
struct Account {
    name: String,
    cost: f64,
    tokens: u64,
}

fn spending(budgets: Budgets) {
    let limit = |limit: f64| match limit {
        0.0 => "no limit".to_owned(),
        limit => format!("limit {limit:.2}"),
    };
    output::line(&format!("{} (UTC); a run: {}", budgets.day, limit(budgets.limit_per_run)));
    let accounts = [
        ("people", budgets.limit_per_person, budgets.people),
        ("agents", budgets.limit_per_agent, budgets.agents),
    ];
    for (whose, most, accounts) in accounts {
        output::line(&format!("{whose} ({} a day)", limit(most)));
        for Account { name, cost, tokens } in accounts {
            output::line(&format!("  {name}: {cost:.4}, {tokens} tokens"));
        }
    }
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) {
    let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        output::line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
