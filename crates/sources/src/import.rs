//! Imports a source for the first time or again: a document that has not changed is only compared,
//! one that is gone is removed, and one that cannot be read now keeps its earlier text.

use std::collections::{BTreeMap, BTreeSet};

use onyx_extract::{ExtractedText, Reader};
use onyx_storage::{Change, Expect, History, ObjectKey, Objects, StoreError};
use onyx_types::{Author, Cancel, Hash, Origin, Timestamp};
use tokio::sync::watch;

use crate::document;
use crate::gather::{Item, Places, Raw};
use crate::{DocumentRecord, Progress, SourceRecord, SourceState};

pub(crate) struct Import<'a> {
    pub(crate) places: Places<'a>,
    pub(crate) history: &'a History,
    pub(crate) reader: &'a Reader,
    pub(crate) now: Timestamp,
    pub(crate) progress: &'a watch::Sender<Progress>,
    /// Ends the import before the next document when it is cancelled.
    pub(crate) stop: &'a Cancel,
    /// Whether this gateway still owns the import of the source; checked before each write.
    pub(crate) still_owns: &'a (dyn Fn() -> bool + Send + Sync),
}

/// The result of importing one document.
enum Outcome {
    Same,
    New {
        text: String,
        title: String,
        checksum: Hash,
        bytes: u64,
        /// Why some of its pages could not be read here.
        lacks: Option<String>,
    },
    Failed(String),
}

