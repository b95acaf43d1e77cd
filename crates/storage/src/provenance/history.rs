//! What a person's files held before agents changed them, and the origin of what they hold now.
//!
//! `history/files/<path>/.versions/` holds the contents by hash and `manifest.jsonl`, with one line
//! for each change; `history/runs/<run>.jsonl` lists the changes of a run in order. Everything is
//! durable before the change itself may happen, so a crash can leave a kept version too many, but
//! never one too few.

use std::sync::Arc;

use onyx_types::{Author, Clock as _, Hash, Origin, RunId, SystemClock, Timestamp};
use serde::{Deserialize, Serialize};

use super::{OriginNote, Origins, TICK_MS, prints};
use crate::{Expect, Object, ObjectKey, Objects, StoreError};

const VERSIONS: &str = ".versions";
pub(super) const MANIFEST: &str = "manifest.jsonl";
/// The only folder in which commands change files.
const VAULT: &str = "vault/";
const NEVER: Timestamp = Timestamp::from_millis(0);
/// The path of a note that is only about names. No file has this path.
const UNNAMED: &str = "";
/// The largest manifest that is read. A manifest of this size lists some hundred thousand changes
/// of one file.
const LARGEST_MANIFEST: u64 = 64 * 1024 * 1024;

/// The description of a change that is about to happen: who makes it, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub ts: Timestamp,
    pub author: Author,
    /// The origin that the new content has when it is read again.
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub tool: String,
}

/// What a change that is about to happen does to one file.
#[derive(Clone, Debug)]
pub struct FileStep<'a> {
    /// The path within the person's folder.
    pub path: ObjectKey,
    /// The content before the change; `None`: the file does not exist.
    pub before: Option<&'a Object>,
    /// The content after the change; `None`: the file is deleted.
    pub after: Option<&'a [u8]>,
}

/// One change of one file: what the file held before and after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// The path within the person's folder.
    pub path: ObjectKey,
    /// The hash of the content before the change; `None` when there was no file.
    pub before: Option<Hash>,
    /// The hash of the content after the change; `None` when the file was deleted.
    pub after: Option<Hash>,
    pub change: Change,
}

/// A version as it is written in a line of a manifest or of a run's list.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    path: String,
    before: Option<Hash>,
    after: Option<Hash>,
    #[serde(flatten)]
    change: Change,
}

/// The versions of one person's or agent's files, and where their contents came from.
#[derive(Clone)]
pub struct History {
    person: Arc<dyn Objects>,
    /// The owner of the files, by the name that the ledger uses.
    owner: Arc<str>,
    origins: Arc<dyn Origins>,
}

/// A content whose origin is asked for.
struct Content<'a> {
    bytes: &'a [u8],
    hash: Hash,
    /// When the file was last changed in any way, by the clock of the file system.
    changed: Timestamp,
}

impl<'a> From<&'a Object> for Content<'a> {
    fn from(object: &'a Object) -> Self {
        Self { bytes: &object.bytes, hash: object.hash, changed: object.changed }
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").finish_non_exhaustive()
    }
}

impl History {
    /// Creates the history of an owner. `person` is the root of the owner's folder, and paths are
    /// relative to it (`vault/notes/a.md`).
    pub fn new(person: Arc<dyn Objects>, owner: &str, origins: Arc<dyn Origins>) -> Self {
        Self { person, owner: owner.into(), origins }
    }

    /// Keeps the content of a file that is about to change, and records the origin of its new
    /// content. That is the origin in the change; but if a person wrote the content, it is no
    /// better than that of the texts it was made of. Callers must wait until this has returned
    /// before they make the change.
    pub async fn keep(
        &self,
        path: &ObjectKey,
        before: Option<&Object>,
        after: Option<&[u8]>,
        change: Change,
    ) -> Result<Version, StoreError> {
        let file = FileStep { path: path.clone(), before, after };
        let kept = self.keep_all(&[file], &change).await?.pop();
        kept.ok_or_else(|| StoreError::Failed("no version was kept".to_owned()))
    }

