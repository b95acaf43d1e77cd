//! Finds a program, and decides which of our environment variables it may see.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// All variables that programs may see. Above all, no keys of providers are passed on: with such a
/// key a program would charge that account.
const PASSED_ON: [&str; 18] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
];

/// The part of the environment that is passed on; `read` returns a variable's value.
pub fn environment_for_programs(
    read: impl Fn(&str) -> Option<OsString>,
) -> Vec<(String, OsString)> {
    PASSED_ON.iter().filter_map(|&name| Some((name.to_owned(), read(name)?))).collect()
}

/// The program of this name on the environment's `PATH`. It is looked up each time, because it may
/// have been installed meanwhile.
pub(super) fn on_path(name: &Path, environment: &[(String, OsString)]) -> Option<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let folders = path.into_iter().flat_map(|(_, path)| std::env::split_paths(path));
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|program| program.is_absolute() && program.is_file())
}
