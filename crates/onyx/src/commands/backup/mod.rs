//! `onyx backup`, `onyx restore`, `onyx export`. They work on the files themselves, even while a server
//! uses the home, or on the database and the object store of server mode.

mod one_into_server;
mod restore;

use std::sync::Arc;

use anyhow::{Context, Result};
use onyx_backup::{
    BackupError, BackupPlace, BackupRequest, Encryption, LEFT_OUT, Passphrase, Repair,
    SnapshotInfo, back_up, export_everything, is_encrypted, list, verify,
};
use onyx_identity::Secrets;
use onyx_storage::{
    ReadOnlySecrets, ServerCopy, ServerSettings, read_shared_config, server_secrets,
};
use onyx_types::{Cancel, ErrorCode, Fault, SystemClock, Zone};
use serde_json::json;

use super::input;
use crate::cli::{AsJson, BackupArguments, BackupCommand, ExportArguments};
use crate::exit::Exit;
use crate::gateway::{backup_summary, master_key, secret_keys, server_settings};
use crate::home::HomeFolder;
use crate::{config, env, output};

pub(crate) use restore::restore;

pub(crate) async fn run(home: &HomeFolder, arguments: BackupArguments) -> Result<Exit> {
    match arguments.command {
        Some(BackupCommand::List { to, json }) => {
            list_snapshots(place(home, to.as_deref()).await?, json).await
        }
        Some(BackupCommand::Verify { to, repair, json }) => {
            let repair = if repair { Repair::Yes } else { Repair::No };
            check(place(home, to.as_deref()).await?, repair, json).await
        }
        None => make(home, arguments).await,
    }
}

/// Where backups are: the place that was asked for, else the config's, else the user's data folder.
async fn place(home: &HomeFolder, requested: Option<&str>) -> Result<BackupPlace> {
    let server = server_of(home)?;
    let config = match &server {
        // In server mode the config in the database counts, because all gateways share it.
        Some(settings) => {
            let text = read_shared_config(&settings.database).await.map_err(Fault::from)?;
            let shared = text.map(|shared| config::shared(home, &shared.text));
            shared.unwrap_or_else(|| config::load(home))?
        }
        // A backup is made even if the config cannot be read.
        None => config::load(home).unwrap_or_default(),
    };
    let of_config = config.jobs.backup.as_ref().map(|backup| backup.to.clone());
    let Some(to) = requested.map(str::to_owned).or(of_config) else {
        let folder = env::usual_backup_folder().context("name a folder with --to")?;
        return Ok(BackupPlace::Folder(folder));
    };
    let secrets = secrets_of(home, server.as_ref()).await;
    let secret_of = |name: &str| -> Result<Option<String>, Fault> {
        let secrets = secrets.as_ref().map_err(Fault::clone)?;
        Ok(secrets.get(name)?.map(|secret| secret.reveal().to_owned()))
    };
    Ok(config.backup_place(&to, &secret_of)?)
}

/// The server that the config names. One that cannot be reached as the config says is an error: a backup of the home
/// alone would look like one of everything.
fn server_of(home: &HomeFolder) -> Result<Option<ServerSettings>> {
    match server_settings(home) {
        Ok(settings) => Ok(settings),
        // A home is backed up even if its config cannot be read.
        Err(_) if config::load(home).is_err() => Ok(None),
        Err(error) => Err(error),
    }
}

/// They are read beside a server that has the home.
async fn secrets_of(home: &HomeFolder, server: Option<&ServerSettings>) -> Result<Secrets, Fault> {
    let clock = Arc::new(SystemClock::new());
    if let Some(settings) = server {
        let master = master_key().map_err(|error| {
            Fault::new(ErrorCode::InvalidRequest, format!("the secrets are not open: {error}"))
        })?;
        let sealed = server_secrets(settings)?;
        return Secrets::open(sealed, clock, secret_keys(Some(master))).await;
    }
    let sealed = ReadOnlySecrets::read(&home.path().join("onyx.db"))?;
    Secrets::open(Arc::new(sealed), clock, secret_keys(None)).await
}

/// Runs work that waits for a disk or a bucket on a blocking thread.
async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await.context("the work stopped unexpectedly")?;
    Ok(done.map_err(Fault::from)?)
}

/// The passphrase of the backups, if they are encrypted.
async fn passphrase(place: &BackupPlace, encryption: Encryption) -> Result<Option<Passphrase>> {
    let looked_at = place.clone();
    let known = waiting(move || is_encrypted(&looked_at)).await?;
    let is_needed = known.unwrap_or(encryption == Encryption::Wanted);
    if !is_needed {
        return Ok(None);
    }
    if let Some(text) = env::backup_passphrase() {
        return Ok(Some(Passphrase::new(text)));
    }
    let text = input::secret("Passphrase of the backups: ")?;
    if known.is_none() && std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        let again = input::secret("The same passphrase again: ")?;
        if again != text {
            return Err(Fault::new(ErrorCode::InvalidRequest, "the passphrases differ").into());
        }
    }
    let entered = Passphrase::new(text);
    if entered.is_empty() {
        return Err(Fault::from(BackupError::PassphraseNeeded { path: place.shown() }).into());
    }
    Ok(Some(entered))
}

