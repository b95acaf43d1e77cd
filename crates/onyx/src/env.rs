//! Every environment variable that Onyx reads, in one place. Nothing else reads the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
#[cfg(debug_assertions)]
use std::time::Duration;

/// The home folder: config, data, everything.
pub(crate) const ONYX_HOME: &str = "ONYX_HOME";
/// What is logged, as `tracing` filters: `info`, `onyx=debug`, …
pub(crate) const ONYX_LOG: &str = "ONYX_LOG";
/// `json` writes logs as JSON lines.
pub(crate) const ONYX_LOG_FORMAT: &str = "ONYX_LOG_FORMAT";
/// The folder of the home unless `ONYX_HOME` is set.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Where the keys of sealed secrets lie in files, unless it is `onyx/keys` in the user's data
/// folder. Set, new keys go there and not into the keyring.
const ONYX_KEYS: &str = "ONYX_KEYS";
/// Server mode: the key that opens what gateways share, 64 hexadecimal digits or `file:/path`, the same for all of them.
const ONYX_MASTER_KEY: &str = "ONYX_MASTER_KEY";
/// A file to which every audit row is added as a line of JSON, for a place from which nothing can be
/// taken away.
const ONYX_AUDIT_EXPORT: &str = "ONYX_AUDIT_EXPORT";
/// The passphrase of encrypted backups, for `onyx backup` and `onyx restore` without a terminal.
const ONYX_BACKUP_PASSPHRASE: &str = "ONYX_BACKUP_PASSPHRASE";
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// The bus on which the desktop's keyring answers, unless it is `bus` in the folder of the session.
const DBUS_SESSION_BUS_ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// Ports of servers on this machine that are not at their usual one, such as
/// `ollama=11435,lmstudio=4321`: where `/api/admin/providers/found` looks for them. The address is
/// this machine in any case.
const ONYX_LOCAL_PORTS: &str = "ONYX_LOCAL_PORTS";
/// Milliseconds for which background work waits between what is asked and its beginning, and between
/// its end and the books, for `make test-delays`; or `point=milliseconds`, for a test that delays one
/// point. Builds for people do not read it.
#[cfg(debug_assertions)]
const ONYX_TEST_DELAYS: &str = "ONYX_TEST_DELAYS";
/// People beside those of the config, with commas between them.
pub(crate) const VALID_PERSONS: &str = "VALID_PERSONS";
const HOME: &str = "HOME";
/// The person's editor, for `onyx memory edit`.
const VISUAL: &str = "VISUAL";
const EDITOR: &str = "EDITOR";
/// Where programs lie that Onyx uses when they are installed, such as `tesseract`.
const PATH: &str = "PATH";
/// Who called sudo, for `onyx service install --system`.
const SUDO_USER: &str = "SUDO_USER";
/// Any value: no colours (https://no-color.org).
const NO_COLOR: &str = "NO_COLOR";

/// A variable that a program which we start may see; which these are stands where it is started.
pub(crate) fn passed_on(name: &str) -> Option<OsString> {
    read(name)
}

/// A variable that the config names as `${NAME}`.
pub(crate) fn named(name: &str) -> Option<String> {
    read(name)?.into_string().ok()
}

pub(crate) fn text(name: &str) -> Option<String> {
    named(name).filter(|value| !value.is_empty())
}

pub(crate) fn onyx_home() -> Option<PathBuf> {
    folder(ONYX_HOME)
}

pub(crate) fn config_folder() -> Option<PathBuf> {
    folder(XDG_CONFIG_HOME).or_else(|| Some(folder(HOME)?.join(".config")))
}

/// Where the user's programs keep what is theirs.
pub(crate) fn user_home() -> Option<PathBuf> {
    folder(HOME)
}

/// The folder of keys that was asked for.
pub(crate) fn chosen_key_folder() -> Option<PathBuf> {
    folder(ONYX_KEYS)
}

/// The usual folder of keys lies outside the home, so that whoever copies the home does not copy
/// what opens its secrets.
pub(crate) fn usual_key_folder() -> Option<PathBuf> {
    let data = folder(XDG_DATA_HOME).or_else(|| Some(folder(HOME)?.join(".local/share")));
    Some(data?.join("onyx/keys"))
}

pub(crate) fn backup_passphrase() -> Option<String> {
    text(ONYX_BACKUP_PASSPHRASE)
}

/// The default place of backups.
pub(crate) fn usual_backup_folder() -> Option<PathBuf> {
    let data = folder(XDG_DATA_HOME).or_else(|| Some(folder(HOME)?.join(".local/share")));
    Some(data?.join("onyx/backups"))
}

/// Where keys lie in files, if there is a place for them.
pub(crate) fn key_folder() -> Option<PathBuf> {
    chosen_key_folder().or_else(usual_key_folder)
}

pub(crate) fn master_key() -> Option<String> {
    text(ONYX_MASTER_KEY)
}

pub(crate) fn audit_export() -> Option<PathBuf> {
    folder(ONYX_AUDIT_EXPORT)
}

/// Addresses of the person's message bus, where there may be one.
pub(crate) fn session_bus() -> Option<String> {
    let usual = || Some(format!("unix:path={}", folder(XDG_RUNTIME_DIR)?.join("bus").display()));
    text(DBUS_SESSION_BUS_ADDRESS).or_else(usual)
}

/// What does not read is left out: the usual port holds.
pub(crate) fn local_ports() -> BTreeMap<String, u16> {
    let pairs = text(ONYX_LOCAL_PORTS).unwrap_or_default();
    let pair = |pair: &str| {
        let (name, port) = pair.split_once('=')?;
        Some((name.trim().to_owned(), port.trim().parse().ok()?))
    };
    pairs.split(',').filter_map(pair).collect()
}

/// How long a test delays background work at a point.
#[cfg(debug_assertions)]
pub(crate) struct TestDelay {
    /// `None`: at every point.
    pub(crate) point: Option<String>,
    pub(crate) length: Duration,
}

/// What does not read is left out: nothing waits.
#[cfg(debug_assertions)]
pub(crate) fn test_delay() -> Option<TestDelay> {
    let asked = text(ONYX_TEST_DELAYS)?;
    let (point, milliseconds) = match asked.split_once('=') {
        Some((point, milliseconds)) => (Some(point.to_owned()), milliseconds),
        None => (None, asked.as_str()),
    };
    let length = Duration::from_millis(milliseconds.parse().ok()?);
    (!length.is_zero()).then_some(TestDelay { point, length })
}

pub(crate) fn editor() -> String {
    text(VISUAL).or_else(|| text(EDITOR)).unwrap_or_else(|| "vi".to_owned())
}

/// Where a program is installed; `None`: it is not.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&read(PATH)?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_absolute() && program.is_file())
}

pub(crate) fn sudo_user() -> Option<String> {
    text(SUDO_USER)
}

pub(crate) fn no_color() -> bool {
    read(NO_COLOR).is_some_and(|value| !value.is_empty())
}

fn folder(name: &str) -> Option<PathBuf> {
    read(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[allow(clippy::disallowed_methods, reason = "this is the file of environment variables")]
fn read(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
