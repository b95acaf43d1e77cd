//! Keeps the chunk table up to date with the files. The listed files are compared with the table;
//! files that differ are read, and deleted files are removed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt as _, TryStreamExt as _};
use onyx_storage::{
    Files, ObjectKey, ObjectMeta, Objects, SourceKey, SourceRow, Stamp, StoreError,
};
use onyx_types::PersonId;

use crate::KnowledgeError;
use crate::backlog::Backlog;
use crate::files::places::{PERSON_FOLDERS, PlacedFile, area_of, place_of};
use crate::files::reading::{File, FileReader, Reading};
use crate::indexing::{Indexing, RereadScope};

/// How many files, and how much text, are written to the table together. A search waits for at most
/// one such batch.
const FILES_AT_ONCE: usize = 64;
const BYTES_AT_ONCE: u64 = 512 * 1024;
/// How many files of a batch are read at the same time.
const READ_AT_ONCE: usize = 8;
/// If a file was written this shortly before it was read, it may have been written again within the
/// same timestamp.
const DOUBTFUL_MILLIS: i64 = 2_000;
/// The deepest folders that are listed; still deeper ones are a loop or a mistake.
const DEEPEST: usize = 32;

/// The numbers of files that a look found, indexed and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    pub checked: u64,
    pub indexed: u64,
    pub removed: u64,
}

/// A file that differs from what the table holds.
struct ChangedFile {
    meta: ObjectMeta,
    place: PlacedFile,
    before: Option<SourceRow>,
}

/// Brings the chunk table up to date with files.
pub(crate) struct FileIndexer {
    indexing: Arc<Indexing>,
    files: Arc<dyn Files>,
    backlog: Arc<Backlog>,
    /// How many files were indexed one by one, and not while all of them were looked through.
    indexed_singly: AtomicU64,
}

impl FileIndexer {
    pub(crate) fn new(
        indexing: Arc<Indexing>,
        files: Arc<dyn Files>,
        backlog: Arc<Backlog>,
    ) -> Self {
        Self { indexing, files, backlog, indexed_singly: AtomicU64::new(0) }
    }

    /// Indexes the files that are known to have changed. When it returns all of them are indexed,
    /// even if another task began some of them.
    pub(crate) async fn index_waiting(&self) -> Result<(), KnowledgeError> {
        while self.backlog.has_files() {
            let _one_at_a_time = self.indexing.lock().await;
            let Some(taken) = self.backlog.take_file().await else { break };
            self.index_file(&taken.key).await?;
            taken.mark_indexed();
        }
        Ok(())
    }

    /// Looks through the files of a person, or through the shared ones.
    pub(crate) async fn look_through(
        &self,
        person: Option<&PersonId>,
        how: RereadScope,
    ) -> Result<SyncReport, KnowledgeError> {
        let reader = self.reader(person)?;
        let listed = list(&*reader.objects, person).await?;
        let indexed_singly = self.indexed_singly.load(Ordering::Acquire);
        let known = self.indexing.chunks.sources(person).await?;
        let mut known: BTreeMap<String, SourceRow> =
            known.into_iter().map(|row| (row.key.path.clone(), row)).collect();
        let mut report = SyncReport { checked: listed.len() as u64, ..SyncReport::default() };
        self.indexing.add_to_total(listed.len());
        let mut changed = Vec::new();
        for (meta, place) in listed {
            let before = known.remove(meta.key.as_str());
            let unread = how == RereadScope::Changes
                && before.as_ref().is_some_and(|row| is_unchanged(row, &meta, &reader));
            if !unread {
                changed.push(ChangedFile { meta, place, before });
            }
        }
        self.indexing.add_to_done(report.checked - changed.len() as u64);
        let mut changed = changed.into_iter().peekable();
        while changed.peek().is_some() {
            let batch = next_batch(&mut changed);
            let files = batch.len() as u64;
            report.indexed += self.index_batch(person, &reader, batch, how, indexed_singly).await?;
            self.indexing.add_to_done(files);
        }
        // Old files are removed after new ones are written, so that the chunks of a renamed file
        // keep their vectors.
        for gone in known.into_values() {
            let _one_at_a_time = self.indexing.lock().await;
            // The file may have been written and indexed after the files were listed, so it is read
            // once more before it is removed.
            if place_of(&gone.key).is_some() {
                self.index_file(&gone.key).await?;
                let is_there = self.indexing.chunks.source(&gone.key).await?.is_some();
                report.removed += u64::from(!is_there);
            } else {
                self.indexing.chunks.remove(&gone.key).await?;
                report.removed += 1;
            }
        }
        Ok(report)
    }

