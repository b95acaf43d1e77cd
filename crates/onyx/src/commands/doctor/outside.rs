//! Checks what agents use beside models: the search engine, the reader of scans, Docker, the embedder,
//! connectors, MCP servers, jobs. A running server answers for what only it knows; without a server,
//! the config and the files are checked.

use std::sync::Arc;
use std::time::Duration;

use onyx_egress::{Address, Bounds, Egress, EgressError, PrivateHost, SystemResolver};
use onyx_extract::Recognition;
use onyx_local::{MINILM, ModelsFolder, Weights};
use onyx_mcp::ServerSettings;
use onyx_tools::Docker;
use onyx_types::PersonId;

use super::{Check, names_in};
use crate::config::Config;
use crate::env;
use crate::gateway::document_reader;
use crate::home::HomeFolder;

/// How long to wait for the search engine; one on the local network answers at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to get the program that reads scans.
const INSTALL: &str = "install it for your languages, on Debian for example: apt install tesseract-ocr tesseract-ocr-deu";

/// Checks that this process makes itself, whether a server runs or not.
pub(super) async fn of_config(config: &Config) -> Vec<Check> {
    let mut checks = vec![search_engine(config).await, scans().await];
    checks.extend(docker(config));
    checks
}

/// Checks that a running server would answer, made from the config and the files.
pub(super) fn without_server(home: &HomeFolder, config: &Config) -> Vec<Check> {
    let mut checks = vec![embedder(home, config)];
    checks.extend(connectors(config));
    checks.extend(config.mcp.servers.iter().map(|(name, server)| mcp_server(name, server)));
    checks.push(jobs(home, config));
    checks
}

async fn search_engine(config: &Config) -> Check {
    let name = "search";
    let fix = "set `tools.web.search.baseUrl` to the address of a SearXNG server, or remove it";
    let base = config.tools.web.search.base_url.as_deref().unwrap_or_default();
    if base.is_empty() {
        return Check::ok(name, "off: `tools.web.search.baseUrl` names no SearXNG server");
    }
    match answers(base).await {
        Ok(()) => Check::ok(name, format!("{base} answers")),
        Err(why) => Check::warning(name, format!("{base}: {why}"), fix),
    }
}

/// Sends a search without a query, so that no search happens: a SearXNG that offers JSON answers 400 because
/// the query is missing; one that does not offer JSON refuses with 403 before it looks at the query.
async fn answers(base: &str) -> Result<(), String> {
    let engine: Address = format!("{}/search", base.trim_end_matches('/'))
        .parse()
        .map_err(|error: EgressError| error.to_string())?;
    let bounds = Bounds { total: PATIENCE, redirects: 0, ..Bounds::default() };
    let egress = Egress::new(Arc::new(SystemResolver), vec![PrivateHost::of(&engine)], bounds);
    let fetched = egress.get(&engine.asking(&[("format", "json")]), "application/json").await;
    match fetched.map_err(|error| format!("it does not answer: {error}"))?.status {
        200 | 400 => Ok(()),
        403 => {
            Err("it offers no JSON: allow `json` under `search.formats` in its settings.yml"
                .to_owned())
        }
        status => Err(format!("it answers {status}")),
    }
}

/// Asks the installed `tesseract` in the way in which documents use it.
async fn scans() -> Check {
    let name = "scans";
    let found = match document_reader() {
        Ok(reader) => reader.recognition().await.map_err(|error| error.to_string()),
        Err(error) => Err(format!("{error:#}")),
    };
    match found {
        Ok(None) => Check::ok(name, format!("off: `tesseract` is not installed; {INSTALL}")),
        Ok(Some(Recognition { version, used, .. })) if used.is_empty() => {
            Check::warning(name, format!("{version} has no language to read with"), INSTALL)
        }
        Ok(Some(Recognition { version, installed, used })) => {
            let others = match installed.len() - used.len() {
                0 => String::new(),
                others => format!(" ({others} more are installed)"),
            };
            let used = used.join(", ");
            Check::ok(name, format!("{version} reads scanned PDFs and pictures in {used}{others}"))
        }
        Err(why) => {
            Check::warning(name, why, "run `tesseract --list-langs` and look at its answer")
        }
    }
}

