//! Keeps the chunk table in step with the files: what is listed is compared, what differs is read,
//! what is gone is dropped.

use std::collections::BTreeMap;

use onyx_storage::{
    ChunkRow, Object, ObjectKey, ObjectMeta, Objects, SourceKey, SourceKind, SourceRow, Stamp,
    StoreError, declared_origin,
};
use onyx_types::{Hash, Origin, PersonId};

use crate::chunk::is_date;
use crate::places::{PERSON_FOLDERS, Place, area_of, is_binary_name, place_of};
use crate::status::Progress;
use crate::{Document, Index, KnowledgeError, Ruler, indexed_text};

/// Longer files are no notes; reading them would take the memory of many.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;
/// A file written this shortly before it was read may have been written again in the same moment.
const DOUBTFUL_MILLIS: i64 = 2_000;
/// Deeper folders are a loop or a mistake.
const DEEPEST: usize = 32;
/// A line of a daily log with this was written by an agent that had read foreign text.
const TAINT_MARK: &str = "<!-- agent_tainted -->";

/// What looking through files came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    pub checked: u64,
    pub indexed: u64,
    pub removed: u64,
}

/// A file and what it is.
struct File<'a> {
    objects: &'a dyn Objects,
    key: &'a SourceKey,
    path: &'a ObjectKey,
    place: Place,
    ruler: &'a Ruler,
}

/// How thoroughly a file is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// By size and time; read only where these differ.
    Stamp,
    /// By what it holds.
    Content,
}

impl Index {
    /// Reads every file anew, whatever its time says, and brings everything up to date.
    pub async fn rebuild(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.look_through(Comparison::Content).await?;
        self.follow_to_the_end().await?;
        Ok(report)
    }

    /// Looks through all files.
    pub async fn sync(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.look_through(Comparison::Stamp).await?;
        self.follow_to_the_end().await?;
        Ok(report)
    }

