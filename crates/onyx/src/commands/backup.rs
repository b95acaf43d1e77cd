//! `onyx backup`, `onyx restore`, `onyx export`. They work on the files themselves, beside a server
//! that serves the home.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_backup::{
    BackupError, BackupRequest, Encryption, LEFT_OUT, Passphrase, Repair, RestoreRequest,
    SessionRequest, SnapshotInfo, Source, WhenDamaged, back_up, export_everything, is_encrypted,
    list, restore_file, restore_home, restore_session, verify,
};
use onyx_types::{Cancel, ErrorCode, Fault, SystemClock, Zone};
use serde_json::json;

use super::{input, reindex};
use crate::cli::{AsJson, BackupArguments, BackupCommand, ExportArguments, RestoreArguments};
use crate::exit::Exit;
use crate::gateway::{Unreachable, backup_summary, server_settings};
use crate::home::HomeFolder;
use crate::{config, env, output};

pub(crate) async fn run(home: &HomeFolder, arguments: BackupArguments) -> Result<Exit> {
    match arguments.command {
        Some(BackupCommand::List { to, json }) => list_snapshots(&folder(home, to)?, json).await,
        Some(BackupCommand::Verify { to, repair, json }) => {
            let repair = if repair { Repair::Yes } else { Repair::No };
            check(&folder(home, to)?, repair, json).await
        }
        None => make(home, arguments).await,
    }
}

/// Where backups are: as asked, as the config says, else in the user's data folder.
fn folder(home: &HomeFolder, asked: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(to) = asked {
        return local(to);
    }
    let of_config = config::load(home).ok().and_then(|config| config.jobs.backup);
    match of_config {
        Some(backup) => Ok(backup.to),
        None => env::usual_backup_folder().context("name a folder with --to"),
    }
}

/// Folders only: an address would become a folder of that name.
fn local(path: PathBuf) -> Result<PathBuf> {
    if path.to_str().is_some_and(|text| text.contains("://")) {
        let message = format!("{} is an address; backups go into folders", path.display());
        return Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Name a folder, such as a mounted disk.")
            .into());
    }
    Ok(path)
}

/// Work that waits for the disk.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await.context("the work broke off")?;
    Ok(done.map_err(Fault::from)?)
}

/// What opens the folder, if it needs anything.
fn passphrase(folder: &Path, encryption: Encryption) -> Result<Option<Passphrase>> {
    let known = is_encrypted(folder).map_err(Fault::from)?;
    let is_needed = known.unwrap_or(encryption == Encryption::Wanted);
    if !is_needed {
        return Ok(None);
    }
    if let Some(text) = env::backup_passphrase() {
        return Ok(Some(Passphrase::new(text)));
    }
    let text = input::secret("Passphrase of the backups: ")?;
    if known.is_none() && std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        let again = input::secret("The same once more: ")?;
        if again != text {
            return Err(Fault::new(ErrorCode::InvalidRequest, "the two are not the same").into());
        }
    }
    let given = Passphrase::new(text);
    if given.is_empty() {
        return Err(Fault::from(BackupError::PassphraseNeeded { path: folder.to_owned() }).into());
    }
    Ok(Some(given))
}

/// What gateways share lies in no folder: a backup of this one would hold nothing of it.
fn only_of_homes(home: &HomeFolder) -> Result<()> {
    // A config that cannot be read is no reason to refuse a backup.
    if !matches!(server_settings(home), Ok(Some(_))) {
        return Ok(());
    }
    let message = "this gateway keeps everything in a database and an object store";
    let hint = "Back both up with their own tools, the database first; `onyx storage move` brings all of it into a home.";
    Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint).into())
}

