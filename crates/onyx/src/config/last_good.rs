//! The last config that worked. It is kept in the cache, for a server that is restarted after a
//! broken edit.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};

use super::{Config, ConfigError, read};
use crate::files;
use crate::home::HomeFolder;

/// Stores the text of a working config.
pub(crate) fn keep(home: &HomeFolder, config: &Config) -> Result<()> {
    let Some(text) = &config.text else { return Ok(()) };
    let path = home.last_good_config();
    if fs::read(&path).is_ok_and(|kept| kept == text.0.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        files::make_folder(folder)?;
    }
    let fresh = path.with_extension("new");
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| file.write_all(text.0.as_bytes()))
        .and_then(|()| fs::rename(&fresh, &path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The config of the last valid edit, if there was one.
pub(crate) fn load(home: &HomeFolder) -> Option<Result<Config, ConfigError>> {
    Some(read(home, text(home)?))
}

/// The text of the config as it was written.
pub(crate) fn text(home: &HomeFolder) -> Option<String> {
    fs::read_to_string(home.last_good_config()).ok()
}