    /// Does what `keep` does for many files of one change, which costs less than keeping them one
    /// by one.
    pub async fn keep_all(
        &self,
        files: &[FileStep<'_>],
        change: &Change,
    ) -> Result<Vec<Version>, StoreError> {
        let (mut notes, mut changes) = (Vec::new(), Vec::with_capacity(files.len()));
        for file in files {
            folder_of(&file.path)?;
            let (of_file, change) = self.notes_of(file, change.clone()).await?;
            notes.extend(of_file);
            changes.push(change);
        }
        self.origins.note(&self.owner, notes).await?;
        let (mut versions, mut lines) = (Vec::with_capacity(files.len()), Vec::new());
        for (file, change) in files.iter().zip(changes) {
            let before = match file.before {
                Some(object) => Some(self.keep_content(&file.path, &object.bytes).await?),
                None => None,
            };
            let after = file.after.map(Hash::of);
            let version = Version { path: file.path.clone(), before, after, change };
            let line = version.line()?;
            self.person.append(&manifest_key(&file.path)?, &line).await?;
            lines.extend(line);
            versions.push(version);
        }
        if let Some(run) = change.run.filter(|_| !lines.is_empty()) {
            self.person.append(&run_key(run)?, &lines).await?;
        }
        Ok(versions)
    }

    /// Returns the notes to record about a file before it changes, and the change with the origin
    /// that the new content gets.
    async fn notes_of(
        &self,
        file: &FileStep<'_>,
        mut change: Change,
    ) -> Result<(Vec<OriginNote>, Change), StoreError> {
        let FileStep { path, before, after } = file;
        let mut notes = Vec::with_capacity(2);
        let mut held = Origin::Person;
        if let Some(object) = before {
            let (origin, first) = self.origin_before(path, object).await?;
            held = origin;
            notes.extend(first);
        }
        let after = after.map(|bytes| {
            let changed = SystemClock::new().wall();
            Content { bytes, hash: Hash::of(bytes), changed }
        });
        if let Some(content) = &after {
            change.origin = self.origin_after(path, content, &change).await?;
        }
        notes.push(match &after {
            Some(content) => {
                let is_new = before.is_none() && change.origin.taints();
                let names = if is_new { self.new_names(path).await? } else { Vec::new() };
                let mut note = OriginNote { names, ..note(path, content, change.origin) };
                // If something foreign was added to a trusted text, only that addition is foreign.
                if let Some(object) = before.filter(|_| !held.taints() || is_daily(path)) {
                    note.prints = prints::added(&note.prints, content.bytes, &object.bytes);
                }
                note
            }
            None => OriginNote {
                path: path.to_string(),
                hash: None,
                origin: change.origin,
                prints: Vec::new(),
                names: Vec::new(),
            },
        });
        Ok((notes, change))
    }

    /// The origin that a new content gets.
    async fn origin_after(
        &self,
        path: &ObjectKey,
        content: &Content<'_>,
        change: &Change,
    ) -> Result<Origin, StoreError> {
        if let Author::Person(_) = change.author {
            return Ok(change.origin.max(self.judge(path, content).await?));
        }
        // Restored content keeps its origin, regardless of who restores it.
        let known = self.origins.known(&self.owner, path.as_str(), content.hash).await?;
        Ok(match known.here {
            Some(here) if here.taints() => here.max(change.origin),
            Some(here) => here.min(change.origin),
            None => change.origin,
        })
    }

    /// The origin of a file before a change. If it is not recorded yet, the answer includes a note
    /// of it, so that the origin is known when the content is restored.
    async fn origin_before(
        &self,
        path: &ObjectKey,
        object: &Object,
    ) -> Result<(Origin, Option<OriginNote>), StoreError> {
        let known = self.origins.known(&self.owner, path.as_str(), object.hash).await?;
        if let Some(origin) = known.here {
            return Ok((origin, None));
        }
        let content = object.into();
        let origin = self.judge(path, &content).await?;
        Ok((origin, Some(note(path, &content, origin))))
    }

    /// The name of the file, and the names of its folders that do not exist yet.
    async fn new_names(&self, path: &ObjectKey) -> Result<Vec<String>, StoreError> {
        let mut names = vec![path.to_string()];
        let mut rest = path.as_str();
        while let Some((folder, _)) = rest.rsplit_once('/') {
            match self.person.list(Some(&folder.parse()?), 1).await {
                Err(StoreError::NotFound) => names.push(folder.to_owned()),
                Ok(_) | Err(StoreError::Refused(_)) => break,
                Err(error) => return Err(error),
            }
            rest = folder;
        }
        Ok(names)
    }

    /// Records the origin of files that something else has written already. `files` lists those
    /// that hold something, with what they hold (`None`: it is too large to read). `names` lists
    /// files and folders whose names the writer chose.
    pub async fn written(
        &self,
        files: &[(ObjectKey, Option<Object>)],
        names: &[ObjectKey],
        origin: Origin,
    ) -> Result<(), StoreError> {
        let held = files.iter().map(|(path, object)| match object {
            Some(object) => note(path, &object.into(), origin),
            None => note(path, &Content { bytes: &[], hash: Hash::ZERO, changed: NEVER }, origin),
        });
        let mut notes: Vec<OriginNote> = held.collect();
        if !names.is_empty() {
            notes.push(OriginNote {
                path: UNNAMED.to_owned(),
                hash: None,
                origin,
                prints: Vec::new(),
                names: names.iter().map(ToString::to_string).collect(),
            });
        }
        if notes.is_empty() {
            return Ok(());
        }
        self.origins.note(&self.owner, notes).await
    }

    /// Records that the person has read this content of the file under this name, and takes both as
    /// their own.
    pub async fn accept(&self, path: &ObjectKey, object: &Object) -> Result<(), StoreError> {
        let names = names_on(path).collect();
        let accepted = OriginNote { names, ..note(path, &object.into(), Origin::Person) };
        self.origins.note(&self.owner, vec![accepted]).await
    }

    async fn keep_content(&self, path: &ObjectKey, bytes: &[u8]) -> Result<Hash, StoreError> {
        let hash = Hash::of(bytes);
        match self.person.put(&content_key(path, hash)?, bytes, Expect::Absent).await {
            // The same content was kept before, because its name is its hash.
            Ok(_) | Err(StoreError::Conflict) => Ok(hash),
            Err(error) => Err(error),
        }
    }

    /// Lists every kept change of a file, newest first.
    pub async fn versions(&self, path: &ObjectKey) -> Result<Vec<Version>, StoreError> {
        let mut versions = self.read_list(&manifest_key(path)?).await?;
        versions.reverse();
        Ok(versions)
    }

    /// Reads what the file held before a change; `None` when there was no file.
    pub async fn read(&self, version: &Version) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(hash) = version.before else { return Ok(None) };
        let object = self.person.get(&content_key(&version.path, hash)?, u64::MAX).await?;
        match object {
            Some(object) if object.hash == hash => Ok(Some(object.bytes)),
            Some(_) => Err(StoreError::Damaged(format!("the kept version of {}", version.path))),
            None => Err(StoreError::NotFound),
        }
    }