async fn make(home: &HomeFolder, arguments: BackupArguments) -> Result<Exit> {
    only_of_homes(home)?;
    let BackupArguments { to, encrypt, keep, json, .. } = arguments;
    let to = folder(home, to)?;
    let encryption = if encrypt { Encryption::Wanted } else { Encryption::AsItIs };
    let passphrase = passphrase(&to, encryption)?;
    let home = home.path().to_owned();
    let keep = keep.and_then(|keep| usize::try_from(keep).ok());
    let report = on_disk(move || {
        back_up(&BackupRequest {
            home: &home,
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
        output::aside(&format!("Not in it, since it can be had again: {}", names.join(", ")));
        if report.removed_snapshots > 0 {
            output::line(&format!("{} older snapshots were removed.", report.removed_snapshots));
        }
    }
    report.torn.iter().for_each(|path| {
        output::warning(&format!(
            "{path} was being written all the while; it may be of no one moment"
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

async fn list_snapshots(folder: &Path, json: AsJson) -> Result<Exit> {
    let passphrase = passphrase(folder, Encryption::AsItIs)?;
    let folder = folder.to_owned();
    let listing = on_disk(move || list(&folder, passphrase.as_ref())).await?;
    if json.json {
        output::json(&json!({"snapshots": listing.snapshots, "damaged": listing.damaged}));
    } else {
        listing.snapshots.iter().for_each(|info| output::line(&line_of(info)));
    }
    listing.damaged.iter().for_each(|why| output::warning(why));
    Ok(if listing.damaged.is_empty() { Exit::Done } else { Exit::Failed })
}

async fn check(folder: &Path, repair: Repair, json: AsJson) -> Result<Exit> {
    let passphrase = passphrase(folder, Encryption::AsItIs)?;
    let folder = folder.to_owned();
    let report = on_disk(move || verify(&folder, passphrase.as_ref(), repair)).await?;
    if json.json {
        output::json(&report);
        return Ok(if report.is_sound() { Exit::Done } else { Exit::Failed });
    }
    for damage in &report.damage {
        output::line(&match &damage.path {
            Some(path) => format!("damaged: {path} of snapshot {}", damage.snapshot),
            None => {
                format!("damaged: all of snapshot {}, its manifest does not read", damage.snapshot)
            }
        });
    }
    report.flaws.iter().for_each(|flaw| output::line(&format!("damaged, nothing lost: {flaw}")));
    if report.is_sound() {
        let mib = report.bytes / (1024 * 1024);
        let (snapshots, files) = (report.snapshots, report.files);
        output::line(&format!("{snapshots} snapshots with {files} files, {mib} MiB: all whole."));
        return Ok(Exit::Done);
    }
    output::aside(match repair {
        Repair::Yes => "What is damaged was taken away; the next `onyx backup` keeps it anew.",
        Repair::No => {
            "`onyx backup verify --repair` takes it away, so that the next backup keeps it anew."
        }
    });
    Ok(Exit::Failed)
}

pub(crate) async fn restore(home: &HomeFolder, arguments: RestoreArguments) -> Result<Exit> {
    only_of_homes(home)?;
    let from = local(arguments.from.clone())?;
    if is_encrypted(&from).map_err(Fault::from)?.is_none() {
        return Err(Fault::from(BackupError::NotABackup { path: from }).into());
    }
    let passphrase = passphrase(&from, Encryption::AsItIs)?;
    if let Some(session) = arguments.session {
        let (root, snapshot) = (home.path().to_owned(), arguments.snapshot);
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).context("the system gives no random numbers")?;
        let done = on_disk(move || {
            restore_session(&SessionRequest {
                source: source(&from, snapshot.as_deref(), passphrase.as_ref()),
                home: &root,
                session,
                clock: &SystemClock::new(),
                seed: u64::from_le_bytes(seed),
            })
        });
        let done = done.await?;
        let kept = if done.session == session { "" } else { ", beside the one that is there" };
        output::line(&format!(
            "Session {} is back from snapshot {}{kept}.",
            done.session, done.snapshot
        ));
        // The ledger learns of it as it does of any log.
        return reindex::run(home).await;
    }
    if let Some(file) = arguments.file {
        let (root, snapshot) = (home.path().to_owned(), arguments.snapshot);
        let done = on_disk(move || {
            restore_file(source(&from, snapshot.as_deref(), passphrase.as_ref()), &root, &file)
        });
        let done = done.await?;
        output::line(&format!("{} is back from snapshot {}.", done.path.display(), done.snapshot));
        return Ok(Exit::Done);
    }
    whole(home, from, arguments, passphrase).await
}

fn source<'a>(
    folder: &'a Path,
    snapshot: Option<&'a str>,
    passphrase: Option<&'a Passphrase>,
) -> Source<'a> {
    Source { folder, snapshot, passphrase }
}

async fn whole(
    home: &HomeFolder,
    from: PathBuf,
    arguments: RestoreArguments,
    passphrase: Option<Passphrase>,
) -> Result<Exit> {
    let (root, shown) = (home.path().to_owned(), home.path().display());
    let when_damaged = if arguments.skip_damaged { WhenDamaged::Skip } else { WhenDamaged::Stop };
    let restored = tokio::task::spawn_blocking(move || {
        restore_home(&RestoreRequest {
            source: source(&from, arguments.snapshot.as_deref(), passphrase.as_ref()),
            home: &root,
            when_damaged,
            stop: &Cancel::new(),
        })
    });
    let report = match restored.await.context("the work broke off")? {
        Ok(report) => report,
        Err(error @ BackupError::Busy { .. }) => return Err(Unreachable(error.to_string()).into()),
        Err(error) => return Err(Fault::from(error).into()),
    };
    let mib = report.bytes / (1024 * 1024);
    let (files, id) = (report.files, &report.snapshot.id);
    output::line(&format!("{shown} is back from snapshot {id}: {files} files, {mib} MiB."));
    output::aside(
        "Keys of sealed secrets lie outside the home and are in no backup; `onyx doctor` says \
         whether they are here. Weights of models are fetched again with `onyx models pull`.",
    );
    for path in &report.damaged {
        output::warning(&format!("{path} is damaged in the backup and was left out"));
    }
    Ok(if report.damaged.is_empty() { Exit::Done } else { Exit::Failed })
}

pub(crate) async fn export(home: &HomeFolder, arguments: ExportArguments) -> Result<Exit> {
    if !arguments.everything {
        let hint =
            "Say `onyx export --everything FOLDER`; for one conversation, `onyx sessions export`.";
        let fault = Fault::new(ErrorCode::InvalidRequest, "it is not said what to export");
        return Err(fault.with_hint(hint).into());
    }
    only_of_homes(home)?;
    let (root, to) = (home.path().to_owned(), local(arguments.to)?);
    let shown = to.display().to_string();
    let report = on_disk(move || export_everything(&root, &to, &Cancel::new())).await?;
    let (files, pages) = (report.files, report.conversations);
    output::line(&format!(
        "{files} files and {pages} conversations are in {shown}; see its README.md."
    ));
    report.unreadable.iter().for_each(|why| output::warning(&format!("not in it: {why}")));
    Ok(if report.unreadable.is_empty() { Exit::Done } else { Exit::Failed })
}