async fn make(home: &HomeFolder, arguments: BackupArguments) -> Result<Exit> {
    let BackupArguments { to, encrypt, keep, json, .. } = arguments;
    let to = place(home, to.as_deref()).await?;
    let encryption = if encrypt { Encryption::Wanted } else { Encryption::AsItIs };
    let passphrase = passphrase(&to, encryption).await?;
    let (server, home) = (server_of(home)?, home.path().to_owned());
    let keep = keep.and_then(|keep| usize::try_from(keep).ok());
    let report = waiting(move || {
        let server = server.map(|settings| ServerCopy::begin(&settings)).transpose()?;
        back_up(&BackupRequest {
            home: &home,
            server: server.as_ref(),
            to: &to,
            passphrase: passphrase.as_ref(),
            encryption,
            keep,
            clock: &SystemClock::new(),
            stop: &Cancel::new(),
        })
    });
    let report = report.await?;
    if json.json {
        output::json(&report);
    } else {
        output::line(&backup_summary(&report));
        let names: Vec<&str> = LEFT_OUT.iter().map(|(name, _)| *name).collect();
        output::aside(&format!("Left out, because it can be made again: {}", names.join(", ")));
        if report.removed_snapshots > 0 {
            output::line(&format!("{} older snapshots were removed.", report.removed_snapshots));
        }
    }
    report.torn.iter().for_each(|path| {
        output::warning(&format!(
            "{path} kept changing while it was read; its copy may be inconsistent"
        ));
    });
    report.unreadable.iter().for_each(|why| output::warning(&format!("not in it: {why}")));
    Ok(if report.unreadable.is_empty() { Exit::Done } else { Exit::Failed })
}

fn line_of(info: &SnapshotInfo) -> String {
    let SnapshotInfo { id, made_at, files, bytes, unreadable, .. } = info;
    let at = Zone::of_this_machine().stamp(*made_at);
    let missing = match unreadable.len() {
        0 => String::new(),
        count => format!(", {count} could not be read"),
    };
    format!("{id}  {at}  {files} files, {} MiB{missing}", bytes / (1024 * 1024))
}

async fn list_snapshots(place: BackupPlace, json: AsJson) -> Result<Exit> {
    let passphrase = passphrase(&place, Encryption::AsItIs).await?;
    let listing = waiting(move || list(&place, passphrase.as_ref())).await?;
    if json.json {
        output::json(&json!({"snapshots": listing.snapshots, "damaged": listing.damaged}));
    } else {
        listing.snapshots.iter().for_each(|info| output::line(&line_of(info)));
    }
    listing.damaged.iter().for_each(|why| output::warning(why));
    Ok(if listing.damaged.is_empty() { Exit::Done } else { Exit::Failed })
}

async fn check(place: BackupPlace, repair: Repair, json: AsJson) -> Result<Exit> {
    let passphrase = passphrase(&place, Encryption::AsItIs).await?;
    let report = waiting(move || verify(&place, passphrase.as_ref(), repair)).await?;
    if json.json {
        output::json(&report);
        return Ok(if report.is_sound() { Exit::Done } else { Exit::Failed });
    }
    for damage in &report.damage {
        output::line(&match &damage.path {
            Some(path) => format!("damaged: {path} of snapshot {}", damage.snapshot),
            None => {
                format!("damaged: all of snapshot {}, its manifest is unreadable", damage.snapshot)
            }
        });
    }
    report.flaws.iter().for_each(|flaw| output::line(&format!("damaged, nothing lost: {flaw}")));
    if report.is_sound() {
        let mib = report.bytes / (1024 * 1024);
        let (snapshots, files) = (report.snapshots, report.files);
        output::line(&format!("{snapshots} snapshots with {files} files, {mib} MiB: all intact."));
        return Ok(Exit::Done);
    }
    output::aside(match repair {
        Repair::Yes => "What is damaged was removed; the next `onyx backup` stores it again.",
        Repair::No => {
            "`onyx backup verify --repair` removes it, so that the next backup stores it again."
        }
    });
    Ok(Exit::Failed)
}

pub(crate) async fn export(home: &HomeFolder, arguments: ExportArguments) -> Result<Exit> {
    if !arguments.everything {
        let hint =
            "Use `onyx export --everything FOLDER`, or `onyx sessions export` for a conversation.";
        let fault = Fault::new(ErrorCode::InvalidRequest, "say what to export: --everything");
        return Err(fault.with_hint(hint).into());
    }
    let (root, to) = (home.path().to_owned(), arguments.to);
    let (server, shown) = (server_of(home)?, to.display().to_string());
    let report = waiting(move || {
        let server = server.map(|settings| ServerCopy::begin(&settings)).transpose()?;
        export_everything(&root, server.as_ref(), &to, &Cancel::new())
    });
    let report = report.await?;
    let (files, pages) = (report.files, report.conversations);
    output::line(&format!(
        "{files} files and {pages} conversations are in {shown}; see its README.md."
    ));
    report.unreadable.iter().for_each(|why| output::warning(&format!("not in it: {why}")));
    Ok(if report.unreadable.is_empty() { Exit::Done } else { Exit::Failed })
}
