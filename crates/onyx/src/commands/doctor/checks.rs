//! Checks of the home itself: folder, disk, config, lock, storage, token.

use std::fmt::Display;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use std::sync::Arc;

use anyhow::Result;
use onyx_api::Exposure;
use onyx_identity::Secrets;
use onyx_sandbox::{NoSandbox, SandboxKind};
use onyx_storage::{Home, Store};
use onyx_types::SystemClock;
use serde::Deserialize;

use super::repairs::Repair;
use super::{Check, secrets};
use crate::client::{Client, SocketPath};
use crate::config::{Config, ConfigError, Source};
use crate::gateway::{TokenPlace, sandbox, secret_keys};
use crate::home::HomeFolder;

/// Below this, writes will soon fail.
const LOW_SPACE: u64 = 200 * 1024 * 1024;

pub(super) fn home_folder(home: &HomeFolder) -> Check {
    let path = home.path();
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Check::broken("home", format!("{shown}: {error}"), "run `onyx init`")
                .with_repair(Repair::Init)
        }
        Err(error) => {
            Check::broken("home", format!("{shown}: {error}"), "check that folder's permissions")
        }
        Ok(meta) if !meta.is_dir() => Check::broken(
            "home",
            format!("{shown} is not a folder"),
            "set ONYX_HOME to a folder, or move the file away",
        ),
        Ok(meta) if meta.permissions().mode() & 0o077 != 0 => Check::warning(
            "home",
            format!("{shown} can be entered by other users of this machine"),
            format!("chmod 700 {shown}"),
        )
        .with_repair(Repair::Close(path.to_owned())),
        Ok(_) => Check::ok("home", shown.to_string()),
    }
}

pub(super) fn disk_space(home: &HomeFolder) -> Check {
    match rustix::fs::statvfs(home.path()) {
        Err(error) => {
            Check::warning("disk", format!("cannot read its free space: {error}"), "check the disk")
        }
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let detail = format!("{} MiB free", free / (1024 * 1024));
            if free < LOW_SPACE {
                Check::warning("disk", detail, "free some space; a full disk stops every run")
            } else {
                Check::ok("disk", detail)
            }
        }
    }
}

/// Checks whether agents can run commands, and how well commands are isolated.
pub(super) async fn commands() -> Check {
    match sandbox().kind().await {
        Ok(SandboxKind::Bubblewrap) => Check::ok("commands", "run in bubblewrap"),
        Ok(SandboxKind::Landlock) => Check::warning(
            "commands",
            "run behind Landlock and seccomp; bubblewrap would isolate them better",
            "install the package `bubblewrap`",
        ),
        Err(NoSandbox { bubblewrap, landlock }) => Check::warning(
            "commands",
            format!("exec and process are off: bubblewrap: {bubblewrap}; Landlock: {landlock}"),
            "install the package `bubblewrap`, or a kernel of 6.12 or newer with Landlock",
        ),
    }
}

/// Warnings about command rules that allow more than they seem to.
pub(super) fn command_rules(config: &Config) -> Vec<Check> {
    let agents = &config.agents;
    let defaults = agents.defaults.tools.iter().map(|tools| ("agents.defaults".to_owned(), tools));
    let listed = agents.list.iter().map(|agent| (agent.id.clone().unwrap_or_default(), agent));
    let entries = agents.entries.iter().map(|(id, agent)| (id.clone(), agent));
    let own = listed
        .chain(entries)
        .filter_map(|(id, agent)| agent.tools.as_ref().map(|tools| (format!("agent {id}"), tools)));
    let fix = "name a program that cannot start others, or let the agent ask each time";
    let mut checks = Vec::new();
    for (place, tools) in defaults.chain(own) {
        for warning in tools.command_warnings() {
            checks.push(Check::warning("commands", format!("{place}: {}", warning.0), fix));
        }
    }
    checks
}

pub(super) fn config(home: &HomeFolder, config: Result<&Config, &ConfigError>) -> Vec<Check> {
    let path = home.config();
    let shown = path.display();
    let config = match config {
        Err(error) => {
            let fix = format!("edit {shown}; a running server keeps the config before the edit");
            return vec![Check::broken("config", error.to_string(), fix)];
        }
        Ok(config) => config,
    };
    let mut checks = vec![match config.source {
        Source::File => Check::ok("config", shown.to_string()),
        Source::Defaults => {
            Check::warning("config", format!("there is no {shown}"), "run `onyx init`")
                .with_repair(Repair::Init)
        }
    }];
    checks.extend(
        config
            .warnings
            .iter()
            .map(|warning| Check::warning("config", warning.clone(), format!("edit {shown}"))),
    );
    checks.extend(config.missing.iter().map(|missing| {
        let fix = format!(
            "set {} in the environment or in {}",
            missing.variable,
            home.dotenv().display()
        );
        Check::warning("config", missing.to_string(), fix)
    }));
    if let Err(error) = config.server() {
        checks.push(Check::broken("storage", error.message(), format!("edit {shown}")));
    }
    if let Err(fault) = config.gateway.address(Exposure::Guarded) {
        checks.push(Check::broken("gateway", fault.message.clone(), fault.hint()));
    }
    if let Err(fault) = config.gateway.token() {
        checks.push(Check::broken("gateway", fault.message.clone(), fault.hint()));
    }
    checks
}

