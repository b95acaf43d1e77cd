//! The files that a call may read and write, and the origin of their contents.

use std::sync::Arc;

use onyx_storage::{
    Area, Change, Expect, History, Object, ObjectKey, ObjectMeta, Objects, StoreError,
    declared_origin,
};
use onyx_types::{DraftId, Hash, HomePath, Origin, PlanTarget, Taint, Target};

use crate::paths::key;
use crate::{Pending, ToolCx, ToolError};

/// The most bytes of a file that a model reads or rewrites in one piece.
pub(super) const FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The files of one of the person's folders, with their versions.
pub(crate) struct AgentFiles {
    /// The path of the folder in the home.
    root: String,
    /// The path in the person's folder, which the history uses.
    in_person: String,
    objects: Arc<dyn Objects>,
    history: History,
    pending: Arc<Pending>,
}

/// A text as it stands on disk.
pub(crate) struct TextOnDisk {
    pub(crate) text: String,
    pub(crate) hash: Hash,
    pub(crate) origin: Origin,
}

/// A text as the session sees it: on disk, or as one of its open drafts would leave it.
pub(crate) struct SeenText {
    pub(crate) text: String,
    /// The hash of the file on disk; `None` if there is no file.
    pub(crate) base: Option<Hash>,
    pub(crate) origin: Origin,
    pub(crate) draft: Option<DraftId>,
}

/// A file as the session sees it, whether it is text or not.
pub(crate) struct AnyFile {
    /// The file's text; `None` if it is not text.
    pub(crate) text: Option<String>,
    pub(crate) size: usize,
    /// The hash of the file on disk; `None` if there is no file.
    pub(crate) base: Option<Hash>,
}

impl SeenText {
    /// A note above the text, so that a model does not take a draft for a change that was made.
    pub(crate) fn label(&self) -> String {
        self.draft.map_or_else(String::new, |draft| {
            format!("[as draft {draft} would leave it; not on disk until a person approves it]\n")
        })
    }
}

impl AgentFiles {
    pub(crate) fn vault(cx: &ToolCx) -> Result<Self, ToolError> {
        Self::of(cx, &Area::Vault(cx.key.person.clone()))
    }

    /// The memory of the answering agent about this person.
    pub(crate) fn memory(cx: &ToolCx) -> Result<Self, ToolError> {
        Self::of(cx, &Area::Memory(cx.key.person.clone(), cx.agent.clone()))
    }

    fn of(cx: &ToolCx, area: &Area) -> Result<Self, ToolError> {
        let Some(in_person) = area.path_in_person() else {
            return Err(ToolError::Refused(format!("{} belongs to no person", area.path())));
        };
        Ok(Self {
            root: area.path(),
            in_person,
            objects: cx.files.objects(area).map_err(refused)?,
            history: cx.files.history(&cx.key.person).map_err(refused)?,
            pending: Arc::clone(&cx.pending),
        })
    }

    /// The folder and key of a plan's target. `Refused` if it is not a file of the person that a
    /// tool could have written.
    pub(crate) fn holding(cx: &ToolCx, file: &HomePath) -> Result<(Self, ObjectKey), ToolError> {
        for files in [Self::vault(cx)?, Self::memory(cx)?] {
            if let Some(path) = within(&files.root, file.as_str()) {
                return Ok((files, key(path)?));
            }
        }
        let person = Self::of(cx, &Area::Person(cx.key.person.clone()))?;
        match within(&person.root, file.as_str()) {
            Some(path) if !OURS.iter().any(|ours| within(ours, path).is_some()) => {
                Ok((person, key(path)?))
            }
            Some(_) | None => {
                Err(ToolError::Refused(format!("{file} is not a file of the person's")))
            }
        }
    }

    /// The target of a search in a folder; `None` is the top folder.
    pub(crate) fn folder(&self, key: Option<&ObjectKey>) -> Target {
        Target::Folder(key.map_or_else(|| HomePath::new(&self.root), |key| self.name(key)))
    }

    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// The file's name in plans and records.
    pub(crate) fn name(&self, key: &ObjectKey) -> HomePath {
        HomePath::new(format!("{}/{key}", self.root))
    }

    /// A file of the vault as the target of a plan; `base` is its present hash.
    pub(crate) fn target(&self, cx: &ToolCx, key: &ObjectKey, base: Option<Hash>) -> PlanTarget {
        let target = Target::File(self.name(key));
        PlanTarget { target, base, instruction: cx.paths.steers(key) }
    }

