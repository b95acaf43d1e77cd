//! Closes runs that were left open by a crash or by a store that refused to write.

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_storage::{
    Lease, Ledger, LiveText, Messages, ModelUse, RunOutcome, RunRow, Store, StoreError, TurnLog,
    title_of,
};
use onyx_types::{
    AssistantText, Author, ErrorCode, Fault, LaneId, ModelId, Origin, RunEnd, RunId, RunStatus,
    SessionKey, TextStatus, Turn, TurnBody,
};
use serde::Deserialize as _;
use serde_json::Map;

use crate::prompt::taints;
use crate::sessions::{Ids, Sessions};
use crate::step::{USED_SO_FAR, UsedSoFar};

/// How many turns of the log are searched. A run's end lies within the run's last batch, so it is
/// among the newest turns.
const LOOK_BACK: usize = 64;

/// Closes runs that were left open.
#[derive(Clone)]
pub(crate) struct Recovery {
    sessions: Sessions,
    turns: Arc<dyn TurnLog>,
    ledger: Arc<dyn Ledger>,
    ids: Ids,
}

impl Recovery {
    pub(crate) fn new(sessions: Sessions, store: &Store, ids: Ids) -> Self {
        let (turns, ledger) = (Arc::clone(&store.turns), Arc::clone(&store.ledger));
        Self { sessions, turns, ledger, ids }
    }

    /// Closes the runs that an earlier process, a dead gateway, or a store that refused to write
    /// left open. It is called before the first request and at intervals. Runs at work hold their
    /// session's lease and are left alone. Returns how many runs it closed.
    pub(crate) async fn close_all(&self) -> Result<usize, Fault> {
        let open = self.ledger.left_runs().await?;
        let sessions: BTreeSet<SessionKey> = open.into_iter().map(|row| row.key).collect();
        let mut closed = 0;
        for key in sessions {
            match self.close_if_left(&key).await {
                Ok(runs) => closed += runs,
                Err(fault) if fault.code == ErrorCode::SessionBusy => {}
                // A damaged session must not keep the others from being closed. It is tried again
                // when the session is next used, and the failure is shown there.
                Err(fault) => {
                    tracing::error!(session = %key.session, %fault, "a run could not be closed");
                }
            }
        }
        Ok(closed)
    }

    async fn close_if_left(&self, key: &SessionKey) -> Result<usize, Fault> {
        let lease = self.sessions.acquire_lease(key).await?;
        let closed = self.close_leftover_runs(&lease).await;
        lease.release().await;
        closed
    }

    /// Closes the runs of this session that never got their end, because writing it failed or their
    /// process lost the session. The caller must hold the lease; without it, one of the runs might
    /// still be at work.
    pub(crate) async fn close_leftover_runs(&self, lease: &Lease) -> Result<usize, Fault> {
        let open = self.ledger.open_runs(&lease.key).await?;
        if open.is_empty() {
            return Ok(0);
        }
        let mut outcomes = Vec::new();
        for row in &open {
            outcomes.push(self.close_in_log(lease, row).await?);
        }
        // The notes may go: the text that they hold was written into the log above.
        self.turns.clear_live(lease).await?;
        for outcome in outcomes {
            self.ledger.end_run(outcome).await?;
        }
        Ok(open.len())
    }

    async fn close_in_log(&self, lease: &Lease, row: &RunRow) -> Result<RunOutcome, Fault> {
        let marks = self.find_marks(lease, row.run).await?;
        let wrote = !matches!(marks, LogProgress::Absent);
        let (status, used) = match marks {
            LogProgress::Ended(status, used) => (status, used),
            LogProgress::Started(used) => {
                let mut turns = self.interrupted_text(lease, row.run).await?;
                turns.push(self.interrupted(row.run, &used));
                self.turns.append(lease, &turns).await?;
                (RunStatus::Interrupted, used)
            }
            // The crash came before the run's first write, so the log has nothing to close.
            // Appending nothing still tells whether the log is read-only after a failed sync; then
            // the run is closed by the next process.
            LogProgress::Absent => {
                self.turns.append(lease, &[]).await?;
                (RunStatus::Interrupted, UsedSoFar::default())
            }
        };
        let (messages, title) = if wrote {
            self.said_in(&lease.key, row.run).await?
        } else {
            (Messages::default(), None)
        };
        Ok(RunOutcome {
            run: row.run,
            status,
            ended_at: self.ids.now(),
            usage: used.usage,
            // The log does not say which of several agents used how much, so all of it is recorded
            // for this one.
            used: vec![ModelUse {
                agent: row.key.agent.clone(),
                model: ModelId::new(used.model.unwrap_or_default()),
                usage: used.usage,
            }],
            messages_added: messages.count,
            preview: messages.preview,
            title,
        })
    }