    async fn index_batch(
        &self,
        person: Option<&PersonId>,
        reader: &FileReader,
        mut batch: Vec<ChangedFile>,
        how: RereadScope,
        indexed_singly: u64,
    ) -> Result<u64, KnowledgeError> {
        let _one_at_a_time = self.indexing.lock().await;
        // A file that a search has indexed meanwhile keeps its chunks, because the search is about
        // to show them.
        if self.indexed_singly.load(Ordering::Acquire) != indexed_singly {
            for ChangedFile { meta, before, .. } in &mut batch {
                let key = SourceKey { person: person.cloned(), path: meta.key.to_string() };
                *before = self.indexing.chunks.source(&key).await?;
            }
        }
        let readings = batch.into_iter().map(|ChangedFile { meta, place, before }| async move {
            let key = SourceKey { person: person.cloned(), path: meta.key.to_string() };
            let listed = Some(stamp(&meta));
            reader.read(File { key, path: &meta.key, place, listed, before, how }).await
        });
        let readings = futures::stream::iter(readings).buffered(READ_AT_ONCE);
        self.write(readings.try_collect().await?).await
    }

    fn reader(&self, person: Option<&PersonId>) -> Result<FileReader, KnowledgeError> {
        Ok(FileReader {
            objects: self.files.objects(&area_of(person))?,
            history: person.map(|person| self.files.history(person)).transpose()?,
            ruler: self.indexing.ruler(),
            chunking: self.indexing.chunking,
            clock: Arc::clone(&self.indexing.clock),
        })
    }

    /// Indexes one file that is known to have changed. The caller must hold the lock of indexing.
    async fn index_file(&self, key: &SourceKey) -> Result<(), KnowledgeError> {
        let Some(place) = place_of(key) else { return Ok(()) };
        let Ok(path) = key.path.parse::<ObjectKey>() else { return Ok(()) };
        let before = self.indexing.chunks.source(key).await?;
        let reader = self.reader(key.person.as_ref())?;
        let key = key.clone();
        let how = RereadScope::Changes;
        let file = File { key, path: &path, place, listed: None, before, how };
        let reading = reader.read(file).await?;
        self.indexed_singly.fetch_add(1, Ordering::AcqRel);
        self.write(vec![reading]).await.map(drop)
    }

    /// Writes what was read to the table, with all new contents in one transaction. Returns how
    /// many files had changed.
    async fn write(&self, readings: Vec<Reading>) -> Result<u64, KnowledgeError> {
        let chunks = &self.indexing.chunks;
        let (mut new, mut gone) = (Vec::with_capacity(readings.len()), Vec::new());
        let mut changes = 0;
        for reading in readings {
            match reading {
                Reading::Nothing => {}
                Reading::Gone(key) => {
                    gone.push(key);
                    changes += 1;
                }
                Reading::Same { key, stamp, at } => chunks.touch(&key, stamp, at).await?,
                Reading::New(row, rows) => {
                    new.push((row, rows));
                    changes += 1;
                }
                Reading::Again(row, rows) => new.push((row, rows)),
            }
        }
        if !new.is_empty() {
            chunks.replace_all(new).await?;
        }
        // Old files are removed after new ones are written, so that the chunks of a renamed file
        // keep their vectors.
        for key in gone {
            chunks.remove(&key).await?;
        }
        Ok(changes)
    }
}

fn is_unchanged(row: &SourceRow, meta: &ObjectMeta, reader: &FileReader) -> bool {
    let age = row.indexed_at.as_millis() - meta.modified.as_millis();
    row.stamp == stamp(meta) && age > DOUBTFUL_MILLIS && reader.is_well_cut(row)
}

fn stamp(meta: &ObjectMeta) -> Stamp {
    Stamp { size: meta.size, modified: meta.modified }
}

/// The next files that are written together. There is at least one, however large it is.
fn next_batch(
    changed: &mut std::iter::Peekable<impl Iterator<Item = ChangedFile>>,
) -> Vec<ChangedFile> {
    let mut batch: Vec<ChangedFile> = changed.next().into_iter().collect();
    let mut bytes = batch.iter().map(|first| first.meta.size).sum::<u64>();
    while batch.len() < FILES_AT_ONCE
        && let Some(next) = changed.next_if(|next| bytes + next.meta.size <= BYTES_AT_ONCE)
    {
        bytes += next.meta.size;
        batch.push(next);
    }
    batch
}

/// Every file that is to be indexed, with its kind and scope.
async fn list(
    objects: &dyn Objects,
    person: Option<&PersonId>,
) -> Result<Vec<(ObjectMeta, PlacedFile)>, StoreError> {
    let mut folders: Vec<(Option<ObjectKey>, usize)> = match person {
        Some(_) => PERSON_FOLDERS.iter().map(|name| (name.parse().ok(), 1)).collect(),
        None => vec![(None, 0)],
    };
    let mut files = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        let children = match objects.list(folder.as_ref(), usize::MAX).await {
            // The folder does not exist yet, or was removed just now.
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
