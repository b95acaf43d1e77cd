//! Pages, tasks, refs and projects: markdown files of a space with a front matter that says what
//! they are. People and other programs edit them too, so keys that Onyx does not know are
//! preserved, and a file without any front matter counts as an entity too.

use std::collections::BTreeMap;
use std::sync::Arc;

use onyx_types::{EntityId, EntityKind, EntityRef, Hash, Origin, PersonId, SpaceId, Timestamp};

use crate::{
    Area, Change, Expect, Files, FrontMatter, History, Object, ObjectKey, Objects, StoreError,
};

const LARGEST: u64 = 8 * 1024 * 1024;
const MOST_LISTED: usize = 5_000;
/// The most files whose titles give the same name; they are numbered.
const MOST_NAMESAKES: usize = 99;
const LONGEST_NAME: usize = 60;
const OURS: [&str; 7] = ["id", "title", "status", "tags", "created", "updated", "origin"];

#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    pub at: EntityRef,
    /// The title from the front matter, else the first heading, else the file's name.
    pub title: String,
    pub status: Option<String>,
    pub tags: Vec<String>,
    pub created: Option<Timestamp>,
    pub updated: Timestamp,
    /// The origin of the content. What came from outside stays foreign however it is edited.
    pub origin: Origin,
    /// Every other key whose value is one line.
    pub fields: BTreeMap<String, String>,
    pub body: String,
    /// The content of the whole file.
    pub text: String,
    /// The hash of the whole file, which is its ETag.
    pub version: Hash,
}

/// Changes to an entity; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityChange {
    pub title: Option<String>,
    /// The new status; an empty text removes the status.
    pub status: Option<String>,
    pub tags: Option<Vec<String>>,
    /// New values of other keys; an empty value removes the key.
    pub fields: BTreeMap<String, String>,
    pub body: Option<String>,
}

/// A planned change that is not written yet.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityEdit {
    pub at: EntityRef,
    /// The file's path within the person's folder.
    pub path: ObjectKey,
    pub before: Option<Object>,
    /// The new content; `None`: the file is deleted.
    pub after: Option<String>,
    /// The origin of the content before the change.
    pub origin: Origin,
}

/// The entities of one person.
pub struct Entities {
    person: Arc<dyn Objects>,
    history: History,
}

impl Entities {
    pub fn new(files: &dyn Files, person: &PersonId) -> Result<Self, StoreError> {
        let area = Area::Person(person.clone());
        Ok(Self { person: files.objects(&area)?, history: files.history(person)? })
    }