fn docker(config: &Config) -> Option<Check> {
    // The person matters only when a tool is called, not for whether Docker is available.
    let owner: PersonId = "owner".parse().ok()?;
    Some(match Docker::new(&config.tools.docker, owner).is_here() {
        Ok(()) => Check::ok("docker", "available to agents whose `tools` name its tools"),
        Err(why) => Check::ok("docker", format!("off: {why}")),
    })
}

fn embedder(home: &HomeFolder, config: &Config) -> Check {
    let name = "embedder";
    let has_weights = || {
        let weights = Weights::named(MINILM)?;
        ModelsFolder::at(home.models()).known(weights)
    };
    match config.memory.embedder.as_deref() {
        Some("off") => Check::ok(name, "off: searches go by words only"),
        Some(model) => {
            let provider = model.split('/').next().unwrap_or_default();
            let is_known = provider == onyx_local::LOCAL
                || config.providers.iter().any(|(known, _)| known == provider);
            if is_known {
                Check::ok(name, model)
            } else {
                let fix =
                    "name the provider under `providers`, or set `memory.embedder` to another";
                Check::warning(name, format!("{model}: no provider is called {provider}"), fix)
            }
        }
        None if has_weights().is_some() => Check::ok(name, format!("local/{MINILM}")),
        None => {
            Check::ok(name, "off: searches go by words; `onyx models pull minilm` gets an embedder")
        }
    }
}

fn connectors(config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    for (network, settings) in &config.connectors {
        for (account, settings) in &settings.accounts {
            let name = format!("connector {network}/{account}");
            let token = settings.token.as_ref().map(|token| token.reveal());
            let unset = token.and_then(|token| token.strip_prefix("env:"));
            let unset = unset.filter(|variable| config.environment.get(variable).is_none());
            checks.push(if settings.enabled == Some(false) {
                Check::ok(name, "off")
            } else if let Some(variable) = unset {
                let fix = format!("set {variable} in the environment or in the home's .env");
                Check::warning(name, format!("its token is in {variable}, which is not set"), fix)
            } else {
                Check::ok(name, "connects when the server runs")
            });
        }
    }
    checks
}

fn mcp_server(name: &str, server: &ServerSettings) -> Check {
    let check = format!("mcp {name}");
    if !server.enabled {
        return Check::ok(check, "off");
    }
    match (&server.command, &server.url) {
        (Some(command), _) => {
            let path = std::path::Path::new(command);
            let is_there =
                if path.is_absolute() { path.is_file() } else { env::program(command).is_some() };
            if is_there {
                Check::ok(check, format!("{command}; starts when it is needed"))
            } else {
                let fix = "install the program, or write its full path in `mcp.servers`";
                Check::warning(check, format!("there is no program {command}"), fix)
            }
        }
        (None, Some(url)) => Check::ok(check, format!("{url}; asked when it is needed")),
        (None, None) => {
            let fix = "give the server a `command` or a `url` in `mcp.servers`";
            Check::warning(check, "it has neither a command nor an address", fix)
        }
    }
}

fn jobs(home: &HomeFolder, config: &Config) -> Check {
    let people = home.path().join("people");
    let files: usize = names_in(&people)
        .iter()
        .map(|person| names_in(&people.join(person).join("vault/agent/jobs")))
        .map(|names| names.iter().filter(|name| name.ends_with(".md")).count())
        .sum();
    let jobs = &config.jobs;
    let own = [
        jobs.heartbeat.is_some(),
        jobs.memory_sync.is_some(),
        jobs.memory_keeping.is_some(),
        jobs.session_cleanup.is_some(),
        jobs.backup.is_some(),
    ];
    match files + own.iter().filter(|is_set| **is_set).count() {
        0 => Check::ok("jobs", "none"),
        count => Check::warning(
            "jobs",
            format!("{count} wait for a server: jobs run only while Onyx runs"),
            "run `onyx serve`, or install Onyx as a service: `onyx service install`",
        ),
    }
}