impl Import<'_> {
    /// Imports all documents and returns the new record. Only a failing store ends it early.
    pub(crate) async fn run(&self, mut record: SourceRecord) -> Result<SourceRecord, StoreError> {
        let items = match self.places.items(&record.from, &record.title).await {
            Ok(items) => items,
            Err(why) => return Ok(failed(record, why)),
        };
        self.progress.send_modify(|progress| progress.total = Some(items.len()));
        let before = std::mem::take(&mut record.documents);
        let mut known: BTreeMap<String, DocumentRecord> =
            before.into_iter().map(|document| (document.from.clone(), document)).collect();
        let mut taken: BTreeSet<String> =
            known.values().filter_map(|document| document.file.clone()).collect();
        for item in &items {
            let from = item.from();
            self.progress.send_modify(|progress| progress.current = Some(from.clone()));
            if self.stop.is_cancelled() {
                return Ok(record);
            }
            let document = self.document(item, known.remove(&from), &mut taken).await?;
            let is_bad = document.error.is_some();
            record.documents.push(document);
            self.progress.send_modify(|progress| progress.count(is_bad));
        }
        for gone in known.into_values().filter_map(|document| document.file) {
            self.remove(&gone).await?;
        }
        Ok(settled(record, self.now))
    }

    async fn document(
        &self,
        item: &Item,
        known: Option<DocumentRecord>,
        taken: &mut BTreeSet<String>,
    ) -> Result<DocumentRecord, StoreError> {
        let from = item.from();
        let empty = || DocumentRecord {
            title: document::last_part(&from).to_owned(),
            from: from.clone(),
            file: None,
            checksum: None,
            bytes: 0,
            error: None,
        };
        let mut record = known.unwrap_or_else(empty);
        // A stop interrupts fetching and reading at once, but never a write.
        let outcome = tokio::select! {
            outcome = self.look(item, &record) => outcome,
            () = self.stop.cancelled() => Outcome::Failed("it was stopped".to_owned()),
        };
        match outcome {
            Outcome::Same => record.error = None,
            Outcome::Failed(why) => record.error = Some(why),
            Outcome::New { text, title, checksum, bytes, lacks } => {
                let file = match record.file.take() {
                    Some(file) => file,
                    None => document::file_name(&from, taken),
                };
                taken.insert(file.clone());
                self.write(&file, &text).await?;
                record = DocumentRecord {
                    from,
                    title,
                    file: Some(file),
                    // The next import reads a document that lacks something again, even if it
                    // has not changed.
                    checksum: lacks.is_none().then_some(checksum),
                    bytes,
                    error: lacks,
                };
            }
        }
        Ok(record)
    }

    async fn look(&self, item: &Item, known: &DocumentRecord) -> Outcome {
        let Raw { name, media_type, bytes } = match self.places.fetch(item).await {
            Ok(raw) => raw,
            Err(why) => return Outcome::Failed(why),
        };
        let checksum = Hash::of(&bytes);
        if known.checksum == Some(checksum) && known.file.is_some() {
            return Outcome::Same;
        }
        let length = bytes.len() as u64;
        match self.reader.extract(name, media_type, bytes).await {
            Ok(extracted) => self.read(item, &extracted, checksum, length),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    fn read(&self, item: &Item, extracted: &ExtractedText, checksum: Hash, bytes: u64) -> Outcome {
        let from = item.from();
        let title = document::title(extracted, &from);
        let text = document::text(extracted, &title, &from);
        let lacks = extracted.lacks.as_ref();
        let lacks = lacks.map(|why| format!("some of its pages are missing: {why}"));
        Outcome::New { text, title, checksum, bytes, lacks }
    }

    /// Records in the history that the text is from outside, and then writes the text.
    async fn write(&self, file: &str, text: &str) -> Result<(), StoreError> {
        self.check_owner()?;
        let key = self.places.folder.join(file)?;
        let before = self.places.person.get(&key, u64::MAX).await?;
        let after = Some(text.as_bytes());
        self.history.keep(&key, before.as_ref(), after, from_outside(self.now)).await?;
        self.places.person.put(&key, text.as_bytes(), Expect::Anything).await?;
        Ok(())
    }

    fn check_owner(&self) -> Result<(), StoreError> {
        if (self.still_owns)() { Ok(()) } else { Err(StoreError::LeaseLost) }
    }

    async fn remove(&self, file: &str) -> Result<(), StoreError> {
        self.check_owner()?;
        let key = self.places.folder.join(file)?;
        match self.places.person.delete(&key, Expect::Anything).await {
            Ok(()) | Err(StoreError::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn from_outside(ts: Timestamp) -> Change {
    Change {
        ts,
        author: Author::System,
        origin: Origin::External,
        run: None,
        tool: "sources".to_owned(),
    }
}

fn failed(mut record: SourceRecord, why: String) -> SourceRecord {
    record.state = SourceState::Failed;
    record.error = Some(why);
    record
}

fn settled(mut record: SourceRecord, now: Timestamp) -> SourceRecord {
    let bad = record.documents.iter().filter(|document| document.error.is_some()).count();
    record.error = None;
    record.state = match bad {
        0 if record.documents.is_empty() => {
            record.error = Some("there is nothing in it".to_owned());
            SourceState::Failed
        }
        0 => SourceState::Ready,
        _ if record.documents.iter().all(|document| document.file.is_none()) => {
            record.error = record.documents.iter().find_map(|document| document.error.clone());
            SourceState::Failed
        }
        _ => SourceState::Partial,
    };
    record.synced_at = Some(now);
    record
}

pub(crate) fn record_key(folder: &ObjectKey) -> Result<ObjectKey, StoreError> {
    Ok(folder.join("source.json")?)
}

pub(crate) async fn read_record(
    person: &dyn Objects,
    folder: &ObjectKey,
) -> Result<Option<SourceRecord>, StoreError> {
    let found = match person.get(&record_key(folder)?, 16 * 1024 * 1024).await {
        Err(StoreError::NotFound) => None,
        found => found?,
    };
    let Some(object) = found else { return Ok(None) };
    serde_json::from_slice(&object.bytes)
        .map(Some)
        .map_err(|error| StoreError::Damaged(format!("{folder}/source.json: {error}")))
}

pub(crate) async fn write_record(
    person: &dyn Objects,
    folder: &ObjectKey,
    record: &SourceRecord,
) -> Result<(), StoreError> {
    let mut bytes = serde_json::to_vec_pretty(record)
        .map_err(|error| StoreError::Failed(format!("source.json: {error}")))?;
    bytes.push(b'\n');
    person.put(&record_key(folder)?, &bytes, Expect::Anything).await?;
    Ok(())
}