    /// Lists entities, newest first. An entity that cannot be read is logged and left out, so that
    /// the others can still be seen.
    pub async fn list(&self, space: &SpaceId, kind: EntityKind) -> Result<Vec<Entity>, StoreError> {
        let folder: ObjectKey = format!("spaces/{space}/{}", kind.folder()).parse()?;
        let files = match self.person.list(Some(&folder), MOST_LISTED).await {
            Err(StoreError::NotFound) => return Ok(Vec::new()),
            files => files?,
        };
        let mut entities = Vec::with_capacity(files.len());
        for file in files.iter().filter(|file| !file.is_folder) {
            let Some(at) = EntityRef::of_path(file.key.as_str()) else { continue };
            match self.get(&at).await {
                Ok(entity) => entities.extend(entity),
                Err(error) => tracing::warn!(path = %file.key, %error, "cannot be read"),
            }
        }
        entities.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.at.cmp(&b.at)));
        Ok(entities)
    }

    pub async fn get(&self, at: &EntityRef) -> Result<Option<Entity>, StoreError> {
        let path: ObjectKey = at.path().parse()?;
        let Some(object) = self.object(&path).await? else { return Ok(None) };
        let written = self.history.origin(&path, &object).await?;
        Entity::read(at.clone(), &object, written).map(Some)
    }

    /// Plans a new entity, named after its title. Its file records `origin`.
    pub async fn plan_new(
        &self,
        space: &SpaceId,
        kind: EntityKind,
        change: &EntityChange,
        origin: Origin,
        at: Timestamp,
    ) -> Result<EntityEdit, StoreError> {
        let entity = self.free_place(space, kind, change, |_| false).await?;
        let after = Some(change.first_text(&entity, origin, at)?);
        Ok(EntityEdit { path: entity.path().parse()?, at: entity, before: None, after, origin })
    }

    /// The path for a new entity: named after its title, with a number if that name is taken on
    /// disk or by something that the caller knows of.
    pub async fn free_place(
        &self,
        space: &SpaceId,
        kind: EntityKind,
        change: &EntityChange,
        taken: impl Fn(&EntityRef) -> bool + Send,
    ) -> Result<EntityRef, StoreError> {
        let name = file_name(change.new_title(kind)?, kind);
        for number in 1..=MOST_NAMESAKES {
            let id = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            let id: EntityId =
                id.parse().map_err(|error| StoreError::Refused(format!("{id:?}: {error}")))?;
            let at = EntityRef { space: space.clone(), kind, id };
            if !taken(&at) && self.object(&at.path().parse()?).await?.is_none() {
                return Ok(at);
            }
        }
        Err(StoreError::Refused(format!("{MOST_NAMESAKES} files already have the name {name:?}")))
    }

    /// Plans a change of an entity; `NotFound` when there is no such entity.
    pub async fn plan_change(
        &self,
        entity: &EntityRef,
        change: &EntityChange,
        at: Timestamp,
    ) -> Result<EntityEdit, StoreError> {
        let mut edit = self.plan_removal(entity).await?;
        let text = edit.before.as_ref().map(text_of).transpose()?.unwrap_or_default();
        edit.after = Some(change.applied_to(text, at)?);
        Ok(edit)
    }

    /// Plans the removal of an entity; `NotFound` when there is no such entity.
    pub async fn plan_removal(&self, entity: &EntityRef) -> Result<EntityEdit, StoreError> {
        let path: ObjectKey = entity.path().parse()?;
        let object = self.object(&path).await?.ok_or(StoreError::NotFound)?;
        let written = self.history.origin(&path, &object).await?;
        let origin = Entity::read(entity.clone(), &object, written)?.origin;
        Ok(EntityEdit { at: entity.clone(), path, before: Some(object), after: None, origin })
    }

    /// Writes a planned change. `Conflict` when the file is no longer the one for which the change
    /// was planned. The old content is kept in the history first.
    pub async fn commit(
        &self,
        edit: &EntityEdit,
        by: Change,
    ) -> Result<Option<Entity>, StoreError> {
        let current = self.object(&edit.path).await?;
        let base = edit.before.as_ref().map(|before| before.hash);
        if current.as_ref().map(|object| object.hash) != base {
            return Err(StoreError::Conflict);
        }
        let after = edit.after.as_ref().map(String::as_bytes);
        let origin = by.origin.max(edit.origin);
        let by = Change { origin, ..by };
        self.history.keep(&edit.path, current.as_ref(), after, by).await?;
        let expect = base.map_or(Expect::Absent, Expect::Is);
        match &edit.after {
            Some(text) => {
                self.person.put(&edit.path, text.as_bytes(), expect).await?;
                self.get(&edit.at).await
            }
            None => self.person.delete(&edit.path, expect).await.map(|()| None),
        }
    }

    async fn object(&self, path: &ObjectKey) -> Result<Option<Object>, StoreError> {
        match self.person.get(path, LARGEST).await {
            Err(StoreError::NotFound) => Ok(None),
            found => found,
        }
    }
}

impl Entity {
    fn read(at: EntityRef, object: &Object, written: Origin) -> Result<Self, StoreError> {
        let text = text_of(object)?;
        Ok(Self::parse(at, text, object.modified, written))
    }

    /// Reads an entity from the text of its file. `written` is the recorded origin of its content.
    pub fn parse(at: EntityRef, text: &str, modified: Timestamp, written: Origin) -> Self {
        let (matter, body) = FrontMatter::split(text);
        let body = body.trim_start_matches(['\r', '\n']).to_owned();
        let heading = body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
        let title = matter.text("title").or_else(|| heading.map(str::to_owned));
        let time = |key: &str| matter.text(key).and_then(|text| text.parse::<Timestamp>().ok());
        let others = matter.keys().filter(|key| !OURS.contains(key));
        let fields = others.filter_map(|key| Some((key.to_owned(), matter.text(key)?))).collect();
        Self {
            title: title.unwrap_or_else(|| at.id.to_string()),
            status: matter.text("status"),
            tags: matter.list("tags"),
            created: time("created"),
            // A file that was edited by hand may be newer than its front matter says.
            updated: time("updated").unwrap_or(modified).max(modified),
            origin: written.max(declared(&matter)),
            fields,
            body,
            text: text.to_owned(),
            version: Hash::of(text.as_bytes()),
            at,
        }
    }
}

