//! `onyx service`: installs the server as a systemd service of one user or of the machine. Only
//! units that this command wrote are changed or removed.

mod manager;
mod unit;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_types::{ErrorCode, Fault};
use serde::Serialize;

use crate::cli::{ServiceCommand, ServicePlace};
use crate::exit::Exit;
use crate::gateway::{Claim, Unreachable, claim};
use crate::home::HomeFolder;
use crate::{env, output};
use manager::Manager;
use unit::{Account, Unit};

/// The unit's name, of a user's service and of the machine's.
const NAME: &str = "onyx.service";
/// The first line of every unit that this command writes.
const MARK: &str = "# Written by `onyx service install`.\n";

pub(crate) fn run(home: &HomeFolder, command: ServiceCommand) -> Result<Exit> {
    match command {
        ServiceCommand::Install { place, user } => install(home, &place, user),
        ServiceCommand::Uninstall { place } => uninstall(&place),
        ServiceCommand::Status { place, json } => status(&place, json.json),
    }
}

fn install(home: &HomeFolder, place: &ServicePlace, user: Option<String>) -> Result<Exit> {
    let path = unit_path(place)?;
    let manager = Manager::find(place)?;
    if let InstalledUnit::Foreign = look(&path)? {
        return Err(not_ours(&path));
    }
    let unit = if place.system { unit_of_machine(home, place, user)? } else { unit_of_user(home)? };
    let is_running = place.root.is_none() && manager.is_active()?;
    if !is_running && place.root.is_none() {
        refuse_second_server(&unit.home)?;
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::write(&path, format!("{MARK}{}", unit.text()))
        .with_context(|| format!("cannot write {}", path.display()))?;
    if is_running {
        manager.restart()?;
    } else {
        manager.enable()?;
    }
    output::line(&format!("{} is written and enabled", path.display()));
    if place.root.is_some() {
        return Ok(Exit::Done);
    }
    output::line(&format!(
        "Onyx runs now and starts automatically from now on; its log: {}",
        manager.log_command()
    ));
    if !place.system {
        output::aside("to let it run while you are not signed in: loginctl enable-linger");
    }
    Ok(Exit::Done)
}

fn uninstall(place: &ServicePlace) -> Result<Exit> {
    let path = unit_path(place)?;
    match look(&path)? {
        InstalledUnit::Nothing => return Err(nothing_there(&path)),
        InstalledUnit::Foreign => return Err(not_ours(&path)),
        InstalledUnit::Ours => {}
    }
    let manager = Manager::find(place)?;
    manager.give_up()?;
    std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    manager.reload()?;
    output::line(&format!("{} is removed; the home is kept", path.display()));
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Status {
    installed: bool,
    unit: PathBuf,
    /// The state as systemctl prints it.
    enabled: String,
    active: String,
}

fn status(place: &ServicePlace, json: bool) -> Result<Exit> {
    let unit = unit_path(place)?;
    let installed = look(&unit)? != InstalledUnit::Nothing;
    let (enabled, active) = if installed {
        let manager = Manager::find(place)?;
        (manager.says("is-enabled")?, manager.says("is-active")?)
    } else {
        ("disabled".to_owned(), "inactive".to_owned())
    };
    let status = Status { installed, unit, enabled, active };
    if json {
        output::json(&status);
    } else if status.installed {
        let Status { unit, enabled, active, .. } = &status;
        output::line(&format!("{}: {enabled}, {active}", unit.display()));
    } else {
        output::line(&format!("not installed: there is no {}", status.unit.display()));
    }
    Ok(match (status.installed, status.active.as_str()) {
        (false, _) => Exit::NotFound,
        (true, "active") => Exit::Done,
        (true, _) => Exit::Failed,
    })
}

fn unit_path(place: &ServicePlace) -> Result<PathBuf> {
    if place.system {
        let root = place.root.as_deref().unwrap_or(Path::new("/"));
        return Ok(root.join("etc/systemd/system").join(NAME));
    }
    let folder = env::config_folder().context("neither XDG_CONFIG_HOME nor HOME is set")?;
    Ok(folder.join("systemd/user").join(NAME))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InstalledUnit {
    Nothing,
    Ours,
    Foreign,
}

fn look(path: &Path) -> Result<InstalledUnit> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) => Ok(InstalledUnit::Ours),
        Ok(_) => Ok(InstalledUnit::Foreign),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(InstalledUnit::Nothing),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn unit_of_user(home: &HomeFolder) -> Result<Unit> {
    Ok(Unit {
        onyx: this_program()?,
        home: home.path().to_owned(),
        keys: env::chosen_key_folder(),
        account: None,
    })
}

fn unit_of_machine(home: &HomeFolder, place: &ServicePlace, user: Option<String>) -> Result<Unit> {
    let user = user.or_else(env::sudo_user).filter(|name| name != "root").ok_or_else(|| {
        Fault::new(
            ErrorCode::InvalidRequest,
            "a service of the machine needs a user to run as, other than root",
        )
        .with_hint("Add --user <name>: agents run commands with the rights of this user.")
    })?;
    let account = Account::named(&user, place.root.as_deref())?;
    let folder = match env::onyx_home() {
        Some(_) => home.path().to_owned(),
        None => account.folder.join(".config/onyx"),
    };
    if place.root.is_none() && !folder.is_dir() {
        let message =
            format!("{user} has no home for agents yet: there is no {}", folder.display());
        let hint = format!("Create it first: sudo -u {user} onyx init");
        return Err(Fault::new(ErrorCode::NotFound, message).with_hint(hint).into());
    }
    let keys =
        env::chosen_key_folder().unwrap_or_else(|| account.folder.join(".local/share/onyx/keys"));
    Ok(Unit { onyx: this_program()?, home: folder, keys: Some(keys), account: Some(account) })
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find the path of this program")
}

/// Refuses while another server runs: a second one would not get the home, and systemd would
/// restart it endlessly.
fn refuse_second_server(home: &Path) -> Result<()> {
    if !home.is_dir() {
        return Ok(());
    }
    match claim(&HomeFolder::at(home))? {
        Claim::Ours(_) => Ok(()),
        Claim::Theirs(held) => {
            Err(Unreachable(format!("{held}; stop it first, then install")).into())
        }
    }
}

fn not_ours(path: &Path) -> anyhow::Error {
    let message =
        format!("{} was not written by `onyx service install`; it is left alone", path.display());
    Fault::new(ErrorCode::Forbidden, message)
        .with_hint("Move the file away first, then run the command again.")
        .into()
}

fn nothing_there(path: &Path) -> anyhow::Error {
    let message = format!("no service is installed: there is no {}", path.display());
    Fault::new(ErrorCode::NotFound, message).with_hint("Run `onyx service install`.").into()
}
