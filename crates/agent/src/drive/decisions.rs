//! Waiting for a person's decision on a draft.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_storage::{Draft, Drafts, Duties};
use onyx_tools::selected_model;
use onyx_types::{
    CallReport, Cancel, Clock, DecisionTiming, DraftId, DraftState, PersonId, ToolOutcome,
};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::parts::DriveServices;
use crate::notices::{Notice, NoticeKind};

/// How often a waiting run reads its draft again, because another gateway's notice of a decision
/// can be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The outcome of a call after a person has decided, or when the time for it is over.
pub(super) fn await_decision(
    services: &DriveServices,
    person: PersonId,
    mut undecided: ToolOutcome,
    patience: Duration,
    cancel: Cancel,
) -> BoxFuture<'static, ToolOutcome> {
    let Some(proposal) = &mut undecided.draft else {
        return Box::pin(std::future::ready(undecided));
    };
    let id = proposal.draft;
    // The drafts that this one replaces were announced with it, so they are not announced again.
    proposal.replaces.clear();
    proposal.answer = DecisionTiming::Later;
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
            decided = decided(&*drafts, &*duties, &person, changes) => match decided {
                Some(draft) => outcome_of(&draft, undecided),
                None => undecided,
            },
            () = cancel.cancelled() => undecided,
            () = patience => undecided,
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
            goes_on = noticed(&mut self.notices, self.id) => goes_on,
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

fn outcome_of(draft: &Draft, undecided: ToolOutcome) -> ToolOutcome {
    let summary = &draft.plan.summary;
    let reason = draft.reason.as_deref().map(|reason| format!(" They say: {reason}"));
    let reason = reason.unwrap_or_default();
    let output = draft.output.clone().unwrap_or_default();
    let outcome = match draft.state {
        DraftState::Applied => {
            let done = ToolOutcome::ok(output, format!("Approved: {summary}"));
            ToolOutcome { model: selected_model(&draft.plan), ..done.from_origin(draft.origin) }
        }
        DraftState::Rejected => ToolOutcome {
            summary: format!("Rejected: {summary}"),
            ..ToolOutcome::error(format!("The person rejected it; nothing was done.{reason}"))
                .refused()
        },
        DraftState::Failed | DraftState::Unknown => {
            ToolOutcome::error(format!("The person approved it. {output}"))
                .from_origin(draft.origin)
        }
        DraftState::Pending
        | DraftState::Applying
        | DraftState::Stale
        | DraftState::Superseded
        | DraftState::Expired => return undecided,
    };
    let proposal = undecided.draft.map(|mut proposal| {
        proposal.answer = DecisionTiming::Given;
        proposal
    });
    // The report keeps the plan that the person decided on; only its state comes from the outcome.
    let CallReport { state, artifact, .. } = outcome.report.clone();
    let report = CallReport { state, artifact, ..undecided.report };
    ToolOutcome { draft: proposal, report, ..outcome }
}
