//! `onyx migrate`: creates or updates the database tables of server mode.

use anyhow::Result;
use onyx_storage::{SCHEMA_VERSION, migrate_database};
use onyx_types::{ErrorCode, Fault};

use crate::exit::Exit;
use crate::gateway::server_settings;
use crate::home::HomeFolder;
use crate::output;

pub(crate) async fn run(home: &HomeFolder) -> Result<Exit> {
    let Some(settings) = server_settings(home)? else {
        let message = "onyx.json names no database: a home without one is updated at every start";
        let fault = Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Set `storage.database` and `storage.objects` for several gateways.");
        return Err(fault.into());
    };
    let ran = migrate_database(&settings.database).await.map_err(Fault::from)?;
    output::line(&if ran == 0 {
        format!("The tables are up to date (version {SCHEMA_VERSION}).")
    } else {
        format!("The tables are now of version {SCHEMA_VERSION}; {ran} migrations ran.")
    });
    Ok(Exit::Done)
}
