//! All environment variables that Onyx reads. No other file reads the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
#[cfg(debug_assertions)]
use std::time::Duration;

/// The home folder, which holds config and data.
pub(crate) const ONYX_HOME: &str = "ONYX_HOME";
/// The filters of the log, as `tracing` reads them: `info`, `onyx=debug`, …
pub(crate) const ONYX_LOG: &str = "ONYX_LOG";
/// `json` writes logs as JSON lines.
pub(crate) const ONYX_LOG_FORMAT: &str = "ONYX_LOG_FORMAT";
/// The folder that holds the home, unless `ONYX_HOME` is set.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The folder for key files of sealed secrets; by default `onyx/keys` in the user's data folder. If
/// it is set, new keys are stored there and not in the keyring.
const ONYX_KEYS: &str = "ONYX_KEYS";
/// The master key of server mode, which opens what gateways share: 64 hexadecimal digits or
/// `file:/path`. It must be the same for all gateways.
const ONYX_MASTER_KEY: &str = "ONYX_MASTER_KEY";
/// A file to which every audit row is appended as a line of JSON. It should be in a place from
/// which nothing can be removed.
const ONYX_AUDIT_EXPORT: &str = "ONYX_AUDIT_EXPORT";
/// The passphrase of encrypted backups, for `onyx backup` and `onyx restore` without a terminal.
const ONYX_BACKUP_PASSPHRASE: &str = "ONYX_BACKUP_PASSPHRASE";
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// The message bus with the desktop's keyring; by default `bus` in the folder of the session.
const DBUS_SESSION_BUS_ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// Ports of model servers on this machine that are not at their usual port, such as
/// `ollama=11435,lmstudio=4321`. `/api/admin/providers/found` looks for them, always on this
/// machine.
const ONYX_LOCAL_PORTS: &str = "ONYX_LOCAL_PORTS";
/// How many milliseconds background work waits before it begins and before it is recorded, for
/// `make test-delays`; or `point=milliseconds`, for a test that delays one point. Release builds do
/// not read it.
#[cfg(debug_assertions)]
const ONYX_TEST_DELAYS: &str = "ONYX_TEST_DELAYS";
/// The bytes at which the log of a session is sealed in server mode, for `make cluster`, whose
/// conversations are too short to be sealed otherwise. Release builds do not read it.
#[cfg(debug_assertions)]
const ONYX_TEST_SEALING: &str = "ONYX_TEST_SEALING";
/// How many milliseconds the clock of this process is ahead, for tests of machines whose clocks
/// differ. Release builds do not read it.
#[cfg(debug_assertions)]
const ONYX_TEST_CLOCK_AHEAD: &str = "ONYX_TEST_CLOCK_AHEAD";
/// People in addition to those of the config, separated by commas.
pub(crate) const VALID_PERSONS: &str = "VALID_PERSONS";
const HOME: &str = "HOME";
/// The person's editor, for `onyx memory edit`.
const VISUAL: &str = "VISUAL";
const EDITOR: &str = "EDITOR";
/// The folders of programs that Onyx uses if they are installed, such as `tesseract`.
const PATH: &str = "PATH";
/// The locale, of which the first that is set counts: scans are read in its language.
const LOCALES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];
/// The user who called sudo, for `onyx service install --system`.
const SUDO_USER: &str = "SUDO_USER";
/// If it has any value, nothing is printed in colour (https://no-color.org).
const NO_COLOR: &str = "NO_COLOR";

/// A variable that is passed on to a program that Onyx starts. The code that starts the program
/// chooses which.
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

/// The user's home folder.
pub(crate) fn user_home() -> Option<PathBuf> {
    folder(HOME)
}

/// The folder of keys that `ONYX_KEYS` names.
pub(crate) fn chosen_key_folder() -> Option<PathBuf> {
    folder(ONYX_KEYS)
}

/// The default folder of keys. It is outside the home, so that a copy of the home does not contain
/// the keys of its secrets.
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

/// The folder of key files, if there is one.
pub(crate) fn key_folder() -> Option<PathBuf> {
    chosen_key_folder().or_else(usual_key_folder)
}

pub(crate) fn master_key() -> Option<String> {
    text(ONYX_MASTER_KEY)
}

pub(crate) fn audit_export() -> Option<PathBuf> {
    folder(ONYX_AUDIT_EXPORT)
}

/// The addresses of the person's message bus, if there may be one.
pub(crate) fn session_bus() -> Option<String> {
    let usual = || Some(format!("unix:path={}", folder(XDG_RUNTIME_DIR)?.join("bus").display()));
    text(DBUS_SESSION_BUS_ADDRESS).or_else(usual)
}

/// The ports of model servers on this machine. Unreadable entries are ignored, so the usual port is
/// used.
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
    /// The point that is delayed; `None` delays every point.
    pub(crate) point: Option<String>,
    pub(crate) length: Duration,
}

/// The delay that a test asks for. An unreadable value is ignored, so nothing is delayed.
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

/// The bytes at which a test has logs sealed. An unreadable value is ignored.
#[cfg(debug_assertions)]
pub(crate) fn test_sealing() -> Option<u64> {
    text(ONYX_TEST_SEALING)?.parse().ok()
}

/// How far a test sets the clock of this process ahead. An unreadable value is ignored.
#[cfg(debug_assertions)]
pub(crate) fn test_clock_ahead() -> Option<Duration> {
    Some(Duration::from_millis(text(ONYX_TEST_CLOCK_AHEAD)?.parse().ok()?))
}

pub(crate) fn editor() -> String {
    text(VISUAL).or_else(|| text(EDITOR)).unwrap_or_else(|| "vi".to_owned())
}

/// The path of an installed program; `None` if it is not installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&read(PATH)?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_absolute() && program.is_file())
}

/// The locale of this machine, such as `de_AT.UTF-8`.
pub(crate) fn locale() -> Option<String> {
    LOCALES.into_iter().find_map(text)
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
