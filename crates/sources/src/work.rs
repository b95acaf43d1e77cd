//! The background work on a source: imports are repeated as long as more are requested.

use onyx_storage::{Area, ObjectKey, OwnedDuty, StoreError};
use onyx_types::{PersonId, SourceId};

use crate::gather::Places;
use crate::import::{Import, write_record};
use crate::ownership::BegunImport;
use crate::register::Work;
use crate::service::Inner;
use crate::{SourceRecord, SourceState};

impl Inner {
    /// Imports a source, and repeats this if another import was requested meanwhile.
    pub(crate) async fn work_on(
        &self,
        person: &PersonId,
        folder: &ObjectKey,
        id: SourceId,
        mut begun: Option<BegunImport>,
        work: &Work,
    ) -> Result<(), StoreError> {
        let objects = self.files.objects(&Area::Person(person.clone()))?;
        loop {
            let next = match begun.take() {
                Some(next) => Some(next),
                None => self.begin_import_later(&*objects, folder, id, &work.stop).await?,
            };
            let Some(BegunImport { record, owned }) = next else {
                work.is_over();
                work.tell_end(SourceState::Interrupted);
                return Ok(());
            };
            let import = async {
                self.pauses.at("sources.begin").await;
                self.bring_in(person, folder, record, &owned, work).await
            };
            let imported = tokio::select! {
                imported = import => imported,
                never = self.stop_when_asked(id, &owned, &work.stop) => match never {},
            };
            self.give_back(&owned).await;
            let record = imported?;
            self.pauses.at("sources.over").await;
            if work.is_over() {
                self.pauses.at("sources.tell").await;
                work.tell_end(record.state);
                return Ok(());
            }
        }
    }

    async fn bring_in(
        &self,
        person: &PersonId,
        folder: &ObjectKey,
        record: SourceRecord,
        owned: &OwnedDuty,
        work: &Work,
    ) -> Result<SourceRecord, StoreError> {
        let slot = tokio::select! {
            slot = self.import_slots.acquire() => slot,
            // The import was stopped while it waited for a slot.
            () = work.stop.cancelled() => return Ok(record),
        };
        let _slot = slot.map_err(|error| StoreError::Failed(error.to_string()))?;
        let objects = self.files.objects(&Area::Person(person.clone()))?;
        let vault = self.files.objects(&Area::Vault(person.clone()))?;
        let egress = (self.egress)();
        let places = Places { vault: &*vault, person: &*objects, folder, egress: &egress };
        let import = Import {
            places,
            history: &self.files.history(person)?,
            reader: &self.reader,
            now: self.clock.wall(),
            progress: &work.progress,
            stop: &work.stop,
            still_owns: &|| self.duties.still_owns(owned),
        };
        let record = match import.run(record.clone()).await {
            Ok(record) => record,
            // Even on a full disk there may be room for a record that reports the failure.
            Err(error) => SourceRecord {
                state: SourceState::Failed,
                error: Some(error.to_string()),
                ..record
            },
        };
        if !work.stop.is_cancelled() && self.duties.still_owns(owned) {
            write_record(&*objects, folder, &record).await?;
        }
        Ok(record)
    }
}