impl EntityChange {
    /// The text of a new entity's file.
    pub fn first_text(
        &self,
        entity: &EntityRef,
        origin: Origin,
        at: Timestamp,
    ) -> Result<String, StoreError> {
        let mut matter = FrontMatter::default();
        matter.set_text("id", entity.id.as_str());
        matter.set_text("title", self.new_title(entity.kind)?);
        let body = self.write(&mut matter, "")?;
        matter.set_text("created", &at.to_string());
        matter.set_text("updated", &at.to_string());
        if origin.taints() {
            matter.set_text("origin", spelling(origin));
        }
        Ok(matter.join(&body))
    }

    /// The text of the file after the change.
    pub fn applied_to(&self, text: &str, at: Timestamp) -> Result<String, StoreError> {
        let (mut matter, body) = FrontMatter::split(text);
        if let Some(title) = &self.title {
            matter.set_text("title", title.trim());
        }
        let body = self.write(&mut matter, body)?;
        matter.set_text("updated", &at.to_string());
        Ok(matter.join(&body))
    }

    fn new_title(&self, kind: EntityKind) -> Result<&str, StoreError> {
        let title = self.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        title.ok_or_else(|| StoreError::Refused(format!("a new {kind} needs a title")))
    }

    /// Writes the changes into the front matter, and returns the new body.
    fn write(&self, matter: &mut FrontMatter, body: &str) -> Result<String, StoreError> {
        if let Some(status) = &self.status {
            set_or_remove(matter, "status", status);
        }
        if let Some(tags) = &self.tags {
            matter.set_list("tags", tags);
        }
        for (key, value) in &self.fields {
            if OURS.contains(&key.as_str()) || !is_key(key) {
                return Err(StoreError::Refused(format!("{key:?} is not a field of its own")));
            }
            set_or_remove(matter, key, value);
        }
        Ok(match &self.body {
            Some(body) => format!("\n{}\n", body.trim_matches(['\r', '\n'])),
            None if body.is_empty() => "\n".to_owned(),
            None => body.to_owned(),
        })
    }
}

fn set_or_remove(matter: &mut FrontMatter, key: &str, value: &str) {
    match value.trim() {
        "" => matter.remove(key),
        value => matter.set_text(key, value),
    }
}

fn is_key(key: &str) -> bool {
    (1..=64).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn text_of(object: &Object) -> Result<&str, StoreError> {
    std::str::from_utf8(&object.bytes)
        .map_err(|_| StoreError::Damaged("the file is not text".to_owned()))
}

/// The origin that a text declares for itself. A declaration can only make a text less trusted.
pub fn declared_origin(text: &str) -> Origin {
    declared(&FrontMatter::split(text).0)
}

fn declared(matter: &FrontMatter) -> Origin {
    match matter.text("origin").as_deref() {
        None | Some("person" | "agent") => Origin::Person,
        Some("agent_tainted") => Origin::AgentTainted,
        Some(_) => Origin::External,
    }
}

const fn spelling(origin: Origin) -> &'static str {
    match origin {
        Origin::Person => "person",
        Origin::Agent => "agent",
        Origin::AgentTainted => "agent_tainted",
        Origin::External => "external",
    }
}

/// Makes a file name from a title: letters and digits of any script, in small letters, with dashes
/// between words.
fn file_name(title: &str, kind: EntityKind) -> String {
    let lowered = title.to_lowercase();
    let words = lowered.split(|letter: char| !letter.is_alphanumeric());
    let mut name = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if name.len() + word.len() >= LONGEST_NAME && !name.is_empty() {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word[..word.floor_char_boundary(LONGEST_NAME)]);
    }
    if name.is_empty() { kind.as_str().to_owned() } else { name }
}
