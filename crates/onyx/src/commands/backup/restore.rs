//! `onyx restore`: restores a whole backup into an empty home or an empty database and bucket, or one session or
//! file into either.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use onyx_backup::{
    BackupError, BackupPlace, Encryption, Passphrase, RestoreReport, RestoreRequest,
    SessionRequest, Source, WhenDamaged, restore_file, restore_home, restore_session,
};
use onyx_identity::{MasterKey, Secrets};
use onyx_storage::{ServerSettings, Store};
use onyx_types::{Cancel, Fault, SessionId, SystemClock};

use super::super::{reindex, storage};
use super::one_into_server::OneIntoServer;
use super::{passphrase, place, server_of, waiting};
use crate::cli::RestoreArguments;
use crate::exit::Exit;
use crate::gateway::{Claim, Unreachable, claim, master_key, secret_keys};
use crate::home::HomeFolder;
use crate::output;

pub(crate) async fn restore(home: &HomeFolder, arguments: RestoreArguments) -> Result<Exit> {
    let from = place(home, Some(&arguments.from)).await?;
    let passphrase = passphrase(&from, Encryption::AsItIs).await?;
    if let Some(settings) = server_of(home)? {
        let one = OneIntoServer {
            settings: &settings,
            from,
            snapshot: arguments.snapshot.clone(),
            passphrase,
        };
        return match (arguments.session, &arguments.file) {
            (Some(session), _) => one.session(home, session).await,
            (None, Some(file)) => one.file(file).await,
            (None, None) => into_server(home, &settings, one.from, arguments, one.passphrase).await,
        };
    }
    if let Some(session) = arguments.session {
        let (root, snapshot) = (home.path().to_owned(), arguments.snapshot);
        let seed = random_seed()?;
        let done = waiting(move || {
            restore_session(&SessionRequest {
                source: source(&from, snapshot.as_deref(), passphrase.as_ref()),
                home: &root,
                session,
                clock: &SystemClock::new(),
                seed,
            })
        });
        let done = done.await?;
        tell_session(session, done.session, &done.snapshot);
        // The reindex enters the restored log in the ledger.
        return reindex::run(home).await;
    }
    if let Some(file) = arguments.file {
        let (root, snapshot) = (home.path().to_owned(), arguments.snapshot);
        let done = waiting(move || {
            restore_file(source(&from, snapshot.as_deref(), passphrase.as_ref()), &root, &file)
        });
        let done = done.await?;
        output::line(&format!(
            "{} is restored from snapshot {}.",
            done.path.display(),
            done.snapshot
        ));
        return Ok(Exit::Done);
    }
    whole(home, from, arguments, passphrase).await
}

/// A random seed for the new id of a conversation that still exists.
pub(super) fn random_seed() -> Result<u64> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).context("the system provides no random numbers")?;
    Ok(u64::from_le_bytes(seed))
}

pub(super) fn tell_session(requested: SessionId, restored: SessionId, snapshot: &str) {
    let beside = if restored == requested { "" } else { ", beside the existing one" };
    output::line(&format!("Session {restored} is restored from snapshot {snapshot}{beside}."));
}

pub(super) fn source<'a>(
    place: &'a BackupPlace,
    snapshot: Option<&'a str>,
    passphrase: Option<&'a Passphrase>,
) -> Source<'a> {
    Source { place, snapshot, passphrase }
}

async fn whole(
    home: &HomeFolder,
    from: BackupPlace,
    arguments: RestoreArguments,
    passphrase: Option<Passphrase>,
) -> Result<Exit> {
    let report = write_home(home.path(), from, arguments, passphrase).await?;
    // Secrets of a server are sealed with the key of its gateways; a home has its own keys.
    if let Ok(master) = master_key()
        && let Err(error) = seal_anew(home, master).await
    {
        output::warning(&format!("secrets stay sealed with the key of the gateways: {error:#}"));
    }
    let shown = home.path().display();
    tell(&report, &shown.to_string());
    Ok(if report.damaged.is_empty() { Exit::Done } else { Exit::Failed })
}

async fn write_home(
    home: &Path,
    from: BackupPlace,
    arguments: RestoreArguments,
    passphrase: Option<Passphrase>,
) -> Result<RestoreReport> {
    let root = home.to_owned();
    let when_damaged = if arguments.skip_damaged { WhenDamaged::Skip } else { WhenDamaged::Stop };
    let restored = tokio::task::spawn_blocking(move || {
        restore_home(&RestoreRequest {
            source: source(&from, arguments.snapshot.as_deref(), passphrase.as_ref()),
            home: &root,
            when_damaged,
            stop: &Cancel::new(),
        })
    });
    match restored.await.context("the work stopped unexpectedly")? {
        Ok(report) => Ok(report),
        Err(error @ BackupError::Busy { .. }) => Err(Unreachable(error.to_string()).into()),
        Err(error) => Err(Fault::from(error).into()),
    }
}

fn tell(report: &RestoreReport, shown: &str) {
    let mib = report.bytes / (1024 * 1024);
    let (files, id) = (report.files, &report.snapshot.id);
    output::line(&format!("{shown} is restored from snapshot {id}: {files} files, {mib} MiB."));
    output::aside(
        "Keys of sealed secrets are outside the home and in no backup; `onyx doctor` says whether \
         they are here. Local models are downloaded again with `onyx models pull`.",
    );
    for path in &report.damaged {
        output::warning(&format!("{path} is damaged in the backup and was left out"));
    }
}

async fn seal_anew(home: &HomeFolder, master: MasterKey) -> Result<()> {
    let Claim::Ours(claimed) = claim(home)? else { return Ok(()) };
    let clock = Arc::new(SystemClock::new());
    let store = Store::open_embedded(claimed, clock.clone()).await?;
    let keys = secret_keys(Some(master));
    let secrets = Secrets::open(Arc::clone(&store.secrets), clock, keys).await?;
    let rows = secrets.sealed_for(&secret_keys(None)).await?;
    if !rows.is_empty() {
        store.secrets.put_secrets(rows).await?;
    }
    Ok(())
}

/// Restores into an empty database and bucket: first as a home, which is deleted once everything is copied and
/// compared.
async fn into_server(
    home: &HomeFolder,
    settings: &ServerSettings,
    from: BackupPlace,
    arguments: RestoreArguments,
    passphrase: Option<Passphrase>,
) -> Result<Exit> {
    let folder = home.path().join("cache/restoring");
    let _ = std::fs::remove_dir_all(&folder);
    let report = write_home(&folder, from, arguments, passphrase).await?;
    let moved = storage::restored_into_server(&HomeFolder::at(&folder), settings).await;
    let _ = std::fs::remove_dir_all(&folder);
    storage::tell(moved?);
    tell(&report, "what the gateways share");
    Ok(if report.damaged.is_empty() { Exit::Done } else { Exit::Failed })
}
