use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::home::HomeFolder;

/// The size of the path in a socket address, with its end mark.
const LONGEST: usize = 107;

/// A path to the socket that is short enough for the kernel, even if the home's own path is too long.
#[derive(Debug)]
pub(crate) struct SocketPath {
    path: PathBuf,
    key: PathBuf,
    /// The open folder that a short path goes through.
    _folder: Option<OwnedFd>,
}

impl SocketPath {
    pub(crate) fn of(home: &HomeFolder) -> Result<Self> {
        let (path, key) = (home.socket(), home.socket_key());
        if path.as_os_str().as_bytes().len() <= LONGEST {
            return Ok(Self { path, key, _folder: None });
        }
        let folder: OwnedFd = std::fs::File::open(home.path())
            .with_context(|| format!("cannot open {}", home.path().display()))?
            .into();
        let short = format!("/proc/self/fd/{}/onyx.sock", folder.as_raw_fd());
        Ok(Self { path: short.into(), key, _folder: Some(folder) })
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.path
    }

    /// The key of the server that listens now. It is read each time, since every server creates its own;
    /// without a key the server reports what is missing.
    pub(crate) fn key(&self) -> String {
        std::fs::read_to_string(&self.key).unwrap_or_default()
    }
}
