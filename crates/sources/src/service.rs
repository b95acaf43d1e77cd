use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_egress::{Address, Egress};
use onyx_extract::{LARGEST_DOCUMENT, Reader};
use onyx_storage::{Area, Duties, Expect, Files, ObjectKey, Objects, StoreError};
use onyx_types::{Clock, IdGenerator, Pauses, PersonId, Scope, SourceId, SpaceId};
use tokio::sync::{Semaphore, watch};

use crate::gather::ORIGINAL;
use crate::import::{read_record, record_key, write_record};
use crate::ownership::{BegunImport, duty};
use crate::place::{all, below, folder_of, kept_versions};
use crate::register::{Register, Work, beginning};
use crate::{SourceError, SourceRecord, SourceState, Supply};

/// How many sources are imported at the same time; the others wait.
const AT_ONCE: usize = 2;
/// How often the state of an import at another gateway is read for clients that follow it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The knowledge sources of all people. Cheap to clone.
#[derive(Clone)]
pub struct Sources {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) duties: Arc<dyn Duties>,
    /// Makes the egress client for each import, because the allowed hosts are settings and can
    /// change.
    pub(crate) egress: Box<dyn Fn() -> Egress + Send + Sync>,
    pub(crate) reader: Reader,
    pub(crate) clock: Arc<dyn Clock>,
    ids: Mutex<IdGenerator>,
    pub(crate) import_slots: Semaphore,
    register: Arc<Register>,
    pub(crate) pauses: Pauses,
}

/// The progress of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub state: SourceState,
    pub done: usize,
    pub failed: usize,
    /// The number of documents; unknown before they are counted.
    pub total: Option<usize>,
    pub current: Option<String>,
}

impl Progress {
    pub(crate) fn count(&mut self, is_bad: bool) {
        self.done += 1;
        self.failed += usize::from(is_bad);
    }

    /// The progress of a source that is not being imported.
    fn of(record: &SourceRecord) -> Self {
        if record.state == SourceState::Importing {
            return beginning();
        }
        let failed = record.documents.iter().filter(|document| document.error.is_some()).count();
        let total = record.documents.len();
        Self { state: record.state, done: total, failed, total: Some(total), current: None }
    }
}

/// A source to attach.
#[derive(Debug)]
pub struct NewSource {
    pub scope: Scope,
    /// The space of a channel or thread, for one that is not in the space's own list.
    pub space: Option<SpaceId>,
    pub title: Option<String>,
    pub supply: NewSupply,
}

#[derive(Debug)]
pub enum NewSupply {
    File { path: String },
    Upload { name: String, media_type: Option<String>, bytes: Vec<u8> },
    Folder { path: String },
    Url { url: String },
    Text { text: String },
}

