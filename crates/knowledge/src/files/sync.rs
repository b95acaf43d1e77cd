//! Keeps the chunk table in step with the files: what is listed is compared, what differs is read,
//! what is gone is dropped.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use futures::{StreamExt as _, TryStreamExt as _};
use onyx_storage::{ObjectKey, ObjectMeta, Objects, SourceKey, SourceRow, Stamp, StoreError};
use onyx_types::PersonId;

use crate::files::filing::{File, Owner};
use crate::files::places::{PERSON_FOLDERS, PlacedFile, area_of, place_of};
use crate::status::Progress;
use crate::{Index, KnowledgeError, Ruler};

/// Files that are filed together, and how much text that may be: a search waits for no more.
const FILES_AT_ONCE: usize = 64;
const BYTES_AT_ONCE: u64 = 512 * 1024;
/// Of these, as many are read at a time.
const READ_AT_ONCE: usize = 8;
/// A file written this shortly before it was read may have been written again in the same moment.
const DOUBTFUL_MILLIS: i64 = 2_000;
/// Deeper folders are a loop or a mistake.
const DEEPEST: usize = 32;

/// What looking through files came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    pub checked: u64,
    pub indexed: u64,
    pub removed: u64,
}

/// A file that is to be read, and what is known of it.
struct Changed {
    meta: ObjectMeta,
    place: PlacedFile,
    before: Option<SourceRow>,
}

/// What is read of what was indexed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// What differs.
    Changes,
    /// Everything, and nothing that the index holds is taken for true.
    Anew,
}

/// While files are looked through; whichever way that ends, nobody is told of it any more.
struct Underway<'a>(&'a Index);

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.state().progress = None;
    }
}

/// A file that is being filed. It waits to be filed again unless it was: the caller may have failed,
/// or gone away in the middle.
struct TakenFile<'a> {
    index: &'a Index,
    key: SourceKey,
}

impl<'a> TakenFile<'a> {
    fn first(index: &'a Index) -> Option<Self> {
        let mut pending = index.pending();
        let key = pending.files.pop_first()?;
        pending.file = Some(key.clone());
        Some(Self { index, key })
    }

    fn filed(self) {
        self.index.pending().file = None;
    }
}

impl Drop for TakenFile<'_> {
    fn drop(&mut self) {
        let mut pending = self.index.pending();
        let unfiled = pending.file.take();
        pending.files.extend(unfiled);
    }
}

impl Index {
    /// Reads and cuts every file and conversation anew, whatever the index says of it, a few at a
    /// time: what it held serves until then. Vectors of what says the same are kept.
    pub async fn rebuild(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.look_through(Look::Anew).await?;
        if let Err(error) = self.follow_to_the_end().await {
            tracing::warn!(%error, "the text index cannot be mended: it is made anew");
            self.forget_text().await?;
            self.follow_to_the_end().await?;
        }
        Ok(report)
    }

    /// Looks through all files.
    pub async fn sync(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.look_through(Look::Changes).await?;
        self.follow_to_the_end().await?;
        Ok(report)
    }

    /// Files that are known to have changed. When it returns all of them are filed, whoever has
    /// begun that.
    pub(crate) async fn settle(&self) -> Result<(), KnowledgeError> {
        while self.pending().has_files() {
            let _filing = self.inner.filing.lock().await;
            let Some(taken) = TakenFile::first(self) else { break };
            self.pause("index.file").await;
            self.file_again(&taken.key).await?;
            taken.filed();
        }
        Ok(())
    }

