//! `onyx doctor`: checks everything that a home depends on and says how to fix what is broken.

mod backups;
mod checks;
mod growth;
mod outside;
mod providers;
mod repairs;
mod secrets;
mod server;

use std::path::Path;

use anyhow::Result;
use onyx_storage::ServerSettings;
use serde::Serialize;

use crate::cli::DoctorArguments;
use crate::config::{self, Config, ConfigError};
use crate::exit::Exit;
use crate::gateway::{Claim, claim, token_place};
use crate::home::HomeFolder;
use crate::output;
use providers::SecretsHere;
use repairs::Repair;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    name: String,
    state: State,
    detail: String,
    /// What to do about it. In JSON it is still named `mend`, because programs read that.
    #[serde(rename = "mend", skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    #[serde(skip)]
    repair: Option<Repair>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Broken,
}

impl Check {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Ok, detail: detail.into(), fix: None, repair: None }
    }

    fn warning(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Warning, fix: Some(fix.into()), ..Self::ok(name, detail) }
    }

    fn broken(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Broken, fix: Some(fix.into()), ..Self::ok(name, detail) }
    }

    fn with_repair(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

pub(crate) async fn run(home: &HomeFolder, arguments: &DoctorArguments) -> Result<Exit> {
    let mut checks = examine(home).await?;
    if arguments.fix && repairs::carry_out(home, &checks)? {
        checks = examine(home).await?;
    }
    if arguments.json {
        output::json(&checks);
    } else {
        checks.iter().for_each(print);
    }
    let broken = checks.iter().any(|check| check.state == State::Broken);
    Ok(if broken { Exit::Failed } else { Exit::Done })
}

async fn examine(home: &HomeFolder) -> Result<Vec<Check>> {
    let mut checks = vec![checks::home_folder(home)];
    if !home.path().is_dir() {
        return Ok(checks);
    }
    checks.push(checks::disk_space(home));
    checks.extend(growth::check(home));
    let own = config::load(home);
    let server = server_of(&own);
    let config = match &server {
        Some(settings) => server::config(home, settings).await.unwrap_or(own),
        None => own,
    };
    if server.is_none() {
        checks.push(backups::check(home));
    }
    checks.push(checks::commands().await);
    checks.extend(checks::config(home, config.as_ref()));
    let secrets = match (claim(home)?, server) {
        (Claim::Ours(_), Some(settings)) => {
            checks.push(checks::free_lock());
            checks.extend(server::check(&settings).await);
            checks.extend(config.iter().flat_map(|config| outside::without_server(home, config)));
            SecretsHere::WithTheServer
        }
        (Claim::Ours(taken), None) => {
            let (found, secrets) = checks::free_home(taken).await;
            checks.extend(found);
            checks.extend(config.iter().flat_map(|config| outside::without_server(home, config)));
            secrets.map_or(SecretsHere::WithTheServer, SecretsHere::Open)
        }
        (Claim::Theirs(held), server) => {
            checks.extend(checks::held_home(home, &held).await?);
            if let Some(settings) = server {
                checks.extend(server::check(&settings).await);
            }
            SecretsHere::WithTheServer
        }
    };
    if let Ok(config) = &config {
        checks.extend(checks::command_rules(config));
        checks.extend(outside::of_config(config).await);
        checks.extend(providers::check(home, config, secrets).await);
        checks.push(checks::token(&token_place(home, config)));
        checks.extend(checks::dotenv(home));
    }
    Ok(checks)
}

/// The settings of server mode, if the config is valid and asks for it.
fn server_of(config: &Result<Config, ConfigError>) -> Option<ServerSettings> {
    config.as_ref().ok()?.server().ok()?
}

/// The sorted names in a folder; empty if the folder does not exist.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn print(check: &Check) {
    let mark = match check.state {
        State::Ok => "✓",
        State::Warning => "!",
        State::Broken => "✗",
    };
    output::line(&format!("{mark} {}: {}", check.name, check.detail));
    if let Some(fix) = &check.fix {
        let or = if check.repair.is_some() { ", or `onyx doctor --fix`" } else { "" };
        output::line(&format!("    fix: {fix}{or}"));
    }
}
