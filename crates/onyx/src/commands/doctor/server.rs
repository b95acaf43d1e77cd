//! Checks of server mode: the database, the object store, and the other gateways.

use onyx_storage::{
    GatewayRow, ServerError, ServerSettings, inspect_database, list_gateways, read_shared_config,
};
use onyx_types::{Clock as _, SystemClock};

use super::Check;
use crate::config::{self, Config, ConfigError};
use crate::gateway::{GreetResult, greet, master_key};
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
        Ok(()) => Check::ok("objects", "the store can put, get, get a range, list and delete"),
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
    let detail = format!(
        "PostgreSQL {}, tables of version {}, its clock is {}",
        report.server,
        report.schema,
        clock_difference(report.clock_ahead)
    );
    let mut checks = vec![Check::ok("database", detail)];
    let fix = "see \"Check that it works\" in docs/server.md";
    let warnings = report.warnings.into_iter();
    checks.extend(warnings.map(|warning| Check::warning("database", warning, fix)));
    match list_gateways(&settings.database).await {
        Ok(all) if all.is_empty() => checks.push(Check::ok("gateways", "none is running")),
        Ok(all) => checks.extend(gateways(settings, all, report.clock_ahead).await),
        Err(error) => checks.push(broken("gateways", &error)),
    }
    checks
}

/// Asks every gateway at the address where the others reach it.
async fn gateways(
    settings: &ServerSettings,
    all: Vec<GatewayRow>,
    database_ahead: i64,
) -> Vec<Check> {
    let asked = match master_key() {
        Ok(master) => greet(&master, &settings.gateway.id, all, database_ahead).await,
        Err(error) => Err(error),
    };
    match asked {
        Ok(all) => all.iter().map(|(row, greeted)| gateway(row, greeted)).collect(),
        Err(error) => {
            let detail = format!("the gateways cannot be asked: {error}");
            vec![Check::warning("gateways", detail, "Set ONYX_MASTER_KEY as for the gateways.")]
        }
    }
}

fn gateway(row: &GatewayRow, greeted: &GreetResult) -> Check {
    let place = format!("{} at {}", row.id, row.url);
    let warning = |why: String, fix: &str| Check::warning("gateways", why, fix);
    let here = env!("CARGO_PKG_VERSION");
    match greeted {
        GreetResult::Silent => warning(
            format!("{place} is silent"),
            "Start it again, or remove it under System → Health → Gateways.",
        ),
        GreetResult::Unreachable(why) => warning(
            format!("{place} is alive but does not answer here: {why}"),
            "Set gateway.advertise to an address that the other gateways reach.",
        ),
        GreetResult::NotProven if row.version != here => other_version(&place, &row.version),
        GreetResult::NotProven => warning(
            format!("{place}: what answers there is no gateway of this database"),
            "Check gateway.advertise, and that all have the same ONYX_MASTER_KEY.",
        ),
        GreetResult::Answers { version, .. } if version != here => other_version(&place, version),
        GreetResult::Answers { version, clock_ahead } => {
            let clock = clock_difference(*clock_ahead);
            Check::ok("gateways", format!("{place} answers: Onyx {version}, its clock is {clock}"))
        }
    }
}

fn other_version(place: &str, version: &str) -> Check {
    let here = env!("CARGO_PKG_VERSION");
    let why = format!("{place} is Onyx {version}; this is {here}");
    Check::warning("gateways", why, "Upgrade the older one.")
}

/// Describes by how much another clock differs from this machine's.
fn clock_difference(ahead: i64) -> String {
    let (length, direction) = (ahead.unsigned_abs(), if ahead < 0 { "behind" } else { "ahead" });
    format!("{length} ms {direction}")
}

fn broken(name: &str, error: &ServerError) -> Check {
    Check::broken(name, error.to_string(), error.hint())
}
