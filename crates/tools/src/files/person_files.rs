//! A person's own memory and notes, read and changed by the person. The earlier content of a file is
//! kept, as before an agent's change.

use std::sync::Arc;

use onyx_storage::{Area, Change, Expect, Files, Object, ObjectKey, Objects, StoreError, Version};
use onyx_types::{AgentId, Author, Clock, ErrorCode, Fault, Hash, Origin, PersonId, Taint};

use crate::ToolError;
use crate::text::daily;
use crate::text::section::add_under;

/// The most bytes of a file that a person writes here: more than anybody writes by hand.
pub const LARGEST_PERSON_FILE: u64 = 8 * 1024 * 1024;

/// The folder of pictures and documents that belong to messages and pages. Everything else that a
/// person writes is text.
const ATTACHMENTS: &str = "vault/attachments/";

pub struct PersonFiles {
    files: Arc<dyn Files>,
    person: PersonId,
    clock: Arc<dyn Clock>,
}

/// A change of a file, by its number: the first is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedVersion {
    pub number: u64,
    pub version: Version,
}

impl PersonFiles {
    pub fn new(files: Arc<dyn Files>, person: PersonId, clock: Arc<dyn Clock>) -> Self {
        Self { files, person, clock }
    }

    /// Reads a file; `None` if there is none. The paths that a search gives can be read, shared
    /// documents by their `shared/` path.
    pub async fn read(&self, path: &str) -> Result<Option<Object>, Fault> {
        let (objects, key) = match path.strip_prefix("shared/") {
            Some(rest) => (self.files.objects(&Area::Shared)?, key_of(rest)?),
            None => (self.objects()?, readable_key(path)?),
        };
        match objects.get(&key, LARGEST_PERSON_FILE).await {
            Err(StoreError::NotFound) => Ok(None),
            read => Ok(read?),
        }
    }

    pub async fn write(&self, path: &str, bytes: &[u8], expect: Expect) -> Result<Hash, Fault> {
        if bytes.len() as u64 > LARGEST_PERSON_FILE {
            let message = format!("A file has at most {LARGEST_PERSON_FILE} bytes.");
            return Err(Fault::new(ErrorCode::TooLarge, message));
        }
        if !path.starts_with(ATTACHMENTS) && std::str::from_utf8(bytes).is_err() {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The file is not UTF-8 text."));
        }
        self.put(&own_key(path)?, bytes, expect, "edit").await
    }

    pub async fn delete(&self, path: &str, expect: Expect) -> Result<(), Fault> {
        self.delete_at(&own_key(path)?, path, expect).await
    }

    async fn delete_at(&self, key: &ObjectKey, path: &str, expect: Expect) -> Result<(), Fault> {
        let objects = self.objects()?;
        let current = self.current(&*objects, key).await?;
        let current = current.ok_or_else(|| missing(path))?;
        if let Expect::Is(hash) = expect
            && hash != current.hash
        {
            return Err(Fault::plain(ErrorCode::VersionConflict));
        }
        self.keep(key, Some(&current), None, "delete").await?;
        Ok(objects.delete(key, Expect::Is(current.hash)).await?)
    }

    /// Lists the changes of a file, newest first.
    pub async fn versions(&self, path: &str) -> Result<Vec<NumberedVersion>, Fault> {
        let key = readable_key(path)?;
        let versions = self.files.history(&self.person)?.versions(&key).await?;
        let numbers = (1..=versions.len() as u64).rev();
        let numbered = numbers.zip(versions);
        Ok(numbered.map(|(number, version)| NumberedVersion { number, version }).collect())
    }

    /// The content of a file before a change; `None` if there was no file.
    pub async fn version(&self, path: &str, number: u64) -> Result<Option<Vec<u8>>, Fault> {
        let versions = self.versions(path).await?;
        let found = versions.iter().find(|version| version.number == number);
        let found = found.ok_or_else(|| {
            let message = format!("{path} has no version {number}.");
            Fault::new(ErrorCode::NotFound, message)
        })?;
        Ok(self.files.history(&self.person)?.read(&found.version).await?)
    }

