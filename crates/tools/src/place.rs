//! The places on disk a call may touch, with who wrote what they hold.

use std::sync::Arc;

use onyx_storage::{
    Area, Change, Expect, History, Object, ObjectKey, ObjectKeyError, ObjectMeta, Objects,
    StoreError,
};
use onyx_types::{Hash, Origin, Taint, Target};

use crate::{ToolCx, ToolError};

/// Longer files are not for a model to read or rewrite in one piece.
const FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The files under one folder of the person's, and the versions kept of them.
pub(crate) struct Place {
    /// Where the folder stands in the home.
    root: String,
    /// Where it stands in the person's folder, which is how the history knows it.
    in_person: String,
    objects: Arc<dyn Objects>,
    history: History,
}

/// A text as it stands on disk.
pub(crate) struct Reading {
    pub(crate) text: String,
    pub(crate) hash: Hash,
    pub(crate) origin: Origin,
}

/// A path that a model wrote; what leads out of the folder is refused.
pub(crate) fn key(path: &str) -> Result<ObjectKey, ToolError> {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.parse().map_err(|error: ObjectKeyError| ToolError::Refused(error.to_string()))
}

impl Place {
    pub(crate) fn vault(cx: &ToolCx) -> Result<Self, ToolError> {
        Self::of(cx, &Area::Vault(cx.key.person.clone()))
    }

    /// The person's memory of the answering agent.
    pub(crate) fn memory(cx: &ToolCx) -> Result<Self, ToolError> {
        Self::of(cx, &Area::Memory(cx.key.person.clone(), cx.agent.clone()))
    }

    fn of(cx: &ToolCx, area: &Area) -> Result<Self, ToolError> {
        let Some(in_person) = area.path_in_person() else {
            return Err(ToolError::Refused(format!("{} is nobody's own", area.path())));
        };
        Ok(Self {
            root: area.path(),
            in_person,
            objects: cx.files.objects(area).map_err(refused)?,
            history: cx.files.history(&cx.key.person).map_err(refused)?,
        })
    }

    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// How a file is called in plans and records.
    pub(crate) fn name(&self, key: &ObjectKey) -> String {
        format!("{}/{key}", self.root)
    }

    pub(crate) async fn read(&self, key: &ObjectKey) -> Result<Option<Reading>, ToolError> {
        let Some(object) = self.get(key).await? else { return Ok(None) };
        let origin = self.history.provenance(&self.path(key)?, object.hash).await?;
        let (hash, size) = (object.hash, object.bytes.len());
        let text = String::from_utf8(object.bytes)
            .map_err(|_| ToolError::Arguments(format!("{key} is not text ({size} bytes)")))?;
        Ok(Some(Reading { text, hash, origin }))
    }

    /// What the plan was built on, or a conflict.
    pub(crate) async fn read_planned(
        &self,
        key: &ObjectKey,
        base: Option<Hash>,
    ) -> Result<Option<Reading>, ToolError> {
        let reading = self.read(key).await?;
        if reading.as_ref().map(|reading| reading.hash) == base {
            Ok(reading)
        } else {
            Err(ToolError::Conflict(key.to_string()))
        }
    }

    /// Puts an agent's own text in the place of whatever the plan was built on.
    pub(crate) async fn replace(
        &self,
        key: &ObjectKey,
        text: &str,
        base: Option<Hash>,
        by: &Writer<'_>,
    ) -> Result<(), ToolError> {
        self.put(key, text, base, by, by.origin()).await
    }

    /// Changes a part of a text: what it held before goes on deciding whether it may be believed.
    pub(crate) async fn rework(
        &self,
        key: &ObjectKey,
        text: &str,
        before: Option<&Reading>,
        by: &Writer<'_>,
    ) -> Result<(), ToolError> {
        let origin = before.map_or(by.origin(), |before| by.origin().max(before.origin));
        self.put(key, text, before.map(|before| before.hash), by, origin).await
    }

    /// Adds lines to a log. Who else adds at the same time loses nothing; the version kept may
    /// then lack their lines.
    pub(crate) async fn append(
        &self,
        key: &ObjectKey,
        lines: &str,
        by: &Writer<'_>,
    ) -> Result<(), ToolError> {
        let before = self.get(key).await?.map(|object| object.bytes);
        // A person may have left the last line without an end.
        let joins = before.as_ref().is_some_and(|text| !text.is_empty() && !text.ends_with(b"\n"));
        let added = [if joins { "\n" } else { "" }, lines].concat();
        let after = [before.as_deref().unwrap_or_default(), added.as_bytes()].concat();
        let change = by.change(by.origin());
        self.history
            .keep(&self.path(key)?, before.as_deref(), Some(Hash::of(&after)), change)
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

    /// Who gave a file its name: a name is text that a model reads, too.
    pub(crate) async fn named_by(&self, key: &ObjectKey) -> Result<Origin, ToolError> {
        let versions = self.history.versions(&self.path(key)?).await?;
        let created = versions.iter().find(|version| version.before.is_none());
        Ok(created.map_or(Origin::Person, |version| version.change.origin))
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, ToolError> {
        self.objects.get(key, FILE_BYTES).await.map_err(refused)
    }

    /// The version before is durable before anything changes, and what changed since the plan is
    /// never written over.
    async fn put(
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
        let before = current.as_ref().map(|object| object.bytes.as_slice());
        let after = Some(Hash::of(text.as_bytes()));
        self.history
            .keep(&self.path(key)?, before, after, by.change(origin))
            .await
            .map_err(refused)?;
        let expect = base.map_or(Expect::Absent, Expect::Is);
        match self.objects.put(key, text.as_bytes(), expect).await {
            Ok(_) => Ok(()),
            Err(StoreError::Conflict) => Err(conflict()),
            Err(error) => Err(refused(error)),
        }
    }

    fn path(&self, key: &ObjectKey) -> Result<ObjectKey, ToolError> {
        self::key(&format!("{}/{key}", self.in_person))
    }
}

/// Who writes: the tool of an agent in a run.
pub(crate) struct Writer<'a> {
    pub(crate) cx: &'a ToolCx,
    pub(crate) tool: &'a str,
}

impl Writer<'_> {
    fn origin(&self) -> Origin {
        match self.cx.taint {
            Taint::Clean => Origin::Agent,
            Taint::Tainted => Origin::AgentTainted,
        }
    }

    fn change(&self, origin: Origin) -> Change {
        Change {
            ts: self.cx.clock.wall(),
            author: self.cx.author(),
            origin,
            run: Some(self.cx.run),
            tool: self.tool.to_owned(),
        }
    }
}

/// Where the content that a plan builds on came from: its preview may show any of it.
pub(crate) async fn origin_of_targets(
    cx: &ToolCx,
    targets: &[Target],
) -> Result<Origin, ToolError> {
    let person = format!("{}/", Area::Person(cx.key.person.clone()).path());
    let history = cx.files.history(&cx.key.person)?;
    let mut origin = Origin::Person;
    for target in targets {
        let Some(base) = target.base else { continue };
        let of_target = match target.name.strip_prefix(&person) {
            Some(path) => history.provenance(&key(path)?, base).await?,
            None => Origin::External,
        };
        origin = origin.max(of_target);
    }
    Ok(origin)
}

/// Links, devices and the like are refused by the store itself; that is a denial and is audited.
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
        | StoreError::Failed(_) => ToolError::Storage(error),
    }
}