    /// The origin of the content that a file holds now. This is the only place that answers that
    /// question.
    pub async fn origin(&self, path: &ObjectKey, object: &Object) -> Result<Origin, StoreError> {
        self.judge(path, &object.into()).await
    }

    /// Returns who chose the names on these paths, including the names of their folders.
    pub async fn named_by<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a ObjectKey>,
    ) -> Result<Origin, StoreError> {
        let mut names = std::collections::BTreeSet::new();
        for path in paths {
            names.extend(names_on(path));
        }
        self.origins.named_by(&self.owner, names.into_iter().collect()).await
    }

    /// Whether a command is running that may have changed or named this file since a time.
    pub async fn is_under_command(
        &self,
        path: &ObjectKey,
        changed: Timestamp,
    ) -> Result<bool, StoreError> {
        if !path.as_str().starts_with(VAULT) {
            return Ok(false);
        }
        let since = self.origins.command_since(&self.owner).await?;
        Ok(since.is_some_and(|since| late(changed) >= since))
    }

    async fn judge(&self, path: &ObjectKey, content: &Content<'_>) -> Result<Origin, StoreError> {
        let Content { bytes, hash, changed } = *content;
        let known = self.origins.known(&self.owner, path.as_str(), hash).await?;
        if let Some(origin) = known.here {
            return Ok(origin);
        }
        // A daily log counts as the person's own, because each of its lines says where it came
        // from.
        if is_daily(path) || bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Origin::Person);
        }
        // A foreign text that was changed by hand is still made of the foreign text.
        if let Some(origin) = known.before.filter(|origin| origin.taints()) {
            return Ok(origin);
        }
        // A content that was written down later cannot be what this one was made of, so only
        // earlier ones count.
        let elsewhere = known.elsewhere.filter(|(_, at)| *at <= late(changed));
        if let Some((origin, _)) = elsewhere.filter(|(origin, _)| origin.taints()) {
            return Ok(origin);
        }
        if let Some(origin) = self.made_of(bytes, changed).await? {
            return Ok(origin);
        }
        if self.is_under_command(path, changed).await? {
            return Ok(Origin::External);
        }
        Ok(Origin::Person)
    }

    async fn made_of(
        &self,
        bytes: &[u8],
        changed: Timestamp,
    ) -> Result<Option<Origin>, StoreError> {
        if !self.origins.has_foreign_text(&self.owner).await? {
            return Ok(None);
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(None) };
        let prints: Vec<u64> = prints::all(text).into_iter().collect();
        if prints.is_empty() {
            return Ok(None);
        }
        self.origins.alike(&self.owner, prints, late(changed)).await
    }

    /// Lists what a run changed, in order, so that the run can be undone as a whole. A change that
    /// was recorded may not have happened: before undoing it, the file has to be compared with
    /// `after`.
    pub async fn changes_of_run(&self, run: RunId) -> Result<Vec<Version>, StoreError> {
        self.read_list(&run_key(run)?).await
    }

    pub(super) async fn read_list(&self, key: &ObjectKey) -> Result<Vec<Version>, StoreError> {
        let Some(list) = self.person.get(key, LARGEST_MANIFEST).await? else {
            return Ok(Vec::new());
        };
        let lines = list.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let versions = lines.filter_map(|line| {
            let version = Version::parse(line);
            if version.is_none() {
                // A crash cut the line off, before the change that it announces could happen.
                tracing::warn!(list = %key, "a line of the history cannot be read");
            }
            version
        });
        Ok(versions.collect())
    }
}