    /// Restores the content of a file before a change. The restoration is a change that can be
    /// reverted too.
    pub async fn restore(&self, path: &str, number: u64) -> Result<Option<Hash>, Fault> {
        let key = restorable_key(path)?;
        match self.version(path, number).await? {
            Some(bytes) => Ok(Some(self.put(&key, &bytes, Expect::Anything, "restore").await?)),
            None => {
                self.delete_at(&key, path, Expect::Anything).await?;
                Ok(None)
            }
        }
    }

    /// The origin of a file's content; `None` if there is no file.
    pub async fn origin(&self, path: &str) -> Result<Option<Origin>, Fault> {
        let Some(object) = self.read(path).await? else { return Ok(None) };
        match path.strip_prefix("shared/") {
            Some(_) => Ok(Some(Origin::Person)),
            None => {
                let history = self.files.history(&self.person)?;
                Ok(Some(history.origin(&readable_key(path)?, &object).await?))
            }
        }
    }

    /// Accepts the content of a file as the person's own. `seen` is the hash of what the person has
    /// read.
    pub async fn accept(&self, path: &str, seen: Hash) -> Result<(), Fault> {
        let (objects, key) = (self.objects()?, own_key(path)?);
        let object = self.current(&*objects, &key).await?.ok_or_else(|| missing(path))?;
        if object.hash != seen {
            return Err(Fault::plain(ErrorCode::VersionConflict));
        }
        self.files.history(&self.person)?.accept(&key, &object).await?;
        // Writing the file unchanged makes the index read it again.
        objects.put(&key, &object.bytes, Expect::Is(object.hash)).await?;
        Ok(())
    }

    /// Adds an entry to today's log of an agent. Returns the path of the log.
    pub async fn note(&self, agent: &AgentId, text: &str) -> Result<String, Fault> {
        not_empty(text)?;
        let (at, zone) = (self.clock.wall(), self.clock.zone_of(&self.person));
        let path = format!("memory/{agent}/daily/{}.md", zone.date(at));
        let (objects, key) = (self.objects()?, own_key(&path)?);
        let before = self.current(&*objects, &key).await?;
        let held = before.as_ref().map_or(&[][..], |object| object.bytes.as_slice());
        let joins = !held.is_empty() && !held.ends_with(b"\n");
        let added =
            [if joins { "\n" } else { "" }, &daily::entry(at, &zone, text, Taint::Clean)].concat();
        let after = [held, added.as_bytes()].concat();
        self.keep(&key, before.as_ref(), Some(&after), "note").await?;
        objects.append(&key, added.as_bytes()).await?;
        Ok(path)
    }

    /// Adds a fact under a heading of an agent's MEMORY.md. Returns the path of the file.
    pub async fn remember(
        &self,
        agent: &AgentId,
        heading: &str,
        text: &str,
    ) -> Result<String, Fault> {
        not_empty(text)?;
        let path = format!("memory/{agent}/MEMORY.md");
        let (objects, key) = (self.objects()?, own_key(&path)?);
        let before = self.current(&*objects, &key).await?;
        let held = before.as_ref().map_or(&[][..], |object| object.bytes.as_slice());
        let held = std::str::from_utf8(held)
            .map_err(|_| Fault::new(ErrorCode::InvalidRequest, format!("{path} is not text.")))?;
        let reworked = add_under(held, heading, text).map_err(|error| fault(&error))?;
        let expect = before.map_or(Expect::Absent, |object| Expect::Is(object.hash));
        self.put(&key, reworked.as_bytes(), expect, "remember").await?;
        Ok(path)
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: &[u8],
        expect: Expect,
        tool: &str,
    ) -> Result<Hash, Fault> {
        let objects = self.objects()?;
        let before = self.current(&*objects, key).await?;
        let as_expected = match (expect, &before) {
            (Expect::Anything, _) | (Expect::Absent, None) => true,
            (Expect::Is(hash), Some(before)) => hash == before.hash,
            (Expect::Absent, Some(_)) | (Expect::Is(_), None) => false,
        };
        if !as_expected {
            return Err(Fault::plain(ErrorCode::VersionConflict));
        }
        self.keep(key, before.as_ref(), Some(bytes), tool).await?;
        // Only the content that was kept as a version is replaced.
        let expect = before.map_or(Expect::Absent, |before| Expect::Is(before.hash));
        Ok(objects.put(key, bytes, expect).await?)
    }

