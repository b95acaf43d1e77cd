//! `onyx.sock`, through which the command line reaches the server, and the key that it requires.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_api::SocketKey;
use tokio::net::UnixListener;

use crate::client::SocketPath;
use crate::files;
use crate::home::HomeFolder;

/// The listener and the files that go with it.
pub(super) struct HomeSocket {
    files: [PathBuf; 2],
    _path: SocketPath,
}

impl HomeSocket {
    /// Only the holder of the home's lock may call this: an existing socket is then a leftover.
    pub(super) fn bind(home: &HomeFolder) -> Result<(UnixListener, SocketKey, Self)> {
        let (file, key_file) = (home.socket(), home.socket_key());
        remove(&file)?;
        remove(&key_file)?;
        let key = fresh_key()?;
        // The key is written before the socket exists, so that a client that finds the socket finds the key.
        files::write_new(&key_file, &key)?;
        let path = SocketPath::of(home)?;
        let listener = UnixListener::bind(path.as_path())
            .with_context(|| format!("cannot listen on {}", file.display()))?;
        files::only_owner(&file)?;
        let socket = Self { files: [file, key_file], _path: path };
        Ok((listener, SocketKey::new(&key), socket))
    }
}

impl Drop for HomeSocket {
    fn drop(&mut self) {
        for file in &self.files {
            // The file may be gone already, and a leftover does no harm.
            let _ = std::fs::remove_file(file);
        }
    }
}

fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot replace {}", file.display()))
        }
        _ => Ok(()),
    }
}

fn fresh_key() -> Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).context("the system provides no random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
