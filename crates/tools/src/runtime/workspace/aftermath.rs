//! Examines what a command did in the vault. Its writes are not observed, so the vault is compared
//! with its state before, and the differences are recorded as not the person's own. A change that
//! no person approved does not stay in a file that agents or the person's own programs obey: the
//! file is put back, and the change becomes a draft.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use onyx_storage::ObjectKey;
use onyx_types::{Hash, Origin};

use super::command_changes::{
    CommandChanges, Steering, change_of, is_git_data, is_in_repository, proposed,
};
use crate::files::AgentFiles;
use crate::{ToolCx, ToolError};

/// The most files that are compared.
const MOST_FILES: usize = 200_000;
/// How many changed files are recorded at once.
const BATCH: usize = 200;
/// The most bytes of files that steer agents and are kept in memory while a command runs.
const MOST_KEPT_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct Aftermath {
    vault: PathBuf,
    before: Stamps,
    /// The content of the files that steer agents, if they are put back afterwards.
    kept: Option<BTreeMap<ObjectKey, Vec<u8>>>,
}

type Stamps = BTreeMap<ObjectKey, Stamp>;

/// The state of an entry. It changes with every write to a file, because a file's time of change
/// cannot be set back. Of a folder only the name counts.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    /// Programs follow a link to its target, so a link counts like a file.
    Link,
    Folder,
}

impl Stamp {
    const FOLDER: Self = Self { device: 0, inode: 0, size: 0, changed: (0, 0), kind: Kind::Folder };

    fn is_file(&self) -> bool {
        self.kind == Kind::File
    }
}

impl Aftermath {
    pub(super) async fn before(
        vault: PathBuf,
        steering: Steering,
        cx: &ToolCx,
    ) -> Result<Option<Self>, ToolError> {
        let before = match (stamps(vault.clone()).await?, steering) {
            (Some(before), _) => before,
            (None, Steering::Free) => return Ok(None),
            (None, Steering::Kept) => {
                return Err(ToolError::Failed(format!(
                    "the vault holds over {MOST_FILES} files, too many to look after"
                )));
            }
        };
        let kept = match steering {
            Steering::Free => None,
            Steering::Kept => {
                let vault = AgentFiles::vault(cx)?;
                let mut kept = BTreeMap::new();
                let mut size = 0;
                let files = before.iter().filter(|(_, stamp)| stamp.kind == Kind::File);
                for key in files.map(|(key, _)| key).filter(|key| cx.paths.steers(key)) {
                    if let Some(bytes) = vault.bytes(key).await? {
                        size += bytes.len();
                        kept.insert(key.clone(), bytes);
                    }
                    if size > MOST_KEPT_BYTES {
                        return Err(ToolError::Failed(format!(
                            "the files that steer agents or programs are over {MOST_KEPT_BYTES} \
                             bytes, too much to look after"
                        )));
                    }
                }
                Some(kept)
            }
        };
        Ok(Some(Self { vault, before, kept }))
    }

    /// Compares the vault with its state before. All processes of the command must have ended.
    /// `None` if there are too many files by now.
    pub(super) async fn settle(
        self,
        tool: &str,
        origin: Origin,
        cx: &ToolCx,
    ) -> Result<Option<CommandChanges>, ToolError> {
        let Some(after) = stamps(self.vault.clone()).await? else { return Ok(None) };
        let vault = AgentFiles::vault(cx)?;
        let mut left = CommandChanges::default();
        if let Some(kept) = &self.kept {
            left = self.take_back(kept, &after, &vault, tool, origin, cx).await?;
        }
        let ours: Vec<(&ObjectKey, bool)> = changed(&self.before, &after)
            .filter(|(key, _)| {
                !is_in_repository(key.as_str()) && (self.kept.is_none() || !cx.paths.steers(key))
            })
            .collect();
        for batch in ours.chunks(BATCH) {
            let is_file = |key: &&ObjectKey| after.get(*key).is_some_and(Stamp::is_file);
            let files: Vec<_> = batch.iter().map(|(key, _)| *key).filter(is_file).collect();
            let new = batch.iter().filter(|(_, is_new)| *is_new);
            let names: Vec<_> = new.map(|(key, _)| *key).collect();
            vault.written(&files, &names, origin).await?;
        }
        Ok(Some(left))
    }
}

