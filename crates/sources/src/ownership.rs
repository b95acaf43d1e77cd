//! Ensures that only one of several gateways imports a source at a time. The others wait for it,
//! report that the source is being imported, and can ask it to stop.

use std::convert::Infallible;
use std::time::Duration;

use onyx_storage::{ObjectKey, Objects, OwnedDuty, StoreError};
use onyx_types::{Cancel, SourceId};

use crate::import::{read_record, write_record};
use crate::service::Inner;
use crate::{SourceRecord, SourceState};

/// How often gateways check what another one does with a source.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How often a removal checks whether the import at another gateway has stopped.
const MOST_LOOKS: usize = 30;

/// An import that may begin: this gateway owns the source, and its record says that it is running.
pub(crate) struct BegunImport {
    pub(crate) record: SourceRecord,
    pub(crate) owned: OwnedDuty,
}

/// The name of the duty to import a source, which one gateway owns.
pub(crate) fn duty(id: SourceId) -> String {
    format!("source {id}")
}

/// The name of the duty of a gateway that waits until another one stops its import.
fn stop_duty(id: SourceId) -> String {
    format!("source stop {id}")
}

impl Inner {
    /// Begins an import; `None` if another gateway imports the source, or the source is gone.
    pub(crate) async fn begin_import(
        &self,
        objects: &dyn Objects,
        folder: &ObjectKey,
        id: SourceId,
    ) -> Result<Option<BegunImport>, StoreError> {
        let Some(owned) = self.duties.own(&duty(id)).await? else { return Ok(None) };
        match mark_running(objects, folder).await {
            Ok(Some(record)) => Ok(Some(BegunImport { record, owned })),
            Ok(None) => {
                self.give_back(&owned).await;
                Ok(None)
            }
            Err(error) => {
                self.give_back(&owned).await;
                Err(error)
            }
        }
    }

    /// Begins an import as soon as the other gateway's import has ended; `None` if it was stopped,
    /// or the source is gone.
    pub(crate) async fn begin_import_later(
        &self,
        objects: &dyn Objects,
        folder: &ObjectKey,
        id: SourceId,
        stop: &Cancel,
    ) -> Result<Option<BegunImport>, StoreError> {
        loop {
            if let Some(begun) = self.begin_import(objects, folder, id).await? {
                return Ok(Some(begun));
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(None),
                () = self.clock.sleep(LOOK_AGAIN) => {}
            }
            if read_record(objects, folder).await?.is_none() {
                return Ok(None);
            }
        }
    }

    /// Stops the import here when this gateway no longer owns the source, or another gateway asks
    /// for it. This function does not return, because the import ends itself between two writes.
    pub(crate) async fn stop_when_asked(
        &self,
        id: SourceId,
        owned: &OwnedDuty,
        stop: &Cancel,
    ) -> Infallible {
        loop {
            self.clock.sleep(LOOK_AGAIN).await;
            let is_asked = match self.duties.is_owned_elsewhere(&stop_duty(id)).await {
                Ok(is_asked) => is_asked,
                Err(error) => {
                    tracing::warn!(source = %id, %error, "cannot ask who owns a source");
                    false
                }
            };
            if is_asked || !self.duties.still_owns(owned) {
                stop.cancel();
                return std::future::pending().await;
            }
        }
    }

    /// Takes over a source. An import at another gateway is stopped first.
    pub(crate) async fn take_from_others(&self, id: SourceId) -> Result<OwnedDuty, StoreError> {
        if let Some(owned) = self.duties.own(&duty(id)).await? {
            return Ok(owned);
        }
        let asking = self.duties.own(&stop_duty(id)).await?;
        let taken = self.wait_to_take(id).await;
        if let Some(asking) = asking {
            self.give_back(&asking).await;
        }
        taken
    }

    async fn wait_to_take(&self, id: SourceId) -> Result<OwnedDuty, StoreError> {
        for _ in 0..MOST_LOOKS {
            self.clock.sleep(LOOK_AGAIN).await;
            if let Some(owned) = self.duties.own(&duty(id)).await? {
                return Ok(owned);
            }
        }
        Err(StoreError::Busy)
    }

    /// Gives the source back. Other gateways wait for this, so it is repeated while the database
    /// does not answer.
    pub(crate) async fn give_back(&self, owned: &OwnedDuty) {
        while let Err(error) = self.duties.disown(owned).await {
            tracing::warn!(duty = owned.name, %error, "a source could not be given back yet");
            if !self.duties.still_owns(owned) {
                return;
            }
            self.clock.sleep(LOOK_AGAIN).await;
        }
    }

    /// The record of a source that this gateway does not import. Its file may say that an import is
    /// running, which is only true while another gateway owns the source.
    pub(crate) async fn record_of_other(
        &self,
        objects: &dyn Objects,
        folder: &ObjectKey,
        record: SourceRecord,
    ) -> Result<Option<SourceRecord>, StoreError> {
        if record.state != SourceState::Importing
            || self.duties.is_owned_elsewhere(&duty(record.id)).await?
        {
            return Ok(Some(record));
        }
        // The other gateway's import may have ended since the file was read.
        let Some(record) = read_record(objects, folder).await? else { return Ok(None) };
        let state = match record.state {
            SourceState::Importing => SourceState::Interrupted,
            ended => ended,
        };
        Ok(Some(SourceRecord { state, ..record }))
    }
}

async fn mark_running(
    objects: &dyn Objects,
    folder: &ObjectKey,
) -> Result<Option<SourceRecord>, StoreError> {
    let Some(record) = read_record(objects, folder).await? else { return Ok(None) };
    let record = SourceRecord { state: SourceState::Importing, ..record };
    write_record(objects, folder, &record).await?;
    Ok(Some(record))
}
