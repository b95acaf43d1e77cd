//! Notes of streaming text, so that a crash loses at most the last quarter of a second of it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_storage::{Lease, LiveText, StoreError, TurnLog};
use onyx_types::{Clock, Event, LaneId, Turn};

const EVERY: Duration = Duration::from_millis(250);

/// Streamed text that is neither in the log nor in the saved notes yet.
pub(crate) struct LiveNotes {
    model: String,
    unsaved: Vec<LiveText>,
    due: Option<Duration>,
    saved_any: bool,
    /// The save at work. There is only one at a time, so that pieces are saved in their order.
    saving: Option<Saving>,
}

type Saving = BoxFuture<'static, Result<(), (Vec<LiveText>, StoreError)>>;

impl LiveNotes {
    pub(crate) fn new(model: String) -> Self {
        Self { model, unsaved: Vec::new(), due: None, saved_any: false, saving: None }
    }

    /// When `save` must be called at the latest; never while there is nothing to save or a save is
    /// at work.
    pub(crate) fn due(&self) -> Duration {
        self.due.filter(|_| self.saving.is_none()).unwrap_or(Duration::MAX)
    }

    pub(crate) fn add(&mut self, lane: LaneId, event: &Event, clock: &dyn Clock) {
        let Event::TextDelta { turn_id, agent, text } = event else { return };
        self.due.get_or_insert_with(|| clock.now().mono + EVERY);
        match self.unsaved.iter_mut().find(|piece| piece.turn == *turn_id) {
            Some(piece) => piece.text.push_str(text),
            None => self.unsaved.push(LiveText {
                turn: *turn_id,
                lane,
                agent: agent.clone(),
                model: self.model.clone(),
                text: text.clone(),
            }),
        }
    }

    /// Drops the pieces of these turns: the log holds them now.
    pub(crate) fn written(&mut self, turns: &[Turn]) {
        self.unsaved.retain(|piece| !turns.iter().any(|turn| turn.id == piece.turn));
        if self.unsaved.is_empty() {
            self.due = None;
        }
    }

    /// Begins to save the text; the answer continues meanwhile.
    pub(crate) fn save(&mut self, turns: &Arc<dyn TurnLog>, lease: &Lease) {
        self.due = None;
        if self.unsaved.is_empty() {
            return;
        }
        self.saved_any = true;
        let (turns, lease) = (Arc::clone(turns), lease.clone());
        let pieces = std::mem::take(&mut self.unsaved);
        self.saving = Some(Box::pin(async move {
            let noted = turns.note_live(&lease, &pieces).await;
            noted.map_err(|error| (pieces, error))
        }));
    }

    /// Returns when the save at work has ended.
    pub(crate) async fn saved(&mut self, lease: &Lease, clock: &dyn Clock) {
        let Some(saving) = &mut self.saving else { return };
        let noted = saving.await;
        self.saving = None;
        if let Err((mut pieces, error)) = noted {
            // No text is lost: the log gets the whole answer at its end. The pieces are saved
            // together with the next ones, so that the notes have no gap.
            for later in self.unsaved.drain(..) {
                match pieces.iter_mut().find(|piece| piece.turn == later.turn) {
                    Some(piece) => piece.text.push_str(&later.text),
                    None => pieces.push(later),
                }
            }
            self.unsaved = pieces;
            self.due = Some(clock.now().mono + EVERY);
            tracing::warn!(session = %lease.key.session, %error, "live text could not be saved");
        }
    }

    pub(crate) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Waits for the save at work and says whether there are notes to be removed. It is called when
    /// the last turns are about to be written, or were.
    pub(crate) async fn has_any(&mut self) -> bool {
        if let Some(saving) = self.saving.take() {
            // A failed save does not matter here, because the log is about to hold the whole turn.
            let _ = saving.await;
        }
        self.saved_any
    }

    pub(crate) async fn clear(&mut self, turns: &dyn TurnLog, lease: &Lease) {
        if !self.has_any().await {
            return;
        }
        if let Err(error) = turns.clear_live(lease).await {
            // Recovery ignores notes whose turns are in the log, so nothing else has to be done.
            tracing::warn!(session = %lease.key.session, %error, "live text could not be removed");
        }
    }
}
