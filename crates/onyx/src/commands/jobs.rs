//! `onyx jobs`: shows and changes scheduled work.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{done, listed, show, through};
use crate::cli::{AsJson, JobFields, JobsCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;

const JOBS: &str = "/api/jobs";

#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    id: String,
    state: String,
    reason: Option<String>,
    error: Option<Flaw>,
    warnings: Vec<String>,
    hash: String,
    diff: Option<String>,
    prompt: String,
    words: String,
    timezone: String,
    next: Vec<String>,
    last: Option<Run>,
    troubles: u64,
}

#[derive(Deserialize)]
struct Flaw {
    field: String,
    message: String,
    example: Option<String>,
}

#[derive(Deserialize)]
struct Runs {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    scheduled_at: String,
    count: u32,
    outcome: String,
    run_id: Option<String>,
    cost: Option<f64>,
    text: String,
}

impl Job {
    fn line(&self) -> String {
        let next = self.next.first().map_or("-", |at| at.get(..16).unwrap_or(at));
        let when = match &self.error {
            Some(flaw) => flaw.line(),
            None => self.words.clone(),
        };
        let trouble = if self.troubles > 0 { "  !" } else { "" };
        format!("{:<24} {:<9} {next:<17} {when}{trouble}", self.id, self.state)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.id, self.state)];
        lines.extend(self.reason.iter().map(|why| format!("paused: {why}")));
        match &self.error {
            Some(flaw) => lines.push(flaw.line()),
            None => lines.push(self.words.clone()),
        }
        lines.extend(self.warnings.iter().map(|warning| format!("note: {warning}")));
        if !self.next.is_empty() {
            lines.push(format!("next (UTC; the job's zone is {}):", self.timezone));
            lines.extend(self.next.iter().map(|at| format!("  {at}")));
        }
        lines.extend(self.last.iter().map(|run| format!("last: {}", run.line())));
        if let Some(diff) = &self.diff {
            lines.push(String::new());
            lines.push(format!("It waits for you: onyx jobs accept {}", self.id));
            lines.extend(diff.lines().map(str::to_owned));
        }
        if !self.prompt.is_empty() {
            lines.push(String::new());
            lines.extend(self.prompt.lines().map(str::to_owned));
        }
        lines
    }
}

impl Flaw {
    fn line(&self) -> String {
        let example = self.example.iter().map(|example| format!(" (for example: {example})"));
        format!("{}: {}{}", self.field, self.message, example.collect::<String>())
    }
}

impl Run {
    fn line(&self) -> String {
        let times = if self.count > 1 { format!(" x{}", self.count) } else { String::new() };
        let cost = self.cost.map_or(String::new(), |cost| format!("  {cost:.4}"));
        let run = self.run_id.as_deref().unwrap_or_default();
        let first = self.text.lines().next().unwrap_or_default();
        format!("{}{times}  {:<11} {first}{cost}  {run}", self.scheduled_at, self.outcome)
    }
}

pub(crate) async fn run(home: &HomeFolder, command: JobsCommand) -> Result<Exit> {
    through(home, async |client| match command {
        JobsCommand::List(json) => {
            let none = "There are no jobs. Add one with: onyx jobs add";
            let lines = |all: Jobs| listed(&all.jobs, Job::line, none);
            show(client.get(JOBS).await?, json, lines).await
        }
        JobsCommand::Show { job, json } => {
            show(client.get(&path(&job, "")).await?, json, |job: Job| job.lines()).await
        }
        JobsCommand::Add { job, fields, json } => {
            let mut body = body(fields);
            body.insert("id".to_owned(), job.into());
            let response = client.post(JOBS, &Value::Object(body)).await?;
            show(response, json, |job: Job| job.lines()).await
        }
        JobsCommand::Edit { job, fields, unset, json } => {
            let mut body = body(fields);
            body.extend(unset.into_iter().map(|name| (name, Value::Null)));
            let response = client.patch(&path(&job, ""), &Value::Object(body)).await?;
            show(response, json, |job: Job| job.lines()).await
        }
        JobsCommand::Accept { job, json } => accept(client, &job, json).await,
        JobsCommand::Run { job, json } => {
            let response = client.post(&path(&job, "/run"), &json!({})).await?;
            show(response, json, |run: Run| vec![run.line()]).await
        }
        JobsCommand::Pause { job, json } => {
            let response = client.post(&path(&job, "/pause"), &json!({})).await?;
            show(response, json, |job: Job| vec![job.line()]).await
        }
        JobsCommand::Resume { job, json } => {
            let response = client.post(&path(&job, "/resume"), &json!({})).await?;
            show(response, json, |job: Job| vec![job.line()]).await
        }
        JobsCommand::Remove { job, json } => {
            client.delete(&path(&job, "")).await?;
            done(json, &format!("{job} is deleted; the last version of its file is kept"));
            Ok(())
        }
        JobsCommand::History { job, limit, json } => {
            let address = path(&job, &format!("/runs?limit={limit}"));
            let lines = |all: Runs| all.runs.iter().map(Run::line).collect();
            show(client.get(&address).await?, json, lines).await
        }
    })
    .await
}

/// Accepts exactly the version that the server shows now.
async fn accept(client: &Client, job: &str, json: AsJson) -> Result<(), ClientError> {
    let seen: Job = client.get_json(&path(job, "")).await?;
    let body = json!({"hash": seen.hash});
    let response = client.post(&path(job, "/accept"), &body).await?;
    show(response, json, |job: Job| job.lines()).await
}

fn path(job: &str, rest: &str) -> String {
    format!("{JOBS}/{job}{rest}")
}

fn body(fields: JobFields) -> Map<String, Value> {
    let JobFields { cron, every, at, timezone, prompt, run, when, more } = fields;
    let named = [
        ("cron", cron),
        ("every", every),
        ("at", at),
        ("timezone", timezone),
        ("prompt", prompt),
        ("run", run),
        ("when", when),
    ];
    let mut body = Map::new();
    for (name, value) in named {
        body.extend(value.map(|value| (name.to_owned(), Value::String(value))));
    }
    for (name, value) in more {
        // A value that is JSON is taken as it is, anything else as a text.
        let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
        body.insert(name, value);
    }
    body
}
