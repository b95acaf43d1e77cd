//! Finds skills on disk.

use std::collections::{BTreeMap, BTreeSet};

use onyx_storage::{
    Acceptance, Area, FileLookup, FoundObject, Object, ObjectKey, Objects, StoreError,
};
use onyx_types::{Fault, Hash, PersonId};

use super::{SKILL_FILE, Skill, SkillHead, SkillPlace, SkillState, SkillsCore, places};

/// The most skills of one place that are looked at.
pub(super) const MOST_SKILLS: usize = 200;
pub(super) const MOST_FILES: usize = 200;
/// The most bytes of all files of one skill together.
pub(super) const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// How deep folders of a skill may be nested.
const DEEPEST: usize = 8;

/// An entry of a folder of skills.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `<name>/SKILL.md`, with any other files.
    Folder,
    /// `<name>.md`
    File,
}

impl Entry {
    /// The path of the skill in its area.
    pub(super) fn root(&self, place: &SkillPlace) -> Result<ObjectKey, StoreError> {
        let (folder, name) = (place.folder(), &self.name);
        let path = match self.shape {
            Shape::Folder => format!("{folder}/{name}"),
            Shape::File => format!("{folder}/{name}.md"),
        };
        Ok(path.parse()?)
    }

    /// The path of the skill's text.
    pub(super) fn text_path(&self, place: &SkillPlace) -> Result<ObjectKey, StoreError> {
        let root = self.root(place)?;
        match self.shape {
            Shape::Folder => Ok(root.join(SKILL_FILE)?),
            Shape::File => Ok(root),
        }
    }
}

/// The files of a skill, or why they cannot be used together.
enum Contents {
    Whole(BTreeMap<String, Vec<u8>>),
    Flawed(String),
}

impl SkillsCore {
    /// The skills of a place, by name. A folder takes precedence over a file of the same name.
    pub(super) async fn entries(
        &self,
        person: &PersonId,
        places: &[SkillPlace],
    ) -> Result<Vec<Vec<Entry>>, Fault> {
        let wanted = places.iter().map(|place| {
            let key = place.folder().parse().map_err(StoreError::from)?;
            Ok((place, FileLookup::Folder { key, limit: MOST_SKILLS }))
        });
        let wanted = wanted.collect::<Result<Vec<_>, StoreError>>()?;
        let mut all = Vec::with_capacity(places.len());
        for found in places::find(self, person, wanted).await? {
            all.push(match found {
                Ok(FoundObject::Folder(metas)) => named(&metas),
                Ok(FoundObject::Nothing | FoundObject::File(_) | FoundObject::End(_)) => Vec::new(),
                Err(error) => {
                    tracing::warn!(%person, %error, "a folder of skills is left out");
                    Vec::new()
                }
            });
        }
        Ok(all)
    }

    pub(super) async fn all(
        &self,
        person: &PersonId,
        places: &[SkillPlace],
    ) -> Result<Vec<Skill>, Fault> {
        let accepted = self.acceptances(person).await?;
        let (mut skills, mut taken) = (Vec::new(), BTreeSet::new());
        for (place, entries) in places.iter().zip(self.entries(person, places).await?) {
            for entry in entries {
                let Some(mut skill) = self.load(person, place, &entry, &accepted).await? else {
                    continue;
                };
                // Skills of different agents may have the same name, because each agent sees only
                // its own.
                let is_own = matches!(place, SkillPlace::Agent(_));
                if !is_own && !taken.insert(skill.name.clone()) {
                    skill.state = SkillState::Shadowed;
                }
                skills.push(skill);
            }
        }
        Ok(skills)
    }