impl Aftermath {
    /// Puts back every file that steers agents, and proposes the command's changes of them.
    async fn take_back(
        &self,
        kept: &BTreeMap<ObjectKey, Vec<u8>>,
        after: &Stamps,
        vault: &AgentFiles,
        tool: &str,
        origin: Origin,
        cx: &ToolCx,
    ) -> Result<CommandChanges, ToolError> {
        let mut left = CommandChanges::default();
        let mut changes = Vec::new();
        let gone = self.before.keys().filter(|key| !after.contains_key(key));
        let new = changed(&self.before, after).map(|(key, _)| key);
        // Only the files in a folder can steer agents. A folder in the place of a kept file is
        // removed too.
        let is_folder = |key: &ObjectKey| {
            let stamp = after.get(key).or_else(|| self.before.get(key));
            stamp.is_some_and(|stamp| stamp.kind == Kind::Folder)
        };
        let counts =
            |key: &&ObjectKey| cx.paths.steers(key) && (kept.contains_key(*key) || !is_folder(key));
        for key in gone.chain(new).filter(counts) {
            left.taken_back.push(key.to_string());
            let before = kept.get(key).map(Vec::as_slice);
            if after.get(key).is_some_and(|stamp| stamp.kind == Kind::Link) {
                remove_link(&self.vault, key)?;
            } else if let Ok(now) = vault.bytes(key).await
                && now.as_deref() != before
                && let Some(change) = change_of(key, now, origin, vault, cx)
            {
                changes.push((key.clone(), change));
            }
            vault.put_back(key, before).await?;
        }
        let base = |key: &ObjectKey| kept.get(key).map(|bytes| Hash::of(bytes));
        left.proposes = proposed(changes, base, vault, tool, cx).await?;
        Ok(left)
    }
}

#[allow(clippy::disallowed_methods, reason = "a link that a command left; it is not followed")]
fn remove_link(vault: &Path, key: &ObjectKey) -> Result<(), ToolError> {
    let path = vault.join(key.as_str());
    let is_link = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
    let removed = if is_link { std::fs::remove_file(&path) } else { Ok(()) };
    removed.map_err(|error| ToolError::Failed(format!("{key} cannot be taken back: {error}")))
}

/// The entries that differ from before, and whether each is new.
fn changed<'a>(
    before: &'a Stamps,
    after: &'a Stamps,
) -> impl Iterator<Item = (&'a ObjectKey, bool)> {
    after.iter().filter_map(|(key, stamp)| match before.get(key) {
        Some(then) if then == stamp => None,
        then => Some((key, then.is_none())),
    })
}

/// The state of all entries; `None` if there are too many.
async fn stamps(vault: PathBuf) -> Result<Option<Stamps>, ToolError> {
    let walked = tokio::task::spawn_blocking(move || walk(&vault)).await;
    walked
        .map_err(|_| ToolError::Failed("the vault cannot be looked through".into()))?
        .map_err(|error| ToolError::Failed(format!("the vault cannot be looked through: {error}")))
}

#[allow(clippy::disallowed_methods, reason = "names and times only, and no link is followed")]
fn walk(vault: &Path) -> std::io::Result<Option<Stamps>> {
    let mut found = Stamps::new();
    let mut folders = vec![(vault.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            // Tools cannot read an entry whose name is not text.
            let Ok(name) = entry.file_name().into_string() else { continue };
            // An entry without metadata was removed meanwhile.
            let Ok(meta) = entry.metadata() else { continue };
            let path = format!("{prefix}{name}");
            if is_git_data(&path) {
                continue;
            }
            if meta.is_dir() {
                folders.push((entry.path(), format!("{path}/")));
                if let Ok(key) = path.parse() {
                    found.insert(key, Stamp::FOLDER);
                }
            } else if let Some(kind) = kind(&meta)
                && let Ok(key) = path.parse()
            {
                let changed = (meta.ctime(), meta.ctime_nsec());
                let (device, inode, size) = (meta.dev(), meta.ino(), meta.len());
                found.insert(key, Stamp { device, inode, size, changed, kind });
            }
            if found.len() > MOST_FILES {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
}

fn kind(meta: &std::fs::Metadata) -> Option<Kind> {
    if meta.is_file() {
        return Some(Kind::File);
    }
    meta.is_symlink().then_some(Kind::Link)
}
