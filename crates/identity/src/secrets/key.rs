//! Keys: one file each, for its owner's eyes, in a folder that is not the home's. Who copies a
//! home does not copy what opens its secrets.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use onyx_types::{ErrorCode, Fault};

use crate::random;

/// Where keys lie.
#[derive(Clone, Debug)]
pub struct KeyFolder(Option<PathBuf>);

pub(super) struct Key {
    pub(super) name: String,
    pub(super) bytes: [u8; 32],
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.name)
    }
}

impl KeyFolder {
    /// `None`: nobody has said where, so nothing can be sealed.
    pub fn at(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    pub(super) async fn load(&self, name: &str) -> Result<Key, Fault> {
        let path = self.path(name)?;
        let shown = path.display().to_string();
        let text = on_disk(move || {
            let text = fs::read_to_string(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            Ok(text)
        })
        .await
        .map_err(|error| failed(&format!("the key {shown}: {error}")))?;
        let bytes = from_hex(text.trim()).ok_or_else(|| failed(&format!("{shown} is no key")))?;
        Ok(Key { name: name.to_owned(), bytes })
    }

    /// Durable when it returns: what is sealed with a lost key is lost.
    pub(super) async fn make(&self) -> Result<Key, Fault> {
        let name = to_hex(&random::bytes::<8>()?);
        let key = Key { bytes: random::bytes()?, name };
        let path = self.path(&key.name)?;
        let text = format!("{}\n", to_hex(&key.bytes));
        let shown = path.display().to_string();
        on_disk(move || write(&path, &text))
            .await
            .map_err(|error| failed(&format!("cannot write the key {shown}: {error}")))?;
        Ok(key)
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), Fault> {
        let path = self.path(name)?;
        let removed = on_disk(move || fs::remove_file(path)).await;
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed(&format!("cannot remove the old key: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// The name comes from the database: it must not lead out of the folder.
    fn path(&self, name: &str) -> Result<PathBuf, Fault> {
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_name {
            return Err(failed("a secret names a key in a way that is not known"));
        }
        let folder = self.0.as_ref().ok_or_else(|| {
            failed("there is no place for keys")
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

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn failed(message: &str) -> Fault {
    Fault::new(ErrorCode::StorageFailed, message)
        .with_hint("Bring the key back, or set the secrets again with `onyx secrets set`.")
}