impl Sources {
    pub fn new(
        files: Arc<dyn Files>,
        duties: Arc<dyn Duties>,
        egress: impl Fn() -> Egress + Send + Sync + 'static,
        reader: Reader,
        clock: Arc<dyn Clock>,
        ids: IdGenerator,
        pauses: Pauses,
    ) -> Self {
        let inner = Inner {
            files,
            duties,
            egress: Box::new(egress),
            reader,
            clock,
            ids: Mutex::new(ids),
            import_slots: Semaphore::new(AT_ONCE),
            register: Arc::default(),
            pauses,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Writes the source's record and begins to import it.
    pub async fn add(
        &self,
        person: &PersonId,
        new: NewSource,
    ) -> Result<SourceRecord, SourceError> {
        let objects = self.objects(person)?;
        let parent = folder_of(&*objects, &new.scope, new.space.as_ref()).await?;
        let (supply, kept) = checked(new.supply)?;
        let now = self.inner.clock.wall();
        let uuid = self.inner.ids.lock().unwrap_or_else(PoisonError::into_inner).uuid(now);
        let record = SourceRecord {
            id: SourceId::from_uuid(uuid),
            scope: new.scope,
            title: new
                .title
                .filter(|title| !title.trim().is_empty())
                .unwrap_or_else(|| name(&supply)),
            from: supply,
            state: SourceState::Importing,
            error: None,
            created_at: now,
            synced_at: None,
            documents: Vec::new(),
            more: serde_json::Map::new(),
        };
        let folder = parent.join(&record.id.to_string())?;
        if let Some(bytes) = kept {
            objects.put(&folder.join(ORIGINAL)?, &bytes, Expect::Absent).await?;
        }
        let work = self.inner.register.ask(record.id).ok_or(SourceError::NotFound)?;
        // No other gateway knows this source yet, so it is always free.
        let owned = self.inner.duties.own(&duty(record.id)).await?;
        let owned = owned.ok_or(SourceError::NotFound)?;
        if let Err(error) = write_record(&*objects, &folder, &record).await {
            self.inner.give_back(&owned).await;
            return Err(error.into());
        }
        let begun = BegunImport { record: record.clone(), owned };
        self.begin(person, folder, record.id, Some(begun), work);
        Ok(record)
    }

    /// The sources, newest first. One whose record is damaged is logged and left out.
    pub async fn list(&self, person: &PersonId) -> Result<Vec<SourceRecord>, SourceError> {
        let objects = self.objects(person)?;
        let mut records = Vec::new();
        for (folder, id) in all(&*objects).await? {
            match self.read(&*objects, &folder, id).await {
                Ok(record) => records.extend(record),
                Err(error) => tracing::warn!(%folder, %error, "a source cannot be read"),
            }
        }
        records.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
        Ok(records)
    }

    pub async fn get(&self, person: &PersonId, id: SourceId) -> Result<SourceRecord, SourceError> {
        Ok(self.find(person, id).await?.1)
    }

    /// Imports a source again. If an import is already running, here or at another gateway, it is
    /// repeated after its end.
    pub async fn sync(&self, person: &PersonId, id: SourceId) -> Result<SourceRecord, SourceError> {
        let (folder, record) = self.find(person, id).await?;
        let Some(work) = self.inner.register.ask(id) else {
            return Ok(SourceRecord { state: SourceState::Importing, ..record });
        };
        // Another import may have ended since the record was read.
        let objects = self.objects(person)?;
        let begun = self.inner.begin_import(&*objects, &folder, id).await?;
        let record = match &begun {
            Some(begun) => begun.record.clone(),
            None => SourceRecord { state: SourceState::Importing, ..record },
        };
        self.begin(person, folder, id, begun, work);
        Ok(record)
    }

    pub async fn remove(&self, person: &PersonId, id: SourceId) -> Result<(), SourceError> {
        let (folder, _) = self.find(person, id).await?;
        // The import under way must have ended: one that was only signalled to stop could still
        // write a file after everything is deleted.
        let _work = self.inner.register.take_over(id).await;
        let objects = self.objects(person)?;
        let owned = self.inner.take_from_others(id).await?;
        let removed = remove_all(&*objects, &folder).await;
        self.inner.give_back(&owned).await;
        removed
    }

    /// The progress of an import, with every change of it until the import ends.
    pub async fn follow(
        &self,
        person: &PersonId,
        id: SourceId,
    ) -> Result<watch::Receiver<Progress>, SourceError> {
        let (_, record) = self.find(person, id).await?;
        if let Some(running) = self.inner.register.progress(id) {
            return Ok(running);
        }
        if record.state != SourceState::Importing {
            return Ok(watch::channel(Progress::of(&record)).1);
        }
        // The import has ended since the record was read, or it runs at another gateway.
        let (_, record) = self.find(person, id).await?;
        let (sender, progress) = watch::channel(Progress::of(&record));
        if record.state == SourceState::Importing {
            tokio::spawn(self.clone().follow_other(person.clone(), id, sender));
        }
        Ok(progress)
    }

    /// Checks until the import at another gateway has ended, or no client follows it any more.
    async fn follow_other(self, person: PersonId, id: SourceId, progress: watch::Sender<Progress>) {
        while !progress.is_closed() {
            self.inner.clock.sleep(LOOK_AGAIN).await;
            match self.find(&person, id).await {
                Ok((_, record)) if record.state == SourceState::Importing => {}
                Ok((_, record)) => {
                    progress.send_replace(Progress::of(&record));
                    return;
                }
                Err(SourceError::NotFound) => return,
                Err(error) => tracing::warn!(source = %id, %error, "a source cannot be read"),
            }
        }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.inner.reader
    }

    pub(crate) fn egress(&self) -> Egress {
        (self.inner.egress)()
    }

    async fn find(
        &self,
        person: &PersonId,
        id: SourceId,
    ) -> Result<(ObjectKey, SourceRecord), SourceError> {
        let objects = self.objects(person)?;
        for (folder, found) in all(&*objects).await? {
            if found == id
                && let Some(record) = self.read(&*objects, &folder, id).await?
            {
                return Ok((folder, record));
            }
        }
        Err(SourceError::NotFound)
    }

    /// The current record. Its file says `importing` or how the last import ended, and the register
    /// says whether an import is running. The file is read again if the register changed meanwhile,
    /// so that both match.
    async fn read(
        &self,
        objects: &dyn Objects,
        folder: &ObjectKey,
        id: SourceId,
    ) -> Result<Option<SourceRecord>, SourceError> {
        loop {
            let seen = self.inner.register.look(id);
            let Some(mut record) = read_record(objects, folder).await? else { return Ok(None) };
            if self.inner.register.look(id) != seen {
                continue;
            }
            if seen.is_running {
                record.state = SourceState::Importing;
                return Ok(Some(record));
            }
            return Ok(self.inner.record_of_other(objects, folder, record).await?);
        }
    }

    fn objects(&self, person: &PersonId) -> Result<Arc<dyn Objects>, SourceError> {
        Ok(self.inner.files.objects(&Area::Person(person.clone()))?)
    }

    /// Imports in the background. Without `begun`, another gateway imports the source now, and this
    /// one imports it again after that.
    fn begin(
        &self,
        person: &PersonId,
        folder: ObjectKey,
        id: SourceId,
        begun: Option<BegunImport>,
        work: Work,
    ) {
        let (inner, person) = (Arc::clone(&self.inner), person.clone());
        tokio::spawn(async move {
            if let Err(error) = inner.work_on(&person, &folder, id, begun, &work).await {
                tracing::error!(source = %id, %error, "a source cannot be imported");
                inner.pauses.at("sources.over").await;
                work.is_over();
                work.tell_end(SourceState::Failed);
            }
        });
    }
}

/// The supply as the record names it, and the bytes that are stored beside the record.
fn checked(supply: NewSupply) -> Result<(Supply, Option<Vec<u8>>), SourceError> {
    let path = |path: String| -> Result<String, SourceError> {
        let key: ObjectKey = path
            .trim_end_matches('/')
            .parse()
            .map_err(|error| SourceError::invalid("path", format!("{error}")))?;
        if key.is_hidden() {
            return Err(SourceError::invalid("path", "hidden files are not read"));
        }
        Ok(key.to_string())
    };
    Ok(match supply {
        NewSupply::File { path: file } => (Supply::File { path: path(file)? }, None),
        NewSupply::Folder { path: folder } => (Supply::Folder { path: path(folder)? }, None),
        NewSupply::Url { url } => {
            let address: Address = url
                .trim()
                .parse()
                .map_err(|error| SourceError::invalid("url", format!("{error}")))?;
            (Supply::Url { url: address.as_str().to_owned() }, None)
        }
        NewSupply::Upload { name, media_type, bytes } => {
            let bytes = bounded("data", bytes)?;
            (Supply::Upload { name, media_type }, Some(bytes))
        }
        NewSupply::Text { text } => (Supply::Text, Some(bounded("text", text.into_bytes())?)),
    })
}

pub(crate) fn bounded(field: &'static str, bytes: Vec<u8>) -> Result<Vec<u8>, SourceError> {
    match bytes.len() {
        0 => Err(SourceError::invalid(field, "it is empty")),
        length if length > LARGEST_DOCUMENT => {
            Err(SourceError::invalid(field, format!("it is larger than {LARGEST_DOCUMENT} bytes")))
        }
        _ => Ok(bytes),
    }
}

async fn delete(objects: &dyn Objects, file: &ObjectKey) -> Result<(), SourceError> {
    match objects.delete(file, Expect::Anything).await {
        Ok(()) | Err(StoreError::NotFound) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn remove_empty(objects: &dyn Objects, folder: &ObjectKey) -> Result<(), SourceError> {
    match objects.remove_empty(folder).await {
        Ok(()) | Err(StoreError::NotFound) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn name(supply: &Supply) -> String {
    match supply {
        Supply::File { path } | Supply::Folder { path } => path.clone(),
        Supply::Upload { name, .. } => name.clone(),
        Supply::Url { url } => url.clone(),
        Supply::Text => "Pasted text".to_owned(),
    }
}

async fn remove_all(objects: &dyn Objects, folder: &ObjectKey) -> Result<(), SourceError> {
    let record = record_key(folder)?;
    // The texts are deleted before their history, because the history says that they are from
    // outside. The record is deleted last, so that a removal that a crash interrupted can be
    // repeated.
    let kept = kept_versions(folder)?;
    for file in below(objects, folder).await?.into_iter().filter(|file| *file != record) {
        delete(objects, &file).await?;
    }
    for file in below(objects, &kept).await? {
        delete(objects, &file).await?;
    }
    remove_empty(objects, &kept).await?;
    delete(objects, &record).await?;
    remove_empty(objects, folder).await
}
