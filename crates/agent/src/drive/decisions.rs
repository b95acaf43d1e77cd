//! What a run has to do with drafts: it tells that there are new ones, waits for those that need a
//! person now, and notes which decisions its log tells of.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_storage::{Draft, Drafts};
use onyx_types::{
    Answer, Cancel, Clock, Decision, DraftId, DraftState, Origin, SessionKey, ToolOutcome, Turn,
    TurnBody,
};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::notices::{Happened, Notice};
use crate::step::DecidedDraft;

pub(crate) struct Decisions {
    key: SessionKey,
    drafts: Arc<dyn Drafts>,
    clock: Arc<dyn Clock>,
    notices: broadcast::Sender<Notice>,
    /// Calls of this run wait for these, or have their decision: it comes with their result.
    awaited: BTreeSet<DraftId>,
    /// Decisions that are part of a result which is not written yet.
    given: Vec<DraftId>,
}

impl Decisions {
    pub(crate) fn new(
        key: SessionKey,
        drafts: Arc<dyn Drafts>,
        clock: Arc<dyn Clock>,
        notices: broadcast::Sender<Notice>,
    ) -> Self {
        Self { key, drafts, clock, notices, awaited: BTreeSet::new(), given: Vec::new() }
    }

    /// A call came back; what it left for a person is told to everybody who shows drafts.
    pub(crate) fn proposed(&mut self, outcome: &ToolOutcome) {
        let Some(proposal) = &outcome.draft else { return };
        match proposal.answer {
            Answer::Given => self.given.push(proposal.draft),
            Answer::Awaited => {
                self.awaited.insert(proposal.draft);
            }
            // A wait in vain: a decision from now on is told by itself.
            Answer::Later => {
                self.awaited.remove(&proposal.draft);
            }
        }
        for draft in proposal.replaces.iter().chain([&proposal.draft]) {
            self.tell(*draft);
        }
    }

    /// A decision to be told at the next step, unless a call of this run waits for it.
    pub(crate) fn heard(&self, decided: DecidedDraft) -> Option<DecidedDraft> {
        Some(decided).filter(|decided| !self.awaited.contains(&decided.decision.draft_id))
    }

    /// The outcome of a call once a person has decided, or had their time.
    pub(crate) fn await_decision(
        &self,
        mut undecided: ToolOutcome,
        patience: Duration,
        cancel: Cancel,
    ) -> BoxFuture<'static, ToolOutcome> {
        let Some(proposal) = &mut undecided.draft else {
            return Box::pin(std::future::ready(undecided));
        };
        let id = proposal.draft;
        // Without its replacements: they were told of when it was made.
        proposal.replaces.clear();
        proposal.answer = Answer::Later;
        // Heard from here on, so that a decision made before the first look is not missed.
        let mut notices = self.notices.subscribe();
        let (drafts, person) = (Arc::clone(&self.drafts), self.key.person.clone());
        let patience = self.clock.sleep(patience);
        Box::pin(async move {
            let decided = async {
                loop {
                    match drafts.draft(&person, id).await {
                        Ok(Some(draft)) if is_settled(draft.state) => return Some(draft),
                        // Removed with its session.
                        Ok(None) => return None,
                        Ok(Some(_)) => {}
                        Err(error) => tracing::warn!(%id, %error, "a draft could not be read"),
                    }
                    loop {
                        match notices.recv().await {
                            Ok(notice) if notice.happened == Happened::Draft(id) => break,
                            Ok(_) => {}
                            Err(RecvError::Lagged(_)) => break,
                            Err(RecvError::Closed) => return None,
                        }
                    }
                }
            };
            tokio::select! {
                biased;
                decided = decided => match decided {
                    Some(draft) => outcome_of(&draft, undecided),
                    None => undecided,
                },
                () = cancel.cancelled() => undecided,
                () = patience => undecided,
            }
        })
    }

    /// Turns are durable: decisions among them need not be told again.
    pub(crate) async fn written(&mut self, turns: &[Turn]) {
        let mut told = Vec::new();
        for turn in turns {
            match &turn.body {
                TurnBody::Decision(decision) => told.push(decision.draft_id),
                TurnBody::ToolResult(result) => {
                    let given = self.given.extract_if(.., |id| result.draft_id == Some(*id));
                    told.extend(given);
                }
                _ => {}
            }
        }
        if told.is_empty() {
            return;
        }
        if let Err(error) = self.drafts.deliver_drafts(&self.key, &told).await {
            // The log is looked at before a decision is told again.
            tracing::warn!(%error, "told decisions could not be noted");
        }
    }

    fn tell(&self, draft: DraftId) {
        let (person, session) = (self.key.person.clone(), self.key.session);
        // Fails only when nobody listens.
        let _ = self.notices.send(Notice { person, session, happened: Happened::Draft(draft) });
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
            ToolOutcome::ok(output, format!("Approved: {summary}")).from_origin(draft.origin)
        }
        DraftState::Rejected => ToolOutcome {
            summary: format!("Rejected: {summary}"),
            ..ToolOutcome::error(format!("The person rejected it; nothing was done.{reason}"))
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
        proposal.answer = Answer::Given;
        proposal
    });
    ToolOutcome { draft: proposal, ..outcome }
}

/// A decision as the session's log tells it.
pub(crate) fn decided(draft: &Draft) -> DecidedDraft {
    DecidedDraft {
        origin: match draft.state {
            DraftState::Applied | DraftState::Failed => draft.origin,
            _ => Origin::Person,
        },
        decision: Decision {
            draft_id: draft.id,
            state: draft.state,
            reason: draft.reason.clone(),
            output: draft.output.clone(),
        },
    }
}