    async fn keep(
        &self,
        key: &ObjectKey,
        before: Option<&Object>,
        after: Option<&[u8]>,
        tool: &str,
    ) -> Result<(), Fault> {
        let change = Change {
            ts: self.clock.wall(),
            author: Author::Person(self.person.clone()),
            origin: Origin::Person,
            run: None,
            tool: tool.to_owned(),
        };
        self.files.history(&self.person)?.keep(key, before, after, change).await?;
        Ok(())
    }

    async fn current(
        &self,
        objects: &dyn Objects,
        key: &ObjectKey,
    ) -> Result<Option<Object>, Fault> {
        match objects.get(key, LARGEST_PERSON_FILE).await {
            Err(StoreError::NotFound) => Ok(None),
            read => Ok(read?),
        }
    }

    fn objects(&self) -> Result<Arc<dyn Objects>, Fault> {
        Ok(self.files.objects(&Area::Person(self.person.clone()))?)
    }
}

fn key_of(path: &str) -> Result<ObjectKey, Fault> {
    let key: ObjectKey = path
        .parse()
        .map_err(|error| Fault::new(ErrorCode::InvalidRequest, format!("path: {error}")))?;
    if key.is_hidden() {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("path: {path:?} is hidden")));
    }
    Ok(key)
}

/// Checks a path that the person may write here: USER.md, memory or vault. Sessions, history and
/// settings have other routes.
fn own_key(path: &str) -> Result<ObjectKey, Fault> {
    let key = key_of(path)?;
    let parts: Vec<&str> = key.parts().collect();
    match parts.as_slice() {
        ["USER.md"] | ["memory", _, _, ..] | ["vault", _, ..] => Ok(key),
        _ => Err(Fault::new(
            ErrorCode::InvalidRequest,
            format!("path: {path:?} is not in memory/<agent>/, not in vault/ and not USER.md"),
        )),
    }
}

/// Checks a path that may be restored: one that may be written here, or an entity of a space, whose
/// earlier versions are the person's too.
fn restorable_key(path: &str) -> Result<ObjectKey, Fault> {
    let key = key_of(path)?;
    let parts: Vec<&str> = key.parts().collect();
    match parts.as_slice() {
        ["spaces", _, "pages" | "tasks" | "refs" | "projects", _] => Ok(key),
        _ => own_key(path),
    }
}

/// Checks a path that may be read: one that may be written here, or content of a space, which is
/// changed by other routes.
fn readable_key(path: &str) -> Result<ObjectKey, Fault> {
    let key = key_of(path)?;
    let parts: Vec<&str> = key.parts().collect();
    match parts.as_slice() {
        ["spaces", _, "pages" | "tasks" | "refs" | "projects", _]
        | ["spaces", _, "sources", _, _, ..]
        | ["spaces", _, "channels" | "threads", _, "sources", _, _, ..] => Ok(key),
        _ => own_key(path),
    }
}

fn not_empty(text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        return Err(Fault::new(ErrorCode::InvalidRequest, "text: must not be empty"));
    }
    Ok(())
}

fn missing(path: &str) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no {path}."))
}

fn fault(error: &ToolError) -> Fault {
    Fault::new(error.code(), error.to_string())
}