    /// What the run added to the session, as its end would have recorded it in the session's row.
    async fn said_in(
        &self,
        key: &SessionKey,
        run: RunId,
    ) -> Result<(Messages, Option<String>), Fault> {
        let (mut messages, mut title) = (Messages::default(), None);
        let walked = self.sessions.walk_back(key, |turn| {
            if turn.run != Some(run) {
                return None;
            }
            messages.add_older(turn);
            match &turn.body {
                TurnBody::User(words) => title = title_of(&words.content.text()).or(title.take()),
                TurnBody::RunStart(_) => return Some(()),
                _ => {}
            }
            None
        });
        walked.await?;
        Ok((messages, title))
    }

    async fn find_marks(&self, lease: &Lease, run: RunId) -> Result<LogProgress, Fault> {
        let page = match self.turns.tail(&lease.key, None, LOOK_BACK).await {
            Ok(page) => page,
            Err(StoreError::NotFound) => return Ok(LogProgress::Absent),
            Err(error) => return Err(error.into()),
        };
        let mut used = None;
        for turn in page.turns.iter().filter(|turn| turn.run == Some(run)) {
            let used = used.get_or_insert_with(UsedSoFar::default);
            if let TurnBody::RunEnd(RunEnd { status, usage, model, .. }) = &turn.body {
                let used = UsedSoFar { usage: *usage, model: model.clone() };
                return Ok(LogProgress::Ended(*status, used));
            }
            if let Some(so_far) = turn.extra.get(USED_SO_FAR)
                && let Ok(so_far) = UsedSoFar::deserialize(so_far)
            {
                *used = so_far;
            }
        }
        Ok(used.map_or(LogProgress::Absent, LogProgress::Started))
    }

    /// The text that the run was streaming when it was cut off, as far as notes were saved.
    async fn interrupted_text(&self, lease: &Lease, run: RunId) -> Result<Vec<Turn>, Fault> {
        let noted = self.turns.live(&lease.key).await?;
        if noted.is_empty() {
            return Ok(Vec::new());
        }
        let page = self.turns.tail(&lease.key, None, LOOK_BACK).await?;
        let is_new = |text: &&LiveText| !page.turns.iter().any(|turn| turn.id == text.turn);
        // If the log holds content from outside, the run had read it, so its text is tainted.
        let tainted = page.turns.iter().any(taints);
        let origin = if tainted { Origin::AgentTainted } else { Origin::Agent };
        let turn = |text: &LiveText| {
            let body = TurnBody::AssistantText(AssistantText {
                content: text.text.clone(),
                status: TextStatus::Interrupted,
                model: text.model.clone(),
                provider_data: None,
            });
            let author = Author::Agent(text.agent.clone());
            Turn { id: text.turn, lane: text.lane, author, origin, ..self.mark(run, body) }
        };
        Ok(noted.iter().filter(is_new).map(turn).collect())
    }

    fn interrupted(&self, run: RunId, used: &UsedSoFar) -> Turn {
        let end = RunEnd {
            status: RunStatus::Interrupted,
            usage: used.usage,
            cost: used.usage.cost,
            model: used.model.clone(),
            error: Some(Fault::plain(ErrorCode::Interrupted)),
        };
        self.mark(run, TurnBody::RunEnd(end))
    }

    fn mark(&self, run: RunId, body: TurnBody) -> Turn {
        Turn {
            id: self.ids.turn(),
            ts: self.ids.now(),
            run: Some(run),
            lane: LaneId::default(),
            author: Author::System,
            origin: Origin::Agent,
            body,
            extra: Map::new(),
        }
    }
}

/// How far the log got with a run.
enum LogProgress {
    Absent,
    Started(UsedSoFar),
    /// The run ended, and only the ledger does not say so.
    Ended(RunStatus, UsedSoFar),
}
