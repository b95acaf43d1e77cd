//! `onyx.sock`: the command line's way in.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::net::UnixListener;

use crate::files;
use crate::home::HomeFolder;

/// What fits into a socket address, with its end mark.
const LONGEST: usize = 107;

/// A path to the socket that the kernel takes, however deep the home lies.
#[derive(Debug)]
pub(crate) struct SocketPath {
    path: PathBuf,
    /// The folder that a short path goes through.
    _folder: Option<OwnedFd>,
}

impl SocketPath {
    pub(crate) fn of(home: &HomeFolder) -> Result<Self> {
        let path = home.socket();
        if path.as_os_str().as_bytes().len() <= LONGEST {
            return Ok(Self { path, _folder: None });
        }
        let folder: OwnedFd = std::fs::File::open(home.path())
            .with_context(|| format!("cannot open {}", home.path().display()))?
            .into();
        let short = format!("/proc/self/fd/{}/onyx.sock", folder.as_raw_fd());
        Ok(Self { path: short.into(), _folder: Some(folder) })
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.path
    }
}

/// The listener and the file that goes with it.
pub(super) struct HomeSocket {
    file: PathBuf,
    _path: SocketPath,
}

impl HomeSocket {
    /// Only the holder of the home's lock may call this: a socket that is there is then a leftover.
    pub(super) fn bind(home: &HomeFolder) -> Result<(UnixListener, Self)> {
        let file = home.socket();
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot replace {}", file.display()));
            }
            _ => {}
        }
        let path = SocketPath::of(home)?;
        let listener = UnixListener::bind(path.as_path())
            .with_context(|| format!("cannot listen on {}", file.display()))?;
        files::only_owner(&file)?;
        Ok((listener, Self { file, _path: path }))
    }
}

impl Drop for HomeSocket {
    fn drop(&mut self) {
        // Somebody may have removed it; a leftover does no harm either.
        let _ = std::fs::remove_file(&self.file);
    }
}