    /// What is known to need a look. Taken under the lock: whoever finds nothing to do here can be
    /// sure that the look of another is over.
    pub(crate) async fn look_through_pending(&self) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.inner.looking.lock().await;
        let (everything, people) = {
            let mut pending = self.pending();
            (std::mem::take(&mut pending.everything), std::mem::take(&mut pending.people))
        };
        self.pause("index.look").await;
        if everything {
            let outcome = self.look_through_all(Look::Changes).await.map(drop);
            self.pending().everything |= outcome.is_err();
            return outcome;
        }
        let mut outcome = Ok(());
        for person in people {
            if let Err(error) = self.look_through_person(&person).await {
                // Tried again with the next look; the others are not kept waiting for it.
                self.pending().people.insert(person);
                outcome = Err(error);
            }
        }
        outcome
    }

    async fn look_through_person(&self, person: &PersonId) -> Result<(), KnowledgeError> {
        let _underway = Underway(self);
        self.look_through_files(Some(person), Look::Changes).await.map(drop)
    }

    async fn look_through(&self, how: Look) -> Result<SyncReport, KnowledgeError> {
        let _one_at_a_time = self.inner.looking.lock().await;
        self.look_through_all(how).await
    }

    async fn look_through_all(&self, how: Look) -> Result<SyncReport, KnowledgeError> {
        let _underway = Underway(self);
        let epoch = self.inner.store.chunks.epoch().await?;
        let mut report = self.look_through_files(None, how).await?;
        let people = self.inner.store.files.people().await?;
        for person in &people {
            let of_person = self.look_through_files(Some(person), how).await?;
            report.checked += of_person.checked;
            report.indexed += of_person.indexed;
            report.removed += of_person.removed;
        }
        self.look_through_sessions(how).await?;
        self.note_looked(people);
        let mut state = self.state();
        state.complete = true;
        state.epoch = Some(epoch);
        state.synced_at = Some(self.inner.clock.wall());
        Ok(report)
    }

    async fn look_through_files(
        &self,
        person: Option<&PersonId>,
        how: Look,
    ) -> Result<SyncReport, KnowledgeError> {
        let whose = self.owner(person)?;
        let listed = list(&*whose.objects, person).await?;
        let filed_singly = self.inner.filed_singly.load(Ordering::Acquire);
        let known = self.inner.store.chunks.sources(person).await?;
        let mut known: BTreeMap<String, SourceRow> =
            known.into_iter().map(|row| (row.key.path.clone(), row)).collect();
        let mut report = SyncReport { checked: listed.len() as u64, ..SyncReport::default() };
        self.begin_progress(listed.len());
        let mut changed = Vec::new();
        for (meta, place) in listed {
            let before = known.remove(meta.key.as_str());
            let unread = how == Look::Changes
                && before.as_ref().is_some_and(|row| self.is_unchanged(row, &meta, &whose.ruler));
            if !unread {
                changed.push(Changed { meta, place, before });
            }
        }
        self.progressed(report.checked - changed.len() as u64);
        let mut changed = changed.into_iter().peekable();
        while changed.peek().is_some() {
            let batch = next_batch(&mut changed);
            let files = batch.len() as u64;
            report.indexed += self.file_batch(person, &whose, batch, how, filed_singly).await?;
            self.progressed(files);
        }
        // After the new ones, so that a renamed file's chunks pass on their vectors.
        for gone in known.into_values() {
            let _filing = self.inner.filing.lock().await;
            // It may have been written and filed after the files were listed, so it is looked for
            // once more before it is taken out.
            if place_of(&gone.key).is_some() {
                self.file_again(&gone.key).await?;
                let is_there = self.inner.store.chunks.source(&gone.key).await?.is_some();
                report.removed += u64::from(!is_there);
            } else {
                self.inner.store.chunks.remove(&gone.key).await?;
                report.removed += 1;
            }
        }
        Ok(report)
    }

    async fn file_batch(
        &self,
        person: Option<&PersonId>,
        whose: &Owner,
        mut batch: Vec<Changed>,
        how: Look,
        filed_singly: u64,
    ) -> Result<u64, KnowledgeError> {
        let _filing = self.inner.filing.lock().await;
        // A file that a search has filed meanwhile keeps its chunks: whoever is about to show them
        // would find them gone.
        if self.inner.filed_singly.load(Ordering::Acquire) != filed_singly {
            for Changed { meta, before, .. } in &mut batch {
                let key = SourceKey { person: person.cloned(), path: meta.key.to_string() };
                *before = self.inner.store.chunks.source(&key).await?;
            }
        }
        let readings = batch.into_iter().map(|Changed { meta, place, before }| async move {
            let key = SourceKey { person: person.cloned(), path: meta.key.to_string() };
            let listed = Some(stamp(&meta));
            self.read(File { whose, key, path: &meta.key, place, listed, before, how }).await
        });
        let readings = futures::stream::iter(readings).buffered(READ_AT_ONCE);
        self.file(readings.try_collect().await?).await
    }

    fn owner(&self, person: Option<&PersonId>) -> Result<Owner, KnowledgeError> {
        let files = &self.inner.store.files;
        Ok(Owner {
            objects: files.objects(&area_of(person))?,
            history: person.map(|person| files.history(person)).transpose()?,
            ruler: self.ruler(),
        })
    }

    pub(crate) fn progressed(&self, files: u64) {
        self.state().progress.iter_mut().for_each(|progress| progress.done += files);
    }

    pub(crate) fn begin_progress(&self, files: usize) {
        let mut state = self.state();
        let progress = state.progress.get_or_insert_default();
        progress.total += files as u64;
    }

    pub fn progress(&self) -> Option<Progress> {
        self.state().progress
    }

    fn is_unchanged(&self, row: &SourceRow, meta: &ObjectMeta, ruler: &Ruler) -> bool {
        let age = row.indexed_at.as_millis() - meta.modified.as_millis();
        row.stamp == stamp(meta) && age > DOUBTFUL_MILLIS && self.is_well_cut(row, ruler)
    }

    /// One file that is known to have changed. The caller holds the lock of filing.
    async fn file_again(&self, key: &SourceKey) -> Result<(), KnowledgeError> {
        let Some(place) = place_of(key) else { return Ok(()) };
        let Ok(path) = key.path.parse::<ObjectKey>() else { return Ok(()) };
        let before = self.inner.store.chunks.source(key).await?;
        let whose = self.owner(key.person.as_ref())?;
        let key = key.clone();
        let how = Look::Changes;
        let file = File { whose: &whose, key, path: &path, place, listed: None, before, how };
        let reading = self.read(file).await?;
        self.inner.filed_singly.fetch_add(1, Ordering::AcqRel);
        self.file(vec![reading]).await.map(drop)
    }
}

fn stamp(meta: &ObjectMeta) -> Stamp {
    Stamp { size: meta.size, modified: meta.modified }
}

/// The next files, as many as are filed together; one at least.
fn next_batch(changed: &mut std::iter::Peekable<impl Iterator<Item = Changed>>) -> Vec<Changed> {
    let mut batch: Vec<Changed> = changed.next().into_iter().collect();
    let mut bytes = batch.iter().map(|first| first.meta.size).sum::<u64>();
    while batch.len() < FILES_AT_ONCE
        && let Some(next) = changed.next_if(|next| bytes + next.meta.size <= BYTES_AT_ONCE)
    {
        bytes += next.meta.size;
        batch.push(next);
    }
    batch
}

/// Every file that is for searches, with what it is.
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
