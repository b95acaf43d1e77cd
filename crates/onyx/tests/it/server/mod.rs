//! Server mode: the binary with a real PostgreSQL and a real S3 server, with one or several
//! gateways.

mod accounts;
mod anywhere;
mod approvals;
mod backups;
mod changes;
mod clocks;
mod commands;
mod deliveries;
mod draining;
mod due_jobs;
mod fences;
mod moving;
mod queues;
mod releases;
mod renewals;
mod round_trips;
mod sends;
mod sign_ins;
mod silent_database;
mod start;
mod store_away;
mod together;
mod turn;
mod upgrade;
mod vectors;

use onyx_test_support::{MASTER_KEY, OnyxBuilder, OnyxProcess, ScriptedModel, ServerPlace};
use serde_json::Value;

use crate::{Ran, builder, command};

/// A database with tables and a bucket.
pub(crate) async fn place() -> ServerPlace {
    let place = ServerPlace::new().await;
    place.migrate().await;
    place
}

/// A gateway for this place, not started yet.
pub(crate) fn gateway(place: &ServerPlace, id: &str, model: &ScriptedModel) -> OnyxBuilder {
    builder(model).merge(place.config(id)).env("ONYX_MASTER_KEY", MASTER_KEY)
}

pub(crate) async fn start(place: &ServerPlace, id: &str, model: &ScriptedModel) -> OnyxProcess {
    gateway(place, id, model).start().await
}

/// Runs a command on a home with this config.
pub(crate) async fn run_with(config: &Value, arguments: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("onyx.json"), config.to_string()).unwrap();
    let mut command = command(home.path(), arguments);
    command.env("ONYX_KEYS", home.path().join("keys")).env("ONYX_MASTER_KEY", MASTER_KEY);
    command.output().await.unwrap().into()
}