impl Version {
    /// Encodes the version as a line. It begins with a newline too, so that a line which a crash
    /// cut off before it stays separate.
    fn line(&self) -> Result<Vec<u8>, StoreError> {
        let record = Record {
            path: self.path.to_string(),
            before: self.before,
            after: self.after,
            change: self.change.clone(),
        };
        let json = serde_json::to_vec(&record)
            .map_err(|error| StoreError::Failed(format!("history: {error}")))?;
        Ok([b"\n", json.as_slice(), b"\n"].concat())
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let Record { path, before, after, change } = serde_json::from_slice(line).ok()?;
        Some(Self { path: path.parse().ok()?, before, after, change })
    }
}

fn folder_of(path: &ObjectKey) -> Result<ObjectKey, StoreError> {
    if path.parts().any(|part| part == VERSIONS) {
        return Err(StoreError::Refused(format!("{VERSIONS} is a reserved name")));
    }
    Ok(format!("history/files/{path}/{VERSIONS}").parse()?)
}

fn manifest_key(path: &ObjectKey) -> Result<ObjectKey, StoreError> {
    Ok(folder_of(path)?.join(MANIFEST)?)
}

/// The path itself and the paths of its folders.
fn names_on(path: &ObjectKey) -> impl Iterator<Item = String> {
    let folders = path.as_str().match_indices('/').map(|(at, _)| path.as_str()[..at].to_owned());
    folders.chain(std::iter::once(path.to_string()))
}

fn note(path: &ObjectKey, content: &Content<'_>, origin: Origin) -> OriginNote {
    let text = std::str::from_utf8(content.bytes).ok().filter(|_| origin.taints());
    OriginNote {
        path: path.to_string(),
        hash: Some(content.hash),
        origin,
        prints: text.map(prints::kept).unwrap_or_default(),
        names: Vec::new(),
    }
}

fn late(changed: Timestamp) -> Timestamp {
    Timestamp::from_millis(changed.as_millis().saturating_add(TICK_MS))
}

fn is_daily(path: &ObjectKey) -> bool {
    let mut parts = path.parts();
    parts.next() == Some("memory") && parts.nth(1) == Some("daily")
}

fn content_key(path: &ObjectKey, hash: Hash) -> Result<ObjectKey, StoreError> {
    Ok(folder_of(path)?.join(&hash.to_string())?)
}

fn run_key(run: RunId) -> Result<ObjectKey, StoreError> {
    Ok(format!("history/runs/{run}.jsonl").parse()?)
}
