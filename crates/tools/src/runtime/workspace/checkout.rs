//! A copy of a person's files on this machine's disk, for commands of gateways that keep the files
//! in a database. It is made when a command begins, compared when the command has ended, and then
//! deleted. It never writes to the store: `write_back.rs` does.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use onyx_sandbox::Scratch;
use onyx_storage::{Area, Object, ObjectKey, Objects, StoreError, TreeEntry};
use onyx_types::Hash;
use tokio::sync::Mutex;

use crate::{ToolCx, ToolError};

/// The most files and folders of a copy, before a command and after it.
pub(super) const MOST_FILES: usize = 20_000;
pub(super) const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// How many files, and how many bytes of them, are read from the store at once.
const BATCH_FILES: usize = 500;
const BATCH_BYTES: u64 = 16 * 1024 * 1024;
const HEAD: &str = ".git/HEAD";

pub(super) type Contents = BTreeMap<ObjectKey, Hash>;

pub(super) struct Checkout {
    /// The folder that takes the place of the vault's top.
    root: PathBuf,
    /// The hash of each file when it was copied or last written back.
    pub(super) known: Mutex<Contents>,
    /// The incarnation of the gateway that made the copy. A later incarnation does not write it
    /// back.
    pub(super) incarnation: i64,
    _scratch: Scratch,
}

impl Checkout {
    pub(super) async fn make(
        scratch: PathBuf,
        folder: Option<&ObjectKey>,
        cx: &ToolCx,
    ) -> Result<Self, ToolError> {
        let incarnation = cx.files.incarnation()?;
        let objects = cx.files.objects(&Area::Vault(cx.key.person.clone()))?;
        let prefix = prefix_of(folder, &*objects).await?;
        let entries = objects.tree(prefix.as_ref(), MOST_FILES + 1).await?;
        check_size(&entries, prefix.as_ref())?;
        if let Some(folder) = folder {
            check_folder(folder, &entries, &*objects).await?;
        }
        let scratch = blocking(move || Scratch::make(&scratch)).await?;
        let root = scratch.path().join("vault");
        let (files, folders): (Vec<TreeEntry>, Vec<TreeEntry>) =
            entries.into_iter().partition(|entry| entry.hash.is_some());
        let folders: Vec<ObjectKey> = folders.into_iter().map(|entry| entry.key).collect();
        let (top, start) = (root.clone(), folder.cloned());
        blocking(move || {
            make_folder(&top)?;
            folders.iter().chain(&start).try_for_each(|key| make_folder(&top.join(key.as_str())))
        })
        .await?;
        let known = copy(&files, &root, &*objects).await?;
        Ok(Self { root, known: Mutex::new(known), incarnation, _scratch: scratch })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// The folder to copy: the given one, or the repository that holds it, because git needs whole
/// repositories.
async fn prefix_of(
    folder: Option<&ObjectKey>,
    objects: &dyn Objects,
) -> Result<Option<ObjectKey>, ToolError> {
    let Some(folder) = folder else { return Ok(None) };
    let mut heads = vec![crate::paths::key(HEAD)?];
    let mut folders = vec![None];
    let ends = folder.as_str().match_indices('/').map(|(at, _)| at);
    for end in ends.chain([folder.as_str().len()]) {
        let outer = crate::paths::key(&folder.as_str()[..end])?;
        heads.push(crate::paths::key(&format!("{outer}/{HEAD}"))?);
        folders.push(Some(outer));
    }
    let found = objects.get_all(&heads).await?;
    let holding = found.iter().rposition(Option::is_some);
    Ok(holding.map_or_else(|| Some(folder.clone()), |at| folders[at].clone()))
}

fn check_size(entries: &[TreeEntry], prefix: Option<&ObjectKey>) -> Result<(), ToolError> {
    let size: u64 = entries.iter().map(|entry| entry.size).sum();
    let too_much = if entries.len() > MOST_FILES {
        format!("more than {MOST_FILES} files and folders")
    } else if size > MOST_BYTES {
        format!("{} MiB, more than {} MiB", size >> 20, MOST_BYTES >> 20)
    } else {
        return Ok(());
    };
    let place = prefix.map_or_else(|| "the vault".to_owned(), ToString::to_string);
    Err(ToolError::Failed(format!(
        "{place} holds {too_much}. Commands work on a copy, since several gateways share the \
         files; name a folder that holds less (a repository is copied whole)"
    )))
}

async fn check_folder(
    folder: &ObjectKey,
    entries: &[TreeEntry],
    objects: &dyn Objects,
) -> Result<(), ToolError> {
    let is_within = |entry: &TreeEntry| {
        let rest = entry.key.as_str().strip_prefix(folder.as_str());
        rest.is_some_and(|rest| rest.starts_with('/') || (rest.is_empty() && entry.hash.is_none()))
    };
    if entries.iter().any(is_within) {
        return Ok(());
    }
    match objects.list(Some(folder), 1).await {
        Ok(_) => Ok(()),
        Err(StoreError::NotFound | StoreError::Refused(_)) => {
            Err(ToolError::NotFound(format!("folder {folder}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes the files to the disk and notes their hashes.
async fn copy(
    files: &[TreeEntry],
    root: &Path,
    objects: &dyn Objects,
) -> Result<Contents, ToolError> {
    let mut known = Contents::new();
    let mut rest = files;
    while !rest.is_empty() {
        let (mut count, mut bytes) = (0, 0);
        while count < rest.len() && count < BATCH_FILES && bytes < BATCH_BYTES {
            bytes += rest[count].size;
            count += 1;
        }
        let (batch, more) = rest.split_at(count);
        rest = more;
        let keys: Vec<ObjectKey> = batch.iter().map(|entry| entry.key.clone()).collect();
        let found = objects.get_all(&keys).await?;
        // A file that was deleted meanwhile is left out of the copy.
        let found = keys.into_iter().zip(found).filter_map(|(key, object)| Some((key, object?)));
        let found: Vec<(ObjectKey, Object)> = found.collect();
        known.extend(found.iter().map(|(key, object)| (key.clone(), object.hash)));
        let root = root.to_owned();
        blocking(move || found.iter().try_for_each(|(key, object)| write(&root, key, object)))
            .await?;
    }
    Ok(known)
}

#[allow(clippy::disallowed_methods, reason = "a folder of ours, made new; keys lead nowhere else")]
fn write(root: &Path, key: &ObjectKey, object: &Object) -> std::io::Result<()> {
    let path = root.join(key.as_str());
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
        if path.ends_with(HEAD) {
            // The store keeps no empty folders, but git recognises a repository only with these
            // two.
            make_folder(&folder.join("objects"))?;
            make_folder(&folder.join("refs"))?;
        }
    }
    // The store keeps no file modes, so a file counts as executable if its first bytes say so.
    let is_program = object.bytes.starts_with(b"#!") || object.bytes.starts_with(b"\x7fELF");
    let mode = if is_program { 0o700 } else { 0o600 };
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(&object.bytes)?;
    // Programs such as make compare modification times.
    let since = u64::try_from(object.modified.as_millis()).unwrap_or_default();
    file.set_modified(UNIX_EPOCH + Duration::from_millis(since))
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Runs work on the copy where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ToolError::Failed("the copy of the files cannot be worked on".into()))?
        .map_err(|error| ToolError::Failed(format!("the copy of the files: {error}")))
}