    pub(crate) async fn read(&self, key: &ObjectKey) -> Result<Option<TextOnDisk>, ToolError> {
        let Some(object) = self.get(key).await? else { return Ok(None) };
        let written = self.history.origin(&self.path(key)?, &object).await?;
        let (hash, size) = (object.hash, object.bytes.len());
        let text = String::from_utf8(object.bytes)
            .map_err(|_| ToolError::Arguments(format!("{key} is not text ({size} bytes)")))?;
        let origin = written.max(declared_origin(&text));
        Ok(Some(TextOnDisk { text, hash, origin }))
    }

    /// The text of a file as the session sees it.
    pub(crate) async fn seen(&self, key: &ObjectKey) -> Result<Option<SeenText>, ToolError> {
        Ok(self.seen_over(key).await?.1)
    }

    /// The present hash of the file and its text as the session sees it, from a single read. With
    /// two reads another writer could create the file in between, and a change that was planned on
    /// no file would replace it.
    pub(crate) async fn seen_over(
        &self,
        key: &ObjectKey,
    ) -> Result<(Option<Hash>, Option<SeenText>), ToolError> {
        let on_disk = self.read(key).await?;
        let base = on_disk.as_ref().map(|reading| reading.hash);
        let seen = match self.pending.file(&self.name(key)) {
            None => on_disk.map(|reading| SeenText {
                text: reading.text,
                base,
                origin: reading.origin,
                draft: None,
            }),
            Some(file) => file.text.map(|text| SeenText {
                text: text.to_owned(),
                base,
                origin: file.origin,
                draft: Some(file.draft),
            }),
        };
        Ok((base, seen))
    }

    /// A file as the session sees it, for tools that do not need its text.
    pub(crate) async fn any_file(&self, key: &ObjectKey) -> Result<Option<AnyFile>, ToolError> {
        let on_disk = self.get(key).await?;
        let base = on_disk.as_ref().map(|object| object.hash);
        let bytes = match self.pending.file(&self.name(key)) {
            Some(file) => file.text.map(|text| text.as_bytes().to_vec()),
            None => on_disk.map(|object| object.bytes),
        };
        Ok(bytes.map(|bytes| AnyFile {
            size: bytes.len(),
            text: String::from_utf8(bytes).ok(),
            base,
        }))
    }

    /// The text on disk, to be compared with by people.
    pub(crate) async fn shown(&self, key: &ObjectKey) -> Result<String, ToolError> {
        let Some(object) = self.get(key).await? else { return Ok(String::new()) };
        let size = object.bytes.len();
        Ok(String::from_utf8(object.bytes)
            .unwrap_or_else(|_| format!("[{size} bytes, not text]\n")))
    }

    /// Adds lines to a log. Lines that others add at the same time are not lost, but they may be
    /// missing in the version that is kept.
    pub(crate) async fn append(
        &self,
        key: &ObjectKey,
        lines: &str,
        by: &Writer<'_>,
    ) -> Result<(), ToolError> {
        let before = self.get(key).await?;
        let held = before.as_ref().map_or(&[][..], |object| object.bytes.as_slice());
        // The last line may have no line end, for example after an edit by a person.
        let joins = !held.is_empty() && !held.ends_with(b"\n");
        let added = [if joins { "\n" } else { "" }, lines].concat();
        let after = [held, added.as_bytes()].concat();
        let change = by.change(by.origin());
        self.history
            .keep(&self.path(key)?, before.as_ref(), Some(&after), change)
            .await
            .map_err(refused)?;
        self.objects.append(key, added.as_bytes()).await.map_err(refused)
    }

