//! Every environment variable that Onyx reads, in one place. Nothing else reads the environment.

use std::ffi::OsString;
use std::path::PathBuf;

/// The home folder: config, data, everything.
pub(crate) const ONYX_HOME: &str = "ONYX_HOME";
/// What is logged, as `tracing` filters: `info`, `onyx=debug`, …
pub(crate) const ONYX_LOG: &str = "ONYX_LOG";
/// `json` writes logs as JSON lines.
pub(crate) const ONYX_LOG_FORMAT: &str = "ONYX_LOG_FORMAT";
/// Where the home folder lies unless `ONYX_HOME` says otherwise.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Where the keys of sealed secrets lie, unless it is `onyx/keys` in the user's data folder.
const ONYX_KEYS: &str = "ONYX_KEYS";
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// People beside those of the config, with commas between them.
pub(crate) const VALID_PERSONS: &str = "VALID_PERSONS";
const HOME: &str = "HOME";
/// The person's editor, for `onyx memory edit`.
const VISUAL: &str = "VISUAL";
const EDITOR: &str = "EDITOR";
/// Any value: no colours (https://no-color.org).
const NO_COLOR: &str = "NO_COLOR";

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

/// Outside the home: who copies it does not copy what opens its secrets.
pub(crate) fn key_folder() -> Option<PathBuf> {
    let data = || folder(XDG_DATA_HOME).or_else(|| Some(folder(HOME)?.join(".local/share")));
    folder(ONYX_KEYS).or_else(|| Some(data()?.join("onyx/keys")))
}

pub(crate) fn editor() -> String {
    text(VISUAL).or_else(|| text(EDITOR)).unwrap_or_else(|| "vi".to_owned())
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
