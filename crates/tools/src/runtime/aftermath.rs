//! What a command leaves in the vault. Nobody sees it write, so the vault is compared with how it was: what differs is
//! written down as not the person's own, and what nobody approved does not stay where agents or the person's own programs
//! would obey it: it is put back as it was, and what the command made of it is proposed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use onyx_storage::ObjectKey;
use onyx_types::{FileChange, Hash, Origin, Plan, ToolEffect};
use serde_json::json;

use crate::files::AgentFiles;
use crate::files::diff_to_disk;
use crate::{ToolCx, ToolError};

/// More files than this are not looked at one by one.
const MOST_FILES: usize = 200_000;
/// Changed files that are written down in one go.
const BATCH: usize = 200;
/// What steers agents is kept up to this size in all while a command runs.
const MOST_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// More of them than this are put back but not proposed.
const MOST_PROPOSED: usize = 20;
const REPOSITORY: &str = ".git";
/// Of a repository's inside, what git itself writes all the time. Nothing is run from it and no
/// tool reads it.
const GIT_DATA: [&str; 12] = [
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "ORIG_HEAD",
    "index",
    "lfs",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];

/// May the command change files that steer agents or the person's own programs?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    /// A person approved this very command.
    Free,
    /// Put back afterwards.
    Kept,
}

pub(crate) struct Aftermath {
    vault: PathBuf,
    before: Stamps,
    /// Content of what steers agents, where that is to be kept.
    kept: Option<BTreeMap<ObjectKey, Vec<u8>>>,
}

type Stamps = BTreeMap<ObjectKey, Stamp>;

/// Changes with every write to a file; the last time a file changed cannot be set back. Of a folder only its name counts.
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
    /// Its target is what a program would obey, so a link counts like a file.
    Link,
    Folder,
}

impl Stamp {
    const FOLDER: Self = Self { device: 0, inode: 0, size: 0, changed: (0, 0), kind: Kind::Folder };

    fn is_file(&self) -> bool {
        self.kind == Kind::File
    }
}

/// What was found afterwards, for the model to know.
#[derive(Debug, Default)]
pub(crate) struct Left {
    taken_back: Vec<String>,
    too_many: bool,
    /// What the command made of the files that were put back.
    pub(crate) proposes: Option<Box<Plan>>,
}

impl Left {
    pub(crate) fn unwatched() -> Self {
        Self { too_many: true, ..Self::default() }
    }

    pub(crate) fn note(&self) -> String {
        let mut note = String::new();
        if !self.taken_back.is_empty() {
            let names = self.taken_back.join(", ");
            note.push_str(&format!(
                "\n[put back as before, since agents or your programs obey them and nobody approved it: \
                 {names}]"
            ));
        }
        if self.too_many {
            note.push_str(
                "\n[too many files to compare: all that changed meanwhile counts as its work]",
            );
        }
        note
    }
}

impl Aftermath {
    pub(crate) async fn before(
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

    /// To be called when no process of the command is left. `None`: there are too many files by now.
    pub(crate) async fn settle(
        self,
        tool: &str,
        origin: Origin,
        cx: &ToolCx,
    ) -> Result<Option<Left>, ToolError> {
        let Some(after) = stamps(self.vault.clone()).await? else { return Ok(None) };
        let vault = AgentFiles::vault(cx)?;
        let mut left = Left::default();
        if let Some(kept) = self.kept.as_ref().filter(|_| !onyx_types::off("kept")) {
            left = self.take_back(kept, &after, &vault, tool, origin, cx).await?;
        }
        let ours: Vec<(&ObjectKey, bool)> = changed(&self.before, &after)
            .filter(|(key, _)| {
                !is_in_repository(key) && (self.kept.is_none() || !cx.paths.steers(key))
            })
            .collect();
        let ours = if onyx_types::off("command.many") { ours.into_iter().take(1_000).collect() } else { ours };
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
    /// Puts every file that steers back as it was, and proposes what the command made of it.
    async fn take_back(
        &self,
        kept: &BTreeMap<ObjectKey, Vec<u8>>,
        after: &Stamps,
        vault: &AgentFiles,
        tool: &str,
        origin: Origin,
        cx: &ToolCx,
    ) -> Result<Left, ToolError> {
        let mut left = Left::default();
        let mut changes = Vec::new();
        let gone = self.before.keys().filter(|key| !after.contains_key(key));
        let new = changed(&self.before, after).map(|(key, _)| key);
        // A folder steers nothing by itself, only what lies in it; one in the place of a kept file does not stay.
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
            } else if let Some(change) = change_of(key, before, vault, origin, cx).await {
                changes.push((key.clone(), change));
            }
            vault.put_back(key, before).await?;
        }
        changes.truncate(MOST_PROPOSED);
        if !changes.is_empty() {
            left.proposes = Some(Box::new(proposed(changes, kept, vault, tool, cx).await?));
        }
        Ok(left)
    }
}

