//! Writes a command's changes of its copy back into the store, each file only if the stored one is
//! still the one that was copied. Ordinary files come first. A repository is written completely or
//! not at all, its branches last, so that no branch refers to a missing object.

use std::collections::{BTreeMap, BTreeSet};

use onyx_storage::ObjectKey;
use onyx_types::{Hash, Origin};

use super::checkout::{Checkout, Contents, blocking};
use super::command_changes::{
    CommandChanges, Steering, change_of, is_git_data, is_in_repository, listed, proposed,
    repository_of,
};
use super::found::{self, CopyContents};
use crate::files::{AgentFiles, CommandStep, StepEnd, Writer};
use crate::{ToolCx, ToolError};

/// How many files, and how many bytes of them, are stored at once.
const BATCH_FILES: usize = 200;
const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of a file that is shown to people.
const MOST_SHOWN: usize = 8 * 1024 * 1024;

/// The change that a command made to one file.
#[derive(Clone)]
struct Delta {
    key: ObjectKey,
    before: Option<Hash>,
    after: Option<Hash>,
}

/// The author of the changes, and which files they may change.
pub(super) struct Author<'a> {
    pub(super) tool: &'a str,
    pub(super) origin: Origin,
    pub(super) steering: Steering,
}

/// Writes the changes back. All processes of the command must have ended.
pub(super) async fn write_back(
    checkout: &Checkout,
    author: &Author<'_>,
    cx: &ToolCx,
) -> Result<CommandChanges, ToolError> {
    let root = checkout.root().to_owned();
    let CopyContents { files, left_out } = match blocking(move || found::look(&root)).await? {
        Ok(found) => found,
        Err(too_much) => {
            return Ok(CommandChanges::failed(format!(
                "the folder holds {too_much} now, which is too much to keep: nothing of what the \
                 command wrote was stored"
            )));
        }
    };
    let mut known = checkout.known.lock().await;
    let deltas = deltas(&known, &files);
    let vault = AgentFiles::vault(cx)?;
    let by = Writer { cx, tool: author.tool };
    let mut work = WriteBack { checkout, vault, by, author, cx, ends: Vec::new() };
    let (kept, open): (Vec<Delta>, Vec<Delta>) =
        deltas.into_iter().partition(|delta| work.is_kept(delta));
    let (inside, ordinary): (Vec<Delta>, Vec<Delta>) =
        open.iter().cloned().partition(|delta| is_in_repository(delta.key.as_str()));
    let failed = work.store_all(&ordinary, &inside).await.err();
    let mut left = CommandChanges { left_out, ..CommandChanges::default() };
    left.failed = failed.map(|error| work.half_done(&open, &error));
    if let Some(why) = &left.failed {
        // The failure is logged too, because the caller may be gone by now.
        tracing::warn!(person = %cx.key.person, tool = author.tool, "{why}");
    }
    for (key, end) in &work.ends {
        match end {
            StepEnd::Stored => {
                match files.get(key) {
                    Some(hash) => known.insert(key.clone(), *hash),
                    None => known.remove(key),
                };
            }
            StepEnd::Conflict => left.conflicts.push(key.to_string()),
            StepEnd::Refused(why) => left.left_out.push(format!("{key} ({why})")),
        }
    }
    if let Err(error) = work.propose(&kept, &mut left).await {
        left.failed.get_or_insert(format!("what was put back could not be proposed: {error}"));
    }
    Ok(left)
}

fn deltas(before: &Contents, after: &Contents) -> Vec<Delta> {
    let keys: BTreeSet<&ObjectKey> = before.keys().chain(after.keys()).collect();
    let all = keys.into_iter().map(|key| Delta {
        key: key.clone(),
        before: before.get(key).copied(),
        after: after.get(key).copied(),
    });
    all.filter(|delta| delta.before != delta.after).collect()
}

struct WriteBack<'a> {
    checkout: &'a Checkout,
    vault: AgentFiles,
    by: Writer<'a>,
    author: &'a Author<'a>,
    cx: &'a ToolCx,
    /// The outcomes for the files so far.
    ends: Vec<(ObjectKey, StepEnd)>,
}

