//! Keys in files: one file each, readable only by its owner, in a folder outside the home. A copy
//! of the home therefore does not contain the keys of its secrets.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use onyx_types::Fault;

use super::key::lost;
use crate::random::Secret;

#[derive(Clone, Debug)]
pub(super) struct KeyFolder(Option<PathBuf>);

impl KeyFolder {
    pub(super) fn at(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    pub(super) async fn load(&self, name: &str) -> Result<Secret, Fault> {
        let path = self.path(name)?;
        let shown = path.display().to_string();
        let text = on_disk(move || {
            let text = fs::read_to_string(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            Ok(text)
        });
        let text = text.await.map_err(|error| lost(&format!("the key {shown}: {error}")))?;
        Ok(Secret::new(text))
    }

    pub(super) async fn keep(&self, name: &str, key: &Secret) -> Result<(), Fault> {
        let path = self.path(name)?;
        let text = format!("{}\n", key.reveal());
        let shown = path.display().to_string();
        on_disk(move || write(&path, &text))
            .await
            .map_err(|error| lost(&format!("cannot write the key {shown}: {error}")))
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), Fault> {
        let path = self.path(name)?;
        let removed = on_disk(move || fs::remove_file(path)).await;
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(lost(&format!("cannot remove the old key: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// The path of a key's file. The name comes from the database, so it must not lead out of the
    /// folder.
    fn path(&self, name: &str) -> Result<PathBuf, Fault> {
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_name {
            return Err(lost("a secret names a key in a way that is not known"));
        }
        let folder = self.0.as_ref().ok_or_else(|| {
            lost("there is no place for keys")
                .with_hint("Set ONYX_KEYS to a folder outside the home.")
        })?;
        Ok(folder.join(format!("{name}.key")))
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}

async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
