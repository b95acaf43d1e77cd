//! `onyx storage move`: copies a home into server mode, or back.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use onyx_identity::{Keys, Secrets};
use onyx_storage::{Home, MoveCounts, MoveExtras, MovingServer, OpenRuns, ServerSettings, Store};
use onyx_types::{ErrorCode, Fault, SystemClock};

use crate::cli::StorageCommand;
use crate::config;
use crate::exit::Exit;
use crate::gateway::{Claim, Unreachable, claim, master_key, secret_keys, server_settings};
use crate::home::HomeFolder;
use crate::output;

/// The value of `--from` and `--to` that stands for what `storage` in onyx.json names.
const SERVER: &str = "server";

enum StorageSide {
    Home(HomeFolder),
    Server(Box<ServerSettings>),
}

pub(crate) async fn run(home: &HomeFolder, command: StorageCommand) -> Result<Exit> {
    let StorageCommand::Move { from, to } = command;
    let moved = match (place(home, &from)?, place(home, &to)?) {
        (StorageSide::Home(from), StorageSide::Server(to)) => {
            into_server(&from, &to, OpenRuns::Refused, secret_keys(None)).await?
        }
        (StorageSide::Server(from), StorageSide::Home(to)) => into_home(&from, &to).await?,
        (StorageSide::Home(_), StorageSide::Home(_))
        | (StorageSide::Server(_), StorageSide::Server(_)) => {
            let message = "one of --from and --to is the folder of a home, the other is `server`";
            let fault = Fault::new(ErrorCode::InvalidRequest, message).with_hint(
                "To move a home to another machine, use `onyx backup` and `onyx restore`.",
            );
            return Err(fault.into());
        }
    };
    tell(moved);
    Ok(Exit::Done)
}

pub(super) fn tell(moved: MoveCounts) {
    let MoveCounts { logs, files, rows, bytes, already_there, left_out } = moved;
    let mebibytes = bytes.div_ceil(1024 * 1024);
    output::line(&format!(
        "{logs} conversations, {files} files ({mebibytes} MiB) and {rows} rows were copied and compared."
    ));
    if already_there > 0 {
        output::line(&format!(
            "{already_there} of them were already there from an earlier attempt."
        ));
    }
    if left_out > 0 {
        output::warning(&format!("{left_out} links or unusual names were not copied"));
    }
    output::line("The original is kept. Plugins, local models and .env are not copied.");
}

fn place(home: &HomeFolder, text: &str) -> Result<StorageSide> {
    if text != SERVER {
        let folder = std::path::absolute(PathBuf::from(text))
            .with_context(|| format!("{text} is not a folder"))?;
        return Ok(StorageSide::Home(HomeFolder::at(&folder)));
    }
    match server_settings(home)? {
        Some(settings) => Ok(StorageSide::Server(Box::new(settings))),
        None => Err(Fault::new(ErrorCode::InvalidRequest, "onyx.json names no server")
            .with_hint(
                "Set `storage.database`, `storage.objects` and `gateway.id`, then `onyx migrate`.",
            )
            .into()),
    }
}

/// Claims the home, so that no other process works on it.
fn take(folder: &HomeFolder) -> Result<Home> {
    match claim(folder)? {
        Claim::Ours(home) => Ok(home),
        Claim::Theirs(held) => Err(Unreachable(held).into()),
    }
}

/// Moves a restored backup into server mode. The backup was taken while a server ran, so answers
/// without an end are moved too.
pub(super) async fn restored_into_server(
    from: &HomeFolder,
    to: &ServerSettings,
) -> Result<MoveCounts> {
    // The secrets are sealed with the key of gateways, or with the key of the home that was backed
    // up.
    let keys = secret_keys(Some(master_key()?));
    into_server(from, to, OpenRuns::TakenAlong, keys).await
}

async fn into_server(
    from: &HomeFolder,
    to: &ServerSettings,
    open_runs: OpenRuns,
    keys: Keys,
) -> Result<MoveCounts> {
    if !from.path().is_dir() {
        let message = format!("there is no home in {}", from.path().display());
        return Err(Fault::new(ErrorCode::NotFound, message).into());
    }
    let master = master_key()?;
    let config = config::for_sharing(from)?;
    // Entries that no gateway could use are reported before anything is copied.
    config::shared(from, &config)?;
    let clock = Arc::new(SystemClock::new());
    // Opening the store brings it up to date first, as a start does.
    let store = Store::open_embedded(take(from)?, clock.clone()).await?;
    let secrets = Secrets::open(Arc::clone(&store.secrets), clock, keys).await?;
    let secrets = secrets.sealed_for(&secret_keys(Some(master))).await?;
    drop(store);
    let home = take(from)?;
    let server = MovingServer::to_be_filled(to, &home).await.map_err(Fault::from)?;
    let extras = MoveExtras { secrets, config: Some(config), open_runs };
    Ok(server.fill(&home, &extras).await.map_err(Fault::from)?)
}

async fn into_home(from: &ServerSettings, to: &HomeFolder) -> Result<MoveCounts> {
    let master = master_key()?;
    let home = take(to)?;
    let server = MovingServer::to_be_read(from).await.map_err(Fault::from)?;
    let moved = read_into(&server, &home, master).await;
    if moved.is_err() {
        server.cancel_reading().await.map_err(Fault::from)?;
    }
    moved
}

async fn read_into(
    server: &MovingServer,
    home: &Home,
    master: onyx_identity::MasterKey,
) -> Result<MoveCounts> {
    let clock = Arc::new(SystemClock::new());
    let secrets = Secrets::open(server.secrets(), clock, secret_keys(Some(master))).await?;
    let secrets = secrets.sealed_for(&secret_keys(None)).await?;
    let config = server.config().await.map_err(Fault::from)?;
    Ok(server
        .read_into(home, &MoveExtras { secrets, config, open_runs: OpenRuns::Refused })
        .await
        .map_err(Fault::from)?)
}