/// What the command made of a file, where a person can be shown it and a tool could write it.
async fn change_of(
    key: &ObjectKey,
    before: Option<&[u8]>,
    vault: &AgentFiles,
    origin: Origin,
    cx: &ToolCx,
) -> Option<FileChange> {
    // Too large to be shown, or no file: put back and said, but not proposed.
    let now = vault.bytes(key).await.ok()?;
    let after = now.map(String::from_utf8).transpose().ok()?;
    let is_same = after.as_deref().map(str::as_bytes) == before;
    if is_same || !cx.paths.shows(key) {
        return None;
    }
    Some(FileChange { target: vault.name(key), after, origin })
}

/// A draft that, once approved, writes what the command wrote.
async fn proposed(
    changes: Vec<(ObjectKey, FileChange)>,
    kept: &BTreeMap<ObjectKey, Vec<u8>>,
    vault: &AgentFiles,
    tool: &str,
    cx: &ToolCx,
) -> Result<Plan, ToolError> {
    let base = |key: &ObjectKey| kept.get(key).map(|bytes| Hash::of(bytes));
    let names: Vec<&str> = changes.iter().map(|(key, _)| key.as_str()).collect();
    let summary = format!("Change {} as {tool} did", names.join(", "));
    let content = changes.first().and_then(|(_, change)| change.after.as_deref());
    let arguments = json!({"path": names.first(), "content": content.unwrap_or_default()});
    let targets = changes.iter().map(|(key, _)| vault.target(cx, key, base(key))).collect();
    let mut plan = Plan {
        targets,
        changes: changes.iter().map(|(_, change)| change.clone()).collect(),
        ..Plan::new("write_file", arguments, ToolEffect::Write, summary).draft_only()
    };
    plan.preview = diff_to_disk(&plan, cx).await?;
    Ok(plan)
}

#[allow(clippy::disallowed_methods, reason = "a link that a command left; it is not followed")]
fn remove_link(vault: &Path, key: &ObjectKey) -> Result<(), ToolError> {
    let path = vault.join(key.as_str());
    let is_link = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
    let removed = if is_link { std::fs::remove_file(&path) } else { Ok(()) };
    removed.map_err(|error| ToolError::Failed(format!("{key} cannot be taken back: {error}")))
}

fn is_in_repository(key: &ObjectKey) -> bool {
    key.parts().any(|part| part == REPOSITORY)
}

/// What is other than before, and whether it is new.
fn changed<'a>(
    before: &'a Stamps,
    after: &'a Stamps,
) -> impl Iterator<Item = (&'a ObjectKey, bool)> {
    after.iter().filter_map(|(key, stamp)| match before.get(key) {
        Some(then) if then == stamp => None,
        then => Some((key, then.is_none())),
    })
}

/// `None`: there are too many.
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
            // Another name than text cannot be read by a tool.
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Gone meanwhile, if it cannot be asked.
            let Ok(meta) = entry.metadata() else { continue };
            let path = format!("{prefix}{name}");
            let in_repository = prefix.split('/').any(|part| part == REPOSITORY);
            if in_repository && GIT_DATA.contains(&name.as_str()) {
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
