//! `onyx memory`: searches, shows, changes and imports notes and memory.

mod edit;
mod import;

use anyhow::Result;
use onyx_types::{ErrorCode, Fault, percent_encoded};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{done, show, through};
use crate::cli::{AsJson, MemoryCommand, MemorySearchArguments};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

pub(crate) async fn run(home: &HomeFolder, command: MemoryCommand) -> Result<Exit> {
    match command {
        MemoryCommand::Edit { path, json } => edit::run(home, &path, json).await,
        MemoryCommand::Import { folder, agent, json } => {
            import::run(home, &folder, agent.as_ref(), json).await
        }
        command => through(home, async |client| perform(client, command).await).await,
    }
}

async fn perform(client: &Client, command: MemoryCommand) -> Result<(), ClientError> {
    match command {
        MemoryCommand::Search(arguments) => search(client, &arguments).await,
        MemoryCommand::Show { path, version } => {
            let version = version.map(|number| format!("?version={number}")).unwrap_or_default();
            let response = client.get(&format!("{}{version}", file(&path))).await?;
            output::document(&response.bytes().await.map_err(ClientError::Unreachable)?);
            Ok(())
        }
        MemoryCommand::History { path, json } => {
            let response = client.get(&format!("{}/history", file(&path))).await?;
            let lines = |all: History| all.versions.iter().map(Version::line).collect();
            show(response, json, lines).await
        }
        MemoryCommand::Restore { path, version, json } => {
            client.post(&format!("{}/restore", file(&path)), &json!({"version": version})).await?;
            done(json, &format!("{path} is as it was before change {version}"));
            Ok(())
        }
        MemoryCommand::Accept { path, json } => {
            let response = client.get(&file(&path)).await?;
            let seen = response.headers().get("etag").and_then(|tag| tag.to_str().ok());
            let seen = json!({"seen": seen.unwrap_or_default()});
            client.post(&format!("{}/accept", file(&path)), &seen).await?;
            done(json, &format!("{path} is accepted; agents may follow what it says"));
            Ok(())
        }
        MemoryCommand::Keep { agent, json } => {
            let report = client.post("/v1/memory/keep", &json!({"agent": agent})).await?;
            show(report, json, KeepingReport::lines).await
        }
        MemoryCommand::Status(json) => {
            show(client.get("/v1/memory/status").await?, json, Status::lines).await
        }
        // These two read files of this machine first, so they are handled elsewhere.
        MemoryCommand::Edit { .. } | MemoryCommand::Import { .. } => Ok(()),
    }
}

/// The URL path of a file.
fn file(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(percent_encoded).collect();
    format!("/v1/memory/files/{}", parts.join("/"))
}

/// The result of memory keeping.
#[derive(Deserialize)]
struct KeepingReport {
    drafts: Vec<String>,
    session_id: Option<String>,
}

impl KeepingReport {
    fn lines(self) -> Vec<String> {
        match (self.session_id, self.drafts.len()) {
            (None, _) => vec!["there are no daily logs to read".to_owned()],
            (Some(_), 0) => vec!["nothing was proposed".to_owned()],
            (Some(_), count) => {
                let mut lines = vec![format!("{count} proposed; decide with: onyx drafts")];
                lines.extend(self.drafts);
                lines
            }
        }
    }
}

#[derive(Deserialize)]
struct SearchResults {
    results: Vec<Hit>,
    degraded: bool,
    reason: Option<String>,
    partial: bool,
}

#[derive(Deserialize)]
struct Hit {
    path: String,
    heading: String,
    start_line: u32,
    end_line: u32,
    score: f32,
    match_type: String,
    snippet: Vec<SnippetPart>,
}

#[derive(Deserialize)]
struct SnippetPart {
    text: String,
}

async fn search(client: &Client, arguments: &MemorySearchArguments) -> Result<(), ClientError> {
    let text = percent_encoded(&arguments.text.join(" "));
    let mut path = format!("/v1/memory/search?q={text}&limit={}", arguments.limit);
    if let Some(agent) = &arguments.agent {
        path += &format!("&agent={agent}");
    }
    if let Some(scope) = &arguments.scope {
        path += &format!("&scope={}", percent_encoded(scope));
    }
    let response = client.get(&path).await?;
    if arguments.json.json {
        return show::<Value>(response, arguments.json, |_| Vec::new()).await;
    }
    let found: SearchResults = response.json().await.map_err(ClientError::Unreachable)?;
    for hit in &found.results {
        hit.print();
    }
    if found.results.is_empty() {
        output::aside("nothing found");
    }
    if found.degraded {
        let why = found.reason.unwrap_or_default();
        output::aside(&format!("searched by words only: {why}"));
    }
    if found.partial {
        output::aside("not everything is indexed yet; search again later for more");
    }
    Ok(())
}

