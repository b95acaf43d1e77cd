//! Decides whether a file may be among the instructions of a prompt. Content that is neither from
//! the person nor from an agent that had read nothing foreign is evidence: it is shown in a fence
//! until the person accepts it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::{Area, Files, FoundObject, Object, ObjectKey, StoreError, declared_origin};
use onyx_types::{Hash, Origin, Timestamp};

use super::snapshot::{FileText, MAX_FILE, bounded};
use super::untrusted::UntrustedPiece;

/// How many judgements are cached; when there are more, all are dropped.
const MOST_KNOWN: usize = 1_024;

/// A foreign file that would give agents instructions. It counts as evidence until the person
/// accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignFile {
    /// The person's area, or the agent's.
    pub(crate) area: Area,
    pub(crate) path: ObjectKey,
    text: FileText,
}

impl ForeignFile {
    pub(super) fn piece(&self) -> UntrustedPiece {
        UntrustedPiece {
            scope: "file, not accepted by the person".to_owned(),
            source: self.path.to_string(),
            lines: None,
            text: bounded(&self.text.text, self.text.before, MAX_FILE).into_owned(),
            cited: None,
        }
    }
}

/// Judges files and caches the results, so that a run asks no store about files that have not
/// changed.
pub(super) struct Judge {
    files: Arc<dyn Files>,
    known: Mutex<HashMap<(Area, ObjectKey), JudgedFile>>,
}

/// An area and the version of its origins at the time when its files were read.
#[derive(Clone, Copy)]
pub(super) struct SeenArea<'a> {
    area: &'a Area,
    version: u64,
}

#[derive(Clone, Copy)]
struct JudgedFile {
    seen: SeenFile,
    origin: Origin,
}

/// What a judgement depends on. While this is unchanged, the judgement holds.
#[derive(Clone, Copy, PartialEq)]
struct SeenFile {
    changed: Timestamp,
    bytes: u64,
    /// The version of the area's origins.
    version: u64,
}

impl Judge {
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        Self { files, known: Mutex::default() }
    }

    /// Reads the versions of the areas' origins, which `admit` needs.
    pub(super) async fn look_at<'a, const N: usize>(
        &self,
        areas: [&'a Area; N],
    ) -> Result<[SeenArea<'a>; N], StoreError> {
        let owners = areas.map(|area| owner(area).path());
        let mut versions = self.files.origins().versions(&owners).await?.into_iter();
        Ok(areas.map(|area| SeenArea { area, version: versions.next().unwrap_or_default() }))
    }

    /// Returns the text if agents may follow it. A foreign text is added to `foreign` instead.
    pub(super) async fn admit(
        &self,
        SeenArea { area, version }: SeenArea<'_>,
        path: &str,
        found: FoundObject,
        foreign: &mut Vec<ForeignFile>,
    ) -> Result<Option<FileText>, StoreError> {
        let Some((changed, bytes)) = stamp_of(&found) else { return Ok(None) };
        let (area, path) = owner_of(area, path)?;
        let seen = SeenFile { changed, bytes, version };
        let origin = self.origin(&area, &path, &found, seen).await?;
        let text = super::files::text(found);
        if !origin.taints() {
            return Ok(text);
        }
        if let Some(text) = text.filter(|text| !text.text.trim().is_empty()) {
            foreign.push(ForeignFile { area, path, text });
        }
        Ok(None)
    }

    async fn origin(
        &self,
        area: &Area,
        path: &ObjectKey,
        found: &FoundObject,
        seen: SeenFile,
    ) -> Result<Origin, StoreError> {
        let key = (area.clone(), path.clone());
        let is_same = |known: &JudgedFile| known.seen == seen;
        if let Some(known) = self.lock().get(&key).copied().filter(is_same) {
            return Ok(known.origin);
        }
        let Some(object) = self.whole(area, path, found).await? else { return Ok(Origin::Person) };
        let origin = self.files.history_of(area)?.origin(path, &object).await?;
        let declared = std::str::from_utf8(&object.bytes).map_or(Origin::Person, declared_origin);
        let origin = origin.max(declared);
        let mut known = self.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, JudgedFile { seen, origin });
        Ok(origin)
    }

    async fn whole(
        &self,
        area: &Area,
        path: &ObjectKey,
        found: &FoundObject,
    ) -> Result<Option<Object>, StoreError> {
        match found {
            FoundObject::File(object) => Ok(Some(object.clone())),
            FoundObject::End(end) if end.before == 0 => Ok(Some(Object {
                hash: Hash::of(&end.bytes),
                bytes: end.bytes.clone(),
                modified: end.changed,
                changed: end.changed,
            })),
            FoundObject::End(_) => self.files.objects(area)?.get(path, u64::MAX).await,
            FoundObject::Nothing | FoundObject::Folder(_) => Ok(None),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Area, ObjectKey), JudgedFile>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When the file was last changed, and its length.
fn stamp_of(found: &FoundObject) -> Option<(Timestamp, u64)> {
    match found {
        FoundObject::File(object) => Some((object.changed, object.bytes.len() as u64)),
        FoundObject::End(end) => Some((end.changed, end.before + end.bytes.len() as u64)),
        FoundObject::Nothing | FoundObject::Folder(_) => None,
    }
}

/// The area by which the history knows the files of this area.
fn owner(area: &Area) -> Area {
    match area {
        Area::Memory(person, _) | Area::Vault(person) => Area::Person(person.clone()),
        Area::Agent(_) | Area::Person(_) | Area::Shared => area.clone(),
    }
}

/// The area and path by which the history knows a file.
fn owner_of(area: &Area, path: &str) -> Result<(Area, ObjectKey), StoreError> {
    let path = match area {
        Area::Memory(_, agent) => format!("memory/{agent}/{path}").parse()?,
        Area::Vault(_) => format!("vault/{path}").parse()?,
        Area::Agent(_) | Area::Person(_) | Area::Shared => path.parse()?,
    };
    Ok((owner(area), path))
}