impl WriteBack<'_> {
    /// Whether the file steers agents or programs and no person approved its change.
    fn is_kept(&self, delta: &Delta) -> bool {
        self.author.steering == Steering::Kept
            && !is_git_data(delta.key.as_str())
            && self.cx.paths.steers(&delta.key)
    }

    async fn store_all(&mut self, ordinary: &[Delta], inside: &[Delta]) -> Result<(), ToolError> {
        let (written, gone): (Vec<Delta>, Vec<Delta>) =
            ordinary.iter().cloned().partition(|delta| delta.after.is_some());
        self.store(&written).await?;
        self.store(&gone).await?;
        self.remove_folders(&gone).await?;
        // A file that replaces a folder, or lies below a path that was a file, can be stored only
        // now.
        let again = self.take_refused();
        let again: Vec<Delta> =
            written.into_iter().filter(|delta| again.contains(&delta.key)).collect();
        self.store(&again).await?;
        let mut repositories: BTreeMap<&str, Vec<&Delta>> = BTreeMap::new();
        for delta in inside {
            let repository = repository_of(delta.key.as_str()).unwrap_or_default();
            repositories.entry(repository).or_default().push(delta);
        }
        for (repository, deltas) in repositories {
            self.store_repository(repository, deltas).await?;
        }
        Ok(())
    }

    /// Removes the refused files from the outcomes, so that they can be tried again.
    fn take_refused(&mut self) -> BTreeSet<ObjectKey> {
        let is_refused = |end: &StepEnd| matches!(end, StepEnd::Refused(_));
        let refused = self.ends.extract_if(.., |(_, end)| is_refused(end));
        refused.map(|(key, _)| key).collect()
    }

    async fn store(&mut self, deltas: &[Delta]) -> Result<(), ToolError> {
        let mut rest = deltas;
        while !rest.is_empty() {
            let (mut steps, mut bytes) = (Vec::new(), 0);
            while steps.len() < BATCH_FILES.min(rest.len()) && bytes < BATCH_BYTES {
                let step = self.step(&rest[steps.len()]).await?;
                bytes += step.after.as_ref().map_or(0, Vec::len);
                steps.push(step);
            }
            rest = &rest[steps.len()..];
            self.check_life()?;
            self.vault.store(&steps, &self.by, self.author.origin, &mut self.ends).await?;
        }
        Ok(())
    }

    async fn step(&self, delta: &Delta) -> Result<CommandStep, ToolError> {
        let after = match delta.after {
            Some(_) => Some(self.read(&delta.key).await?),
            None => None,
        };
        Ok(CommandStep { key: delta.key.clone(), base: delta.before, after })
    }

    async fn read(&self, key: &ObjectKey) -> Result<Vec<u8>, ToolError> {
        let path = self.checkout.root().join(key.as_str());
        blocking(move || found::read(&path)).await
    }

    /// Checks that the gateway still holds its leases. If it was silent for too long, the gateway
    /// that took over decides.
    fn check_life(&self) -> Result<(), ToolError> {
        if self.cx.files.incarnation()? == self.checkout.incarnation {
            return Ok(());
        }
        let why =
            "this gateway was silent for too long while the command ran, and others took over";
        Err(ToolError::Failed(why.to_owned()))
    }

    /// Removes folders whose files were all removed.
    async fn remove_folders(&self, gone: &[Delta]) -> Result<(), ToolError> {
        let mut folders: BTreeSet<&str> = BTreeSet::new();
        for delta in gone {
            let path = delta.key.as_str();
            folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        for folder in folders.into_iter().rev() {
            let path = self.checkout.root().join(folder);
            if !blocking(move || Ok(path.is_dir())).await? {
                self.vault.remove_empty(&crate::paths::key(folder)?).await?;
            }
        }
        Ok(())
    }

    /// Writes the whole repository, if no other writer has changed any of it.
    async fn store_repository(
        &mut self,
        repository: &str,
        mut deltas: Vec<&Delta>,
    ) -> Result<(), ToolError> {
        let folder = crate::paths::key(repository)?;
        let held = self.vault.hashes_below(&folder).await?;
        let is_changed = |delta: &&Delta| {
            let held = held.get(&delta.key).copied();
            held != delta.before && held != delta.after
        };
        if deltas.iter().any(is_changed) {
            self.ends.push((folder, StepEnd::Conflict));
            return Ok(());
        }
        deltas.sort_by_key(|delta| (delta.after.is_none(), rank(&delta.key, repository)));
        for delta in deltas {
            let step = self.step(delta).await?;
            self.check_life()?;
            let end = self.vault.store_plainly(&step).await?;
            let is_stored = end == StepEnd::Stored;
            self.ends.push((delta.key.clone(), end));
            if !is_stored {
                // Later files may depend on this one, so they are not stored. New objects in the
                // store do no harm.
                return Ok(());
            }
        }
        Ok(())
    }

    /// A sentence about which changes are stored and which are not.
    fn half_done(&self, open: &[Delta], error: &ToolError) -> String {
        let done: BTreeSet<&ObjectKey> = self.ends.iter().map(|(key, _)| key).collect();
        let missing = open.iter().filter(|delta| !done.contains(&delta.key));
        let missing: Vec<String> = missing.map(|delta| delta.key.to_string()).collect();
        format!(
            "what the command wrote could not be stored: {error}. {} of {} changed files were \
             dealt with before; not stored: {}",
            open.len() - missing.len(),
            open.len(),
            listed(&missing)
        )
    }

    /// Reports and proposes changes that no person approved.
    async fn propose(&self, kept: &[Delta], left: &mut CommandChanges) -> Result<(), ToolError> {
        let mut changes = Vec::new();
        for delta in kept {
            left.taken_back.push(delta.key.to_string());
            let now = self.step(delta).await?.after;
            let is_shown = now.as_ref().is_none_or(|bytes| bytes.len() <= MOST_SHOWN);
            let change = change_of(&delta.key, now, self.author.origin, &self.vault, self.cx);
            changes.extend(change.filter(|_| is_shown).map(|change| (delta.key.clone(), change)));
        }
        let base = |key: &ObjectKey| {
            kept.iter().find(|delta| delta.key == *key).and_then(|delta| delta.before)
        };
        left.proposes = proposed(changes, base, &self.vault, self.author.tool, self.cx).await?;
        Ok(())
    }
}

/// The order in which a repository's files are stored: objects first, then other data, branches and
/// HEAD last.
fn rank(key: &ObjectKey, repository: &str) -> u8 {
    let inside = key.as_str().strip_prefix(repository).unwrap_or(key.as_str());
    let mut parts = inside.trim_start_matches('/').split('/');
    match parts.next() {
        Some("objects") => 0,
        Some("refs" | "packed-refs" | "HEAD") => 2,
        Some(_) | None => 1,
    }
}
