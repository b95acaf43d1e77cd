//! What a command leaves in the vault. Nobody sees it write, so the vault is compared with how it was: what differs is
//! written down as not the person's own, and what nobody approved does not stay where it would steer agents.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use onyx_storage::ObjectKey;
use onyx_types::Origin;

use crate::place::{Place, Writer};
use crate::{ToolCx, ToolError};

/// More files than this are not looked at one by one.
const MOST_FILES: usize = 200_000;
/// More changed files than this are not written down.
const MOST_CHANGED: usize = 1_000;
/// Git's own store holds nothing that a tool reads.
const NOT_LOOKED_AT: &str = ".git";

/// May the command change files that steer agents?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    /// A person approved it, or nothing of what the run knows came from elsewhere.
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

/// Changes with every write to a file; the last time a file changed cannot be set back.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// What was found afterwards, for the model to know.
#[derive(Debug, Default)]
pub(crate) struct Left {
    taken_back: Vec<String>,
    unknown: usize,
    too_many: bool,
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
                "\n[put back as before, since they steer agents and nobody approved it: {names}]"
            ));
        }
        if self.too_many {
            note.push_str("\n[too many files to tell what changed]");
        }
        if self.unknown > 0 {
            note.push_str(&format!("\n[{} more files changed; not written down]", self.unknown));
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
                let place = Place::vault(cx)?;
                let mut kept = BTreeMap::new();
                for key in before.keys().filter(|key| cx.paths.steers(key)) {
                    if let Some(bytes) = place.bytes(key).await? {
                        kept.insert(key.clone(), bytes);
                    }
                }
                Some(kept)
            }
        };
        Ok(Some(Self { vault, before, kept }))
    }

    /// To be called when no process of the command is left.
    pub(crate) async fn settle(
        self,
        tool: &str,
        origin: Origin,
        cx: &ToolCx,
    ) -> Result<Left, ToolError> {
        let Some(after) = stamps(self.vault).await? else { return Ok(Left::unwatched()) };
        let place = Place::vault(cx)?;
        let mut left = Left::default();
        if let Some(kept) = &self.kept {
            let gone = self.before.keys().filter(|key| !after.contains_key(key));
            let new = changed(&self.before, &after).map(|(key, _)| key);
            for key in gone.chain(new).filter(|key| cx.paths.steers(key)) {
                place.put_back(key, kept.get(key).map(Vec::as_slice)).await?;
                left.taken_back.push(key.to_string());
            }
        }
        let by = Writer { cx, tool };
        let ours = changed(&self.before, &after)
            .filter(|(key, _)| self.kept.is_none() || !cx.paths.steers(key));
        for (number, (key, is_new)) in ours.enumerate() {
            if number < MOST_CHANGED {
                place.written_by(key, is_new, &by, origin).await?;
            } else {
                left.unknown += 1;
            }
        }
        Ok(left)
    }
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
            if meta.is_dir() && name != NOT_LOOKED_AT {
                folders.push((entry.path(), format!("{path}/")));
            } else if meta.is_file()
                && let Ok(key) = path.parse()
            {
                let changed = (meta.ctime(), meta.ctime_nsec());
                let (device, inode, size) = (meta.dev(), meta.ino(), meta.len());
                found.insert(key, Stamp { device, inode, size, changed });
            }
            if found.len() > MOST_FILES {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
}