pub(super) fn free_lock() -> Check {
    Check::ok("lock", "free; no server is running")
}

/// No server holds the home: opens the store as a server would.
pub(super) async fn free_home(taken: Home) -> (Vec<Check>, Option<Arc<Secrets>>) {
    let clock = Arc::new(SystemClock::new());
    let mut checks = vec![free_lock()];
    let store = match Store::open_embedded(taken, clock.clone()).await {
        Ok(store) => store,
        Err(error) => {
            let fix = "check the disk and who owns the files of the home";
            checks.push(Check::broken("storage", error.to_string(), fix));
            return (checks, None);
        }
    };
    checks.push(Check::ok("storage", "can be opened and written to"));
    match Secrets::open(Arc::clone(&store.secrets), clock, secret_keys(None)).await {
        Ok(secrets) => {
            checks.extend(secrets::check(secrets.list()));
            (checks, Some(Arc::new(secrets)))
        }
        Err(fault) => {
            checks.push(Check::broken("secrets", fault.message.clone(), fault.hint()));
            (checks, None)
        }
    }
}

#[derive(Deserialize)]
struct Ready {
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: String,
    state: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    hint: String,
}

/// Dependencies that this process checks itself, even when a server runs.
const LOOKED_AT_HERE: [&str; 4] = ["disk", "sandbox", "docker", "search"];

/// A server holds the home: asks that server.
pub(super) async fn held_home(home: &HomeFolder, held: &str) -> Result<Vec<Check>> {
    let client = Client::over(SocketPath::of(home)?)?;
    let Ok(health) = client.get_any::<Ready>("/api/health").await else {
        let fix = "end that process, then start `onyx serve` again";
        return Ok(vec![Check::broken("lock", format!("{held}, and it does not answer"), fix)]);
    };
    let mut checks = vec![Check::ok("lock", held)];
    // Providers are checked from the config, so the server's own view of them is left out.
    let own = health
        .dependencies
        .into_iter()
        .filter(|at| at.kind != "provider" && !LOOKED_AT_HERE.contains(&at.kind.as_str()));
    checks.extend(own.map(dependency));
    checks.extend(secrets::of_server(&client).await);
    Ok(checks)
}

/// One dependency as the server reports it, with a fix.
fn dependency(at: Dependency) -> Check {
    let Dependency { name, kind, state, detail, hint } = at;
    let or = |text: String, usual: &str| if text.is_empty() { usual.to_owned() } else { text };
    let is_connector = kind == "connector";
    let name = format!("server {name}");
    match state.as_str() {
        "ok" => Check::ok(name, or(detail, "works")),
        "off" if hint.is_empty() => Check::ok(name, format!("off: {detail}")),
        "off" => Check::ok(name, format!("off: {}. {hint}", detail.trim_end_matches('.'))),
        "degraded" if is_connector => {
            Check::warning(name, detail, "see `onyx connectors list`, or Connectors in the app")
        }
        "degraded" => Check::warning(name, detail, or(hint, "the server works without it")),
        _ => Check::broken(name, detail, or(hint, "read the server's log: onyx logs")),
    }
}

pub(super) fn token(place: &TokenPlace) -> Check {
    let path = match place {
        TokenPlace::Config(path) | TokenPlace::File(path) => path,
    };
    match readable_by_others(path) {
        None => Check::ok("token", format!("{place} (created at the first start)")),
        Some(false) => Check::ok("token", place.to_string()),
        Some(true) => open_to_others("token", place, path),
    }
}

/// The `.env` file may contain keys, so other users must not be able to read it.
pub(super) fn dotenv(home: &HomeFolder) -> Option<Check> {
    let path = home.dotenv();
    let is_open = readable_by_others(&path)?;
    is_open.then(|| open_to_others("environment", &path.display(), &path))
}

fn open_to_others(name: &str, shown: &dyn Display, path: &Path) -> Check {
    let detail = format!("{shown} can be read by other users of this machine");
    Check::warning(name, detail, format!("chmod 600 {}", path.display()))
        .with_repair(Repair::Close(path.to_owned()))
}

fn readable_by_others(path: &Path) -> Option<bool> {
    let meta = std::fs::metadata(path).ok()?;
    Some(meta.permissions().mode() & 0o077 != 0)
}
