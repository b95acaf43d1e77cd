//! Checks of server mode: the database, the object store, and the other gateways.

use onyx_storage::{
    ServerError, ServerSettings, inspect_database, list_gateways, read_shared_config,
};
use onyx_types::{Clock as _, SystemClock};

use super::Check;
use crate::config::{self, Config, ConfigError};
use crate::home::HomeFolder;

/// The config that all gateways share. `None`: there is none yet, or it cannot be read, which the checks report.
pub(super) async fn config(
    home: &HomeFolder,
    settings: &ServerSettings,
) -> Option<Result<Config, ConfigError>> {
    let shared = read_shared_config(&settings.database).await.ok()??;
    Some(config::shared(home, &shared.text))
}

pub(super) async fn check(settings: &ServerSettings) -> Vec<Check> {
    let mut checks = database(settings).await;
    checks.push(match settings.probe_objects().await {
        Ok(()) => Check::ok("objects", "the store can write, read, list and delete"),
        Err(error) => broken("objects", &error),
    });
    checks
}

async fn database(settings: &ServerSettings) -> Vec<Check> {
    let now = SystemClock::new().wall();
    let report = match inspect_database(&settings.database, now, settings.clock_slack).await {
        Ok(report) => report,
        Err(error) => return vec![broken("database", &error)],
    };
    let detail = format!("PostgreSQL {}, tables of version {}", report.server, report.schema);
    let mut checks = vec![Check::ok("database", detail)];
    let mend = "see \"Is it well?\" in docs/server.md";
    let warnings = report.warnings.into_iter();
    checks.extend(warnings.map(|warning| Check::warning("database", warning, mend)));
    checks.push(match list_gateways(&settings.database).await {
        Ok(all) => Check::ok("gateways", words(&all)),
        Err(error) => broken("gateways", &error),
    });
    checks
}

fn words(all: &[onyx_storage::GatewayRow]) -> String {
    let each = all.iter().map(|row| {
        let state = if row.is_alive { "alive" } else { "silent" };
        format!("{} at {} ({state})", row.id, row.url)
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { "none is running".to_owned() } else { all.join(", ") }
}

fn broken(name: &str, error: &ServerError) -> Check {
    Check::broken(name, error.to_string(), error.hint())
}