    pub(crate) async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        self.objects.list(folder, limit).await
    }

    /// The origin of the names of files and folders, because a model reads names too.
    pub(crate) async fn named_by(&self, entries: &[ObjectMeta]) -> Result<Origin, ToolError> {
        let mut paths = Vec::with_capacity(entries.len());
        for entry in entries {
            let path = self.path(&entry.key)?;
            // While a command is running, the names that it gives are not known, so new names count
            // as from outside.
            if self.history.is_under_command(&path, entry.changed).await? {
                return Ok(Origin::External);
            }
            paths.push(path);
        }
        Ok(self.history.named_by(&paths).await?)
    }

    /// The content of the file; `None` if there is none.
    pub(crate) async fn bytes(&self, key: &ObjectKey) -> Result<Option<Vec<u8>>, ToolError> {
        Ok(self.get(key).await?.map(|object| object.bytes))
    }

    /// Restores this content of the file, or its absence, whatever the file holds now.
    pub(crate) async fn put_back(
        &self,
        key: &ObjectKey,
        bytes: Option<&[u8]>,
    ) -> Result<(), ToolError> {
        let done = match bytes {
            Some(bytes) => self.objects.put(key, bytes, Expect::Anything).await.map(drop),
            None => self.objects.delete(key, Expect::Anything).await,
        };
        match done {
            Ok(()) | Err(StoreError::NotFound) => Ok(()),
            Err(error) => Err(refused(error)),
        }
    }

    /// Records the origin of files that something else has written already, and of their names.
    /// These are not changes of the run that could be undone, because the previous content is not
    /// known.
    pub(crate) async fn written(
        &self,
        keys: &[&ObjectKey],
        names: &[&ObjectKey],
        origin: Origin,
    ) -> Result<(), ToolError> {
        let mut files = Vec::with_capacity(keys.len());
        for key in keys {
            // The file may be too large for a tool to read, or gone again.
            let object = self.get(key).await.ok().flatten();
            files.push((self.path(key)?, object));
        }
        let names = names.iter().map(|key| self.path(key)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.history.written(&files, &names, origin).await?)
    }

    pub(super) async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, ToolError> {
        self.objects.get(key, FILE_BYTES).await.map_err(refused)
    }

    /// Replaces the text of a file. The previous version is stored first, and a file that changed
    /// since the plan is not overwritten.
    pub(super) async fn put(
        &self,
        key: &ObjectKey,
        text: &str,
        base: Option<Hash>,
        by: &Writer<'_>,
        origin: Origin,
    ) -> Result<(), ToolError> {
        let conflict = || ToolError::Conflict(key.to_string());
        let current = self.get(key).await?;
        if current.as_ref().map(|object| object.hash) != base {
            return Err(conflict());
        }
        self.history
            .keep(&self.path(key)?, current.as_ref(), Some(text.as_bytes()), by.change(origin))
            .await
            .map_err(refused)?;
        let expect = base.map_or(Expect::Absent, Expect::Is);
        match self.objects.put(key, text.as_bytes(), expect).await {
            Ok(_) => Ok(()),
            Err(StoreError::Conflict) => Err(conflict()),
            Err(error) => Err(refused(error)),
        }
    }

    pub(super) async fn remove(
        &self,
        key: &ObjectKey,
        base: Option<Hash>,
        by: &Writer<'_>,
    ) -> Result<(), ToolError> {
        let current = self.get(key).await?;
        let Some(current) = current.filter(|object| Some(object.hash) == base) else {
            return Err(ToolError::Conflict(key.to_string()));
        };
        let change = by.change(by.origin());
        let kept = self.history.keep(&self.path(key)?, Some(&current), None, change).await;
        kept.map_err(refused)?;
        match self.objects.delete(key, Expect::Is(current.hash)).await {
            Ok(()) => Ok(()),
            Err(StoreError::Conflict | StoreError::NotFound) => {
                Err(ToolError::Conflict(key.to_string()))
            }
            Err(error) => Err(refused(error)),
        }
    }

    pub(super) fn objects(&self) -> &dyn Objects {
        &*self.objects
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    pub(super) fn path(&self, key: &ObjectKey) -> Result<ObjectKey, ToolError> {
        match self.in_person.as_str() {
            "" => Ok(key.clone()),
            folder => crate::paths::key(&format!("{folder}/{key}")),
        }
    }
}

/// Folders of a person that only Onyx writes.
const OURS: [&str; 2] = ["history", "sessions"];

/// The path below a folder, if the path is in it.
fn within<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// The author of a change: a tool of an agent in a run.
pub(crate) struct Writer<'a> {
    pub(crate) cx: &'a ToolCx,
    pub(crate) tool: &'a str,
}

impl Writer<'_> {
    pub(super) fn origin(&self) -> Origin {
        match self.cx.taint {
            Taint::Clean => Origin::Agent,
            Taint::Tainted => Origin::AgentTainted,
        }
    }

    pub(super) fn change(&self, origin: Origin) -> Change {
        Change {
            ts: self.cx.clock.wall(),
            author: self.cx.author(),
            origin,
            run: Some(self.cx.standing.map_or(self.cx.run, |standing| standing.root)),
            tool: self.tool.to_owned(),
        }
    }
}

/// The store refuses links, devices and the like. This is a denial and is audited.
fn refused(error: StoreError) -> ToolError {
    match error {
        StoreError::Refused(why) => ToolError::Refused(why),
        StoreError::NotFound
        | StoreError::Conflict
        | StoreError::LeaseLost
        | StoreError::Busy
        | StoreError::AlreadyRun
        | StoreError::Full
        | StoreError::ReadOnly(_)
        | StoreError::Damaged(_)
        | StoreError::Newer(_)
        | StoreError::Failed(_)
        | StoreError::Unavailable(_) => ToolError::Storage(error),
    }
}