    /// Whether the text of an agent's own skill came from outside. Skills of the vault are judged
    /// by what their person accepted.
    pub(super) async fn is_foreign(
        &self,
        place: &SkillPlace,
        text: &ObjectKey,
    ) -> Result<bool, StoreError> {
        let SkillPlace::Agent(agent) = place else { return Ok(false) };
        // Onyx writes nothing to a workspace, so all of its content is the owner's.
        if places::workspace(self, place).is_some() {
            return Ok(false);
        }
        let area = Area::Agent(agent.clone());
        let object = match self.files.objects(&area)?.get(text, MOST_BYTES).await {
            Ok(Some(object)) => object,
            Ok(None) | Err(StoreError::Refused(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(self.files.history_of(&area)?.origin(text, &object).await?.taints())
    }

    pub(super) async fn one(
        &self,
        person: &PersonId,
        place: &SkillPlace,
        name: &str,
    ) -> Result<Option<Skill>, Fault> {
        let accepted = self.acceptances(person).await?;
        let entries = self.entries(person, std::slice::from_ref(place)).await?;
        match entries.into_iter().flatten().find(|entry| entry.name == name) {
            Some(entry) => self.load(person, place, &entry, &accepted).await,
            None => Ok(None),
        }
    }

    /// Reads all files of a skill once, so that what is judged is what is shown. `None` for a
    /// folder without a `SKILL.md`.
    async fn load(
        &self,
        person: &PersonId,
        place: &SkillPlace,
        entry: &Entry,
        accepted: &[Acceptance],
    ) -> Result<Option<Skill>, Fault> {
        let objects = places::objects(self, person, place)?;
        let root = entry.root(place)?;
        let contents = match entry.shape {
            Shape::Folder => folder_contents(&*objects, &root).await?,
            Shape::File => file_contents(&*objects, &root).await?,
        };
        let (mut files, mut flaw) = match contents {
            Contents::Whole(files) => (files, None),
            Contents::Flawed(why) => (BTreeMap::new(), Some(why)),
        };
        let hash = hash_of(&files);
        let text = match files.remove(SKILL_FILE).map(String::from_utf8) {
            Some(Ok(text)) => text,
            Some(Err(_)) => {
                flaw = Some(format!("its {SKILL_FILE} is not UTF-8 text"));
                String::new()
            }
            None if flaw.is_some() => String::new(),
            None => return Ok(None),
        };
        if flaw.is_none() && self.is_foreign(place, &entry.text_path(place)?).await? {
            flaw = Some("its text came from outside; rewrite it to make it yours".to_owned());
        }
        let head = match flaw {
            Some(why) => Err(why),
            None => SkillHead::read(&entry.name, &text),
        };
        let accepted = accepted.iter().find(|row| row.name == root.as_str()).cloned();
        let state = match (&head, place, &accepted) {
            (Err(why), ..) => SkillState::Broken(why.clone()),
            (Ok(_), SkillPlace::Agent(_), _) => SkillState::Ready,
            (Ok(_), _, Some(row)) if row.hash == hash => SkillState::Ready,
            (Ok(_), _, Some(_)) => SkillState::Changed,
            (Ok(_), _, None) => SkillState::New,
        };
        Ok(Some(Skill {
            name: entry.name.clone(),
            place: place.clone(),
            path: entry.text_path(place)?.to_string(),
            text,
            head: head.ok(),
            hash,
            files,
            state,
            accepted,
        }))
    }
}

fn named(metas: &[onyx_storage::ObjectMeta]) -> Vec<Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    for meta in metas {
        let last = meta.key.parts().last().unwrap_or_default();
        let (name, shape) = if meta.is_folder {
            (last, Shape::Folder)
        } else if let Some(stem) = last.strip_suffix(".md") {
            (stem, Shape::File)
        } else {
            continue;
        };
        let entry = Entry { name: name.to_owned(), shape };
        if shape == Shape::Folder || !entries.contains_key(name) {
            entries.insert(name.to_owned(), entry);
        }
    }
    entries.into_values().collect()
}

async fn file_contents(objects: &dyn Objects, file: &ObjectKey) -> Result<Contents, StoreError> {
    Ok(match get(objects, file).await? {
        Ok(Some(object)) => {
            Contents::Whole(BTreeMap::from([(SKILL_FILE.to_owned(), object.bytes)]))
        }
        Ok(None) => Contents::Whole(BTreeMap::new()),
        Err(why) => Contents::Flawed(why),
    })
}

async fn folder_contents(objects: &dyn Objects, root: &ObjectKey) -> Result<Contents, StoreError> {
    let (mut files, mut bytes) = (BTreeMap::new(), 0);
    let mut folders = vec![(root.clone(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        let metas = match objects.list(Some(&folder), MOST_FILES + 1).await {
            Err(StoreError::NotFound) => continue,
            listed => listed?,
        };
        for meta in metas {
            if meta.is_folder {
                if depth == DEEPEST {
                    return Ok(Contents::Flawed("its folders are nested too deeply".into()));
                }
                folders.push((meta.key, depth + 1));
                continue;
            }
            bytes += meta.size;
            if bytes > MOST_BYTES || files.len() == MOST_FILES {
                let most = MOST_BYTES / (1024 * 1024);
                let why = format!("it has more than {MOST_FILES} files or {most} MiB");
                return Ok(Contents::Flawed(why));
            }
            let object = match get(objects, &meta.key).await? {
                Ok(Some(object)) => object,
                // The file was removed while the others were read.
                Ok(None) => continue,
                Err(why) => return Ok(Contents::Flawed(why)),
            };
            let name = meta.key.as_str()[root.as_str().len() + 1..].to_owned();
            files.insert(name, object.bytes);
        }
    }
    Ok(Contents::Whole(files))
}

/// Reads a file, or says why it cannot be part of a skill.
async fn get(
    objects: &dyn Objects,
    key: &ObjectKey,
) -> Result<Result<Option<Object>, String>, StoreError> {
    match objects.get(key, MOST_BYTES).await {
        Err(StoreError::Refused(why)) => Ok(Err(why)),
        read => read.map(Ok),
    }
}

/// The hash of names and contents. A single file has the same hash as a folder with only that
/// `SKILL.md`.
pub(super) fn hash_of(files: &BTreeMap<String, Vec<u8>>) -> Hash {
    let parts = files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes.as_slice()]);
    Hash::of_parts(parts)
}