    /// Files that are known to have changed.
    pub(crate) async fn settle(&self) -> Result<(), KnowledgeError> {
        loop {
            let Some(key) = self.pending().files.pop_first() else { break };
            if let Err(error) = self.file_again(&key).await {
                self.pending().files.insert(key);
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) async fn look_through_pending(&self) -> Result<(), KnowledgeError> {
        let (everything, people) = {
            let mut pending = self.pending();
            (std::mem::take(&mut pending.everything), std::mem::take(&mut pending.people))
        };
        let outcome = match everything {
            true => self.look_through(Comparison::Stamp).await.map(drop),
            false => self.look_through_people(&people.into_iter().collect::<Vec<_>>()).await,
        };
        if outcome.is_err() && everything {
            self.pending().everything = true;
        }
        outcome
    }

    async fn look_through_people(&self, people: &[PersonId]) -> Result<(), KnowledgeError> {
        for person in people {
            let _one_at_a_time = self.inner.looking.lock().await;
            self.look_through_files(Some(person), Comparison::Stamp).await?;
        }
        Ok(())
    }

    async fn look_through(&self, how: Comparison) -> Result<SyncReport, KnowledgeError> {
        let _one_at_a_time = self.inner.looking.lock().await;
        let epoch = self.inner.store.chunks.epoch().await?;
        let mut report = self.look_through_files(None, how).await?;
        for person in self.inner.store.files.people()? {
            let of_person = self.look_through_files(Some(&person), how).await?;
            report.checked += of_person.checked;
            report.indexed += of_person.indexed;
            report.removed += of_person.removed;
            self.look_through_sessions(&person).await?;
        }
        let mut state = self.state();
        state.complete = true;
        state.epoch = Some(epoch);
        state.progress = None;
        state.synced_at = Some(self.inner.clock.wall());
        Ok(report)
    }

    async fn look_through_files(
        &self,
        person: Option<&PersonId>,
        how: Comparison,
    ) -> Result<SyncReport, KnowledgeError> {
        let objects = self.inner.store.files.objects(&area_of(person))?;
        let listed = list(&*objects, person).await?;
        let known = self.inner.store.chunks.sources(person).await?;
        let mut known: BTreeMap<String, SourceRow> =
            known.into_iter().map(|row| (row.key.path.clone(), row)).collect();
        let mut report = SyncReport { checked: listed.len() as u64, ..SyncReport::default() };
        let ruler = self.ruler();
        self.begin_progress(listed.len());
        for (meta, place) in listed {
            let before = known.remove(meta.key.as_str());
            let stamp = Stamp { size: meta.size, modified: meta.modified };
            let unread = how == Comparison::Stamp
                && before.as_ref().is_some_and(|row| self.is_unchanged(row, stamp, &ruler));
            if !unread {
                let key = SourceKey { person: person.cloned(), path: meta.key.to_string() };
                let _filing = self.inner.filing.lock().await;
                let path = &meta.key;
                let file = File { objects: &*objects, key: &key, path, place, ruler: &ruler };
                report.indexed += u64::from(self.file(file, Some(stamp), before).await?);
            }
            self.state().progress.iter_mut().for_each(|progress| progress.done += 1);
        }
        // After the new ones, so that a renamed file's chunks pass on their vectors.
        for gone in known.into_values() {
            let _filing = self.inner.filing.lock().await;
            self.inner.store.chunks.remove(&gone.key).await?;
            report.removed += 1;
        }
        Ok(report)
    }

    fn begin_progress(&self, files: usize) {
        let mut state = self.state();
        let progress = state.progress.get_or_insert_default();
        progress.total += files as u64;
    }

    pub fn progress(&self) -> Option<Progress> {
        self.state().progress
    }

    fn is_unchanged(&self, row: &SourceRow, stamp: Stamp, ruler: &Ruler) -> bool {
        let age = row.indexed_at.as_millis() - stamp.modified.as_millis();
        row.stamp == stamp && age > DOUBTFUL_MILLIS && self.is_well_cut(row, ruler)
    }

    fn is_well_cut(&self, row: &SourceRow, ruler: &Ruler) -> bool {
        ruler.is_met_by(&row.chunking, &self.inner.settings.chunking)
    }

    /// One file that is known to have changed.
    async fn file_again(&self, key: &SourceKey) -> Result<(), KnowledgeError> {
        let Some(place) = place_of(key) else { return Ok(()) };
        let Ok(path) = key.path.parse::<ObjectKey>() else { return Ok(()) };
        let _filing = self.inner.filing.lock().await;
        let before = self.inner.store.chunks.source(key).await?;
        let objects = self.inner.store.files.objects(&area_of(key.person.as_ref()))?;
        let ruler = self.ruler();
        let file = File { objects: &*objects, key, path: &path, place, ruler: &ruler };
        self.file(file, None, before).await.map(drop)
    }

    /// Reads a file and files what it holds; was anything new?
    async fn file(
        &self,
        File { objects, key, path, place, ruler }: File<'_>,
        listed: Option<Stamp>,
        before: Option<SourceRow>,
    ) -> Result<bool, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        let now = self.inner.clock.wall();
        let read = match is_binary_name(&key.path) {
            true => Err(StoreError::Refused("files of this kind hold no text".to_owned())),
            false => objects.get(path, LARGEST_FILE).await,
        };
        let object = match read {
            Ok(Some(object)) => object,
            Ok(None) | Err(StoreError::NotFound) => {
                if before.is_some() {
                    chunks.remove(key).await?;
                }
                return Ok(before.is_some());
            }
            // A folder that has taken the place of a file, a link, a file too long: said, not lost.
            Err(StoreError::Refused(why)) => {
                let stamp = match listed {
                    Some(stamp) => stamp,
                    None => stamp_of(objects, path).await?,
                };
                let row = self.row(key, place, stamp, Hash::ZERO, ruler);
                return self.file_problem(row, before, why).await;
            }
            Err(error) => return Err(error.into()),
        };
        let stamp = Stamp { size: object.bytes.len() as u64, modified: object.modified };
        let mut row = self.row(key, place, stamp, object.hash, ruler);
        let same = |before: &SourceRow| {
            (before.checksum, before.kind, &before.scope) == (row.checksum, row.kind, &row.scope)
                && self.is_well_cut(before, ruler)
        };
        if before.as_ref().is_some_and(same) {
            chunks.touch(key, stamp, now).await?;
            return Ok(false);
        }
        row.origin = self.origin_of(&row, path).await?;
        match text_of(&object) {
            Ok(text) => {
                row.origin = row.origin.max(declared_origin(text));
                let rows = self.cut(&mut row, text, ruler);
                chunks.replace(&row, &rows).await?;
                Ok(true)
            }
            Err(why) => self.file_problem(row, before, why).await,
        }
    }

    fn row(
        &self,
        key: &SourceKey,
        place: Place,
        stamp: Stamp,
        checksum: Hash,
        ruler: &Ruler,
    ) -> SourceRow {
        let name = key.path.rsplit('/').next().unwrap_or(&key.path);
        SourceRow {
            key: key.clone(),
            kind: place.kind,
            scope: place.scope,
            origin: Origin::Person,
            title: name.strip_suffix(".md").unwrap_or(name).to_owned(),
            checksum,
            stamp,
            chunking: ruler.fingerprint(&self.inner.settings.chunking),
            problem: None,
            indexed_at: self.inner.clock.wall(),
        }
    }

    async fn file_problem(
        &self,
        mut row: SourceRow,
        before: Option<SourceRow>,
        why: String,
    ) -> Result<bool, KnowledgeError> {
        let known = before.is_some_and(|before| before.problem.as_ref() == Some(&why));
        row.problem = Some(why);
        match known {
            true => self.inner.store.chunks.touch(&row.key, row.stamp, row.indexed_at).await?,
            false => self.inner.store.chunks.replace(&row, &[]).await.map(drop)?,
        }
        Ok(!known)
    }

    /// Who wrote what the file holds. What lies among the sources came from outside.
    async fn origin_of(&self, row: &SourceRow, path: &ObjectKey) -> Result<Origin, KnowledgeError> {
        if row.kind == SourceKind::Source {
            return Ok(Origin::External);
        }
        let Some(person) = &row.key.person else { return Ok(Origin::Person) };
        let history = self.inner.store.files.history(person)?;
        Ok(history.provenance(path, row.checksum).await?)
    }

    fn cut(&self, row: &mut SourceRow, text: &str, ruler: &Ruler) -> Vec<ChunkRow> {
        let document = Document::read(text, &self.inner.settings.chunking, ruler);
        let date = document.date.or_else(|| is_date(&row.title).then(|| row.title.clone()));
        let name = std::mem::take(&mut row.title);
        row.title = match (row.kind, document.title) {
            (SourceKind::Memory | SourceKind::Daily, _) | (_, None) => name,
            (_, Some(title)) => title,
        };
        if let Some(date) = date.filter(|date| !row.title.contains(date.as_str())) {
            row.title = format!("{} ({date})", row.title);
        }
        let chunk = |piece: crate::Piece| {
            let tainted = row.kind == SourceKind::Daily && piece.text.contains(TAINT_MARK);
            let origin = if tainted { row.origin.max(Origin::AgentTainted) } else { row.origin };
            let indexed = indexed_text(&row.title, &piece.heading, &piece.text);
            ChunkRow {
                start_line: piece.start_line,
                end_line: piece.end_line,
                heading: piece.heading,
                origin,
                text: piece.text,
                hash: Hash::of(indexed.as_bytes()),
            }
        };
        document.pieces.into_iter().map(chunk).collect()
    }
}

fn text_of(object: &Object) -> Result<&str, String> {
    let bytes = &object.bytes;
    if bytes.iter().take(8 * 1024).any(|byte| *byte == 0) {
        return Err("it is binary, not text".to_owned());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 text (byte {})", error.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// How a file looks that cannot be read.
async fn stamp_of(objects: &dyn Objects, path: &ObjectKey) -> Result<Stamp, StoreError> {
    let folder = path.as_str().rsplit_once('/').and_then(|(folder, _)| folder.parse().ok());
    let listed = match objects.list(folder.as_ref(), usize::MAX).await {
        Ok(listed) => listed,
        Err(StoreError::NotFound) => Vec::new(),
        Err(error) => return Err(error),
    };
    let found = listed.into_iter().find(|meta| meta.key == *path);
    let unknown = Stamp { size: 0, modified: onyx_types::Timestamp::from_millis(0) };
    Ok(found.map_or(unknown, |meta| Stamp { size: meta.size, modified: meta.modified }))
}

/// Every file that is for searches, with what it is.
async fn list(
    objects: &dyn Objects,
    person: Option<&PersonId>,
) -> Result<Vec<(ObjectMeta, Place)>, StoreError> {
    let mut folders: Vec<(Option<ObjectKey>, usize)> = match person {
        Some(_) => PERSON_FOLDERS.iter().map(|name| (name.parse().ok(), 1)).collect(),
        None => vec![(None, 0)],
    };
    let mut files = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        let children = match objects.list(folder.as_ref(), usize::MAX).await {
            // Nobody has made it yet, or somebody has just removed it.
            Err(StoreError::NotFound) => continue,
            children => children?,
        };
        for child in children {
            let name = child.key.as_str().rsplit('/').next().unwrap_or_default();
            if child.is_folder {
                if depth < DEEPEST && !name.starts_with('.') {
                    folders.push((Some(child.key), depth + 1));
                }
                continue;
            }
            let key = SourceKey { person: person.cloned(), path: child.key.to_string() };
            if let Some(place) = place_of(&key) {
                files.push((child, place));
            }
        }
    }
    Ok(files)
}
