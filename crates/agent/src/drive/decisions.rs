//! Waiting for a person's decision on a draft.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_storage::{Draft, Drafts, Duties};
use onyx_types::{Cancel, Clock, DraftId, DraftState, PersonId};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::parts::DriveServices;
use crate::notices::{Notice, NoticeKind};

/// How often a waiting run reads its draft again, because another gateway's notice of a decision
/// can be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The draft once it is settled; `None` when the time for that is over.
pub(super) fn await_decision(
    services: &DriveServices,
    person: PersonId,
    id: DraftId,
    patience: Duration,
    cancel: Cancel,
) -> BoxFuture<'static, Option<Draft>> {
    // The listener must exist before the draft is first read, so that a decision made in between is
    // not missed.
    let notices = services.notices.listen();
    let look_again = services.has_others.load(Ordering::Acquire).then_some(LOOK_AGAIN);
    let changes = DraftChanges { id, notices, look_again, clock: Arc::clone(&services.clock) };
    let (drafts, duties) = (Arc::clone(&services.drafts), Arc::clone(&services.duties));
    let patience = services.clock.sleep(patience);
    Box::pin(async move {
        tokio::select! {
            biased;
            decided = decided(&*drafts, &*duties, &person, changes) => decided,
            () = cancel.cancelled() => None,
            () = patience => None,
        }
    })
}

/// Waits until the draft is settled; `None` when it was removed with its session.
async fn decided(
    drafts: &dyn Drafts,
    duties: &dyn Duties,
    person: &PersonId,
    mut changes: DraftChanges,
) -> Option<Draft> {
    let id = changes.id;
    let mut has_waited = false;
    loop {
        match drafts.draft(person, id).await {
            // A gateway that applied the draft keeps its lease until this run knows how far the
            // approval goes. It is waited for once, because it may never give the lease back.
            Ok(Some(draft)) if is_settled(draft.state) => {
                if has_waited || !is_held_elsewhere(duties, id).await {
                    return Some(draft);
                }
                has_waited = true;
            }
            Ok(None) => return None,
            Ok(Some(_)) => {}
            Err(error) => tracing::warn!(%id, %error, "a draft could not be read"),
        }
        if !changes.next().await {
            return None;
        }
    }
}

/// Whether another living gateway has the draft's lease.
async fn is_held_elsewhere(duties: &dyn Duties, id: DraftId) -> bool {
    duties.is_owned_elsewhere(&Draft::lease_name(id)).await.unwrap_or_else(|error| {
        tracing::warn!(%id, %error, "the lease of a draft could not be looked up");
        false
    })
}

/// Says when a draft may have changed.
struct DraftChanges {
    id: DraftId,
    notices: Receiver<Notice>,
    /// `None` in a single process, where no notice is lost.
    look_again: Option<Duration>,
    clock: Arc<dyn Clock>,
}

impl DraftChanges {
    /// Waits until the draft is worth reading again. `false`: it will not change any more.
    async fn next(&mut self) -> bool {
        let look_again = match self.look_again {
            Some(after) => self.clock.sleep(after),
            None => Box::pin(std::future::pending()),
        };
        tokio::select! {
            may_change = noticed(&mut self.notices, self.id) => may_change,
            () = look_again => true,
        }
    }
}

async fn noticed(notices: &mut Receiver<Notice>, id: DraftId) -> bool {
    loop {
        match notices.recv().await {
            Ok(notice) if notice.kind == NoticeKind::Draft(id) => return true,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}

fn is_settled(state: DraftState) -> bool {
    !state.is_open() && state != DraftState::Applying
}
