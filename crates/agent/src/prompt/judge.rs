//! Whether a file may stand among the instructions of a prompt. What did not come from the person, or from an agent that
//! had read nothing foreign, is evidence: it travels fenced, and waits for the person to accept it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::{Area, Files, Found, Object, ObjectKey, StoreError, declared_origin};
use onyx_types::{Hash, Origin, Timestamp};

use super::snapshot::{FileText, MAX_FILE, bounded};
use super::untrusted::UntrustedPiece;

/// Files whose verdicts are remembered; beyond it all are forgotten.
const MOST_KNOWN: usize = 1_024;

/// A file that steers agents and may not: evidence until the person accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignFile {
    /// The person's folder, or the agent's.
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

/// Remembers what it found, so that a run asks nobody about files that are as they were.
pub(super) struct Judge {
    files: Arc<dyn Files>,
    known: Mutex<HashMap<(Area, ObjectKey), Known>>,
}

#[derive(Clone, Copy, PartialEq)]
struct Known {
    changed: Timestamp,
    bytes: u64,
    /// Of what is known about origins.
    version: u64,
    origin: Origin,
}

impl Judge {
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        Self { files, known: Mutex::default() }
    }

    /// The text, if it may be obeyed; else it goes to the foreign ones.
    pub(super) async fn admit(
        &self,
        area: &Area,
        path: &str,
        found: Found,
        foreign: &mut Vec<ForeignFile>,
    ) -> Result<Option<FileText>, StoreError> {
        let Some((changed, bytes)) = seen(&found) else { return Ok(None) };
        let (area, path) = owner_of(area, path)?;
        let origin = self.origin(&area, &path, &found, (changed, bytes)).await?;
        let text = super::files::text(found);
        let file = path.as_str().rsplit('/').next().unwrap_or_default();
        if !origin.taints() || onyx_types::off("judge") || onyx_types::off(&format!("judge.{file}")) {
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
        found: &Found,
        (changed, bytes): (Timestamp, u64),
    ) -> Result<Origin, StoreError> {
        let version = self.files.origins().version(&area.path()).await?;
        let key = (area.clone(), path.clone());
        let is_same = |known: &Known| {
            (known.changed, known.bytes, known.version) == (changed, bytes, version)
        };
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
        known.insert(key, Known { changed, bytes, version, origin });
        Ok(origin)
    }

    async fn whole(
        &self,
        area: &Area,
        path: &ObjectKey,
        found: &Found,
    ) -> Result<Option<Object>, StoreError> {
        match found {
            Found::File(object) => Ok(Some(object.clone())),
            Found::End(end) if end.before == 0 => Ok(Some(Object {
                hash: Hash::of(&end.bytes),
                bytes: end.bytes.clone(),
                modified: end.changed,
                changed: end.changed,
            })),
            Found::End(_) => self.files.objects(area)?.get(path, u64::MAX).await,
            Found::Nothing | Found::Folder(_) => Ok(None),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Area, ObjectKey), Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it was last changed, and how long it is.
fn seen(found: &Found) -> Option<(Timestamp, u64)> {
    match found {
        Found::File(object) => Some((object.changed, object.bytes.len() as u64)),
        Found::End(end) => Some((end.changed, end.before + end.bytes.len() as u64)),
        Found::Nothing | Found::Folder(_) => None,
    }
}

/// Whose file it is, and its path there, as the history knows it.
fn owner_of(area: &Area, path: &str) -> Result<(Area, ObjectKey), StoreError> {
    Ok(match area {
        Area::Memory(person, agent) => {
            (Area::Person(person.clone()), format!("memory/{agent}/{path}").parse()?)
        }
        Area::Vault(person) => (Area::Person(person.clone()), format!("vault/{path}").parse()?),
        Area::Agent(_) | Area::Person(_) | Area::Shared => (area.clone(), path.parse()?),
    })
}