impl Hit {
    fn print(&self) {
        let Self { path, heading, start_line, end_line, score, match_type, .. } = self;
        let heading = if heading.is_empty() { String::new() } else { format!("  {heading}") };
        output::line(&format!("{path}:{start_line}-{end_line}  {score:.2} {match_type}{heading}"));
        let snippet: String = self.snippet.iter().map(|part| part.text.as_str()).collect();
        for line in snippet.lines().filter(|line| !line.trim().is_empty()) {
            output::line(&format!("    {}", line.trim_end()));
        }
    }
}

#[derive(Deserialize)]
struct History {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: u64,
    ts: String,
    author: String,
    tool: String,
    created: bool,
    deleted: bool,
}

impl Version {
    fn line(&self) -> String {
        let Self { version, ts, author, tool, created, deleted } = self;
        let when = ts.get(..16).unwrap_or(ts).replace('T', " ");
        let what = match (created, deleted) {
            (true, _) => "created the file",
            (_, true) => "deleted the file",
            (false, false) => "changed the file",
        };
        format!("{version:>4}  {when}  {author:<16} {what} ({tool})")
    }
}

#[derive(Deserialize)]
struct Status {
    sources: u64,
    chunks: u64,
    vectors: u64,
    complete: bool,
    waiting: usize,
    embedding: State,
    watching: State,
    error: Option<String>,
    problem_count: u64,
    problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct State {
    state: String,
    model: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    path: String,
    reason: String,
}

impl State {
    fn words(&self) -> String {
        let of = self.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
        let why = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{}{of}{why}", self.state)
    }
}

impl Status {
    fn lines(self) -> Vec<String> {
        let complete = if self.complete { "" } else { "; indexing is not finished yet" };
        let mut lines = vec![
            format!("{} sources in {} chunks{complete}", self.sources, self.chunks),
            format!(
                "{} chunks can be found by meaning; embedder {}",
                self.vectors,
                self.embedding.words()
            ),
            format!("watching files: {}; {} waiting", self.watching.words(), self.waiting),
        ];
        lines.extend(self.error.map(|error| format!("last error: {error}")));
        if self.problem_count > 0 {
            lines.push(format!("{} files that cannot be searched:", self.problem_count));
        }
        lines.extend(self.problems.iter().map(|it| format!("  {}: {}", it.path, it.reason)));
        lines
    }
}

/// Reads one of the person's files, with its ETag; `None` if the file does not exist.
async fn read(client: &Client, path: &str) -> Result<Option<(String, String)>, ClientError> {
    let response = match client.get(&file(path)).await {
        Ok(response) => response,
        Err(ClientError::Refused(fault)) if fault.code == ErrorCode::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok());
    let tag = tag.unwrap_or_default().to_owned();
    let bytes = response.bytes().await.map_err(ClientError::Unreachable)?;
    // A lossy conversion to text would write back something else, so such a file is refused.
    let text = String::from_utf8(bytes.into()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let why = format!("{path} is not UTF-8 text (byte {at}); it was not changed");
        let hint = "Change the file with a program that supports its format.";
        ClientError::Refused(Fault::new(ErrorCode::InvalidRequest, why).with_hint(hint))
    })?;
    Ok(Some((text, tag)))
}

/// Replaces the file that was read, or creates it if it did not exist.
async fn write(
    client: &Client,
    path: &str,
    text: String,
    tag: Option<&str>,
) -> Result<(), ClientError> {
    let condition = match tag {
        Some(tag) => ("if-match", tag),
        None => ("if-none-match", "*"),
    };
    client.put_text(&file(path), text, condition).await.map(drop)
}

fn report_change(json: AsJson, value: &Value, words: &str) {
    if json.json { output::json_text(&value.to_string()) } else { output::line(words) }
}
