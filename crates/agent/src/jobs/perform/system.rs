//! The work that the config schedules without a model: checking the index, backups, removing old sessions.

use std::time::Duration;

use onyx_knowledge::SyncReport;
use onyx_storage::{SessionFilter, SessionMeta, SlotState};
use onyx_types::{ErrorCode, Fault, PersonId, Timestamp};

use super::slot::{ClaimedSlot, SlotOutcome};
use crate::jobs::JobsCore;
use crate::jobs::spec::BackupPlan;

const PAGE: u32 = 200;

pub(super) async fn sync(shared: &JobsCore) -> Result<SlotOutcome, Fault> {
    let Some(index) = shared.index.get() else {
        return Ok(SlotOutcome::nothing("There is no index here."));
    };
    match index.sync().await {
        Ok(SyncReport { checked, indexed, removed }) => Ok(SlotOutcome::nothing(format!(
            "{checked} files were compared with the index: {indexed} read again, {removed} removed."
        ))),
        Err(error) => Ok(SlotOutcome::failed(error.to_string())),
    }
}

/// Makes a backup. A success is not reported to the person; a failed or incomplete backup is.
pub(super) async fn back_up(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    plan: &BackupPlan,
) -> Result<SlotOutcome, Fault> {
    let Some(backups) = shared.backups.get() else {
        return Ok(SlotOutcome::failed("This server does not make backups."));
    };
    let done = match backups.back_up(plan, firing.cancel.clone()).await {
        Ok(done) => done,
        // The server shuts down, or a person stopped the backup.
        Err(fault) if fault.code == ErrorCode::Cancelled => {
            return Ok(SlotOutcome::new(SlotState::Interrupted, "Stopped before its end."));
        }
        Err(fault) => return Err(fault),
    };
    if done.unreadable.is_empty() {
        return Ok(SlotOutcome::nothing(done.summary));
    }
    let names = done.unreadable.join("\n");
    Ok(SlotOutcome::failed(format!("{} These files could not be read:\n{names}", done.summary)))
}

/// Deletes sessions that are too old, and each person's sessions beyond the newest `keep_newest`.
pub(super) async fn clean_up(
    shared: &JobsCore,
    older_than: Option<Duration>,
    keep_newest: Option<usize>,
) -> Result<SlotOutcome, Fault> {
    let now = shared.setup.clock.wall();
    let oldest = older_than.map(|age| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(now.as_millis().saturating_sub(age))
    });
    let mut removed = 0;
    for person in shared.setup.files.people().await? {
        removed += clean_up_of(shared, &person, oldest, keep_newest).await?;
    }
    Ok(match removed {
        0 => SlotOutcome::nothing("No session was old enough."),
        1 => SlotOutcome::new(SlotState::Nothing, "One session was removed."),
        many => SlotOutcome::new(SlotState::Nothing, format!("{many} sessions were removed.")),
    })
}

async fn clean_up_of(
    shared: &JobsCore,
    person: &PersonId,
    oldest: Option<Timestamp>,
    keep_newest: Option<usize>,
) -> Result<u64, Fault> {
    let sessions = all_sessions(shared, person).await?;
    let mut removed = 0;
    for (place, meta) in sessions.iter().enumerate() {
        let is_old = oldest.is_some_and(|oldest| meta.updated_at < oldest);
        let is_beyond = keep_newest.is_some_and(|newest| place >= newest);
        // A pinned session is deleted only by its person.
        if meta.marks.pinned || (!is_old && !is_beyond) {
            continue;
        }
        match shared.setup.sessions.delete(person, meta.session_id).await {
            Ok(()) => removed += 1,
            // The session is at work or already gone, so it is left alone.
            Err(fault) if matches!(fault.code, ErrorCode::SessionBusy | ErrorCode::NotFound) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(removed)
}

/// All sessions of the person, newest first.
async fn all_sessions(shared: &JobsCore, person: &PersonId) -> Result<Vec<SessionMeta>, Fault> {
    let mut sessions: Vec<SessionMeta> = Vec::new();
    loop {
        let before = sessions.last().map(|meta| meta.session_id);
        let filter = SessionFilter { before, limit: PAGE, ..SessionFilter::default() };
        let page = shared.setup.sessions.list(person, &filter).await?;
        let is_last = page.len() < PAGE as usize;
        sessions.extend(page);
        if is_last {
            return Ok(sessions);
        }
    }
}
