//! Notes of streaming text, so that a crash loses at most the last quarter of a second of it.

use std::time::Duration;

use onyx_storage::{Lease, LiveText, Store};
use onyx_types::{Event, LaneId, Turn};

const EVERY: Duration = Duration::from_millis(250);

/// What was said and is neither in the log nor in the notes yet.
pub(crate) struct LiveNotes {
    model: String,
    unsaved: Vec<LiveText>,
    due: Option<Duration>,
    saved_any: bool,
}

impl LiveNotes {
    pub(crate) fn new(model: String) -> Self {
        Self { model, unsaved: Vec::new(), due: None, saved_any: false }
    }

    /// When `save` must be called at the latest; far away while nothing is said.
    pub(crate) fn due(&self) -> Duration {
        self.due.unwrap_or(Duration::MAX)
    }

    pub(crate) fn hear(&mut self, lane: LaneId, event: &Event, now: Duration) {
        let Event::TextDelta { turn_id, agent, text } = event else { return };
        self.due.get_or_insert(now + EVERY);
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

    /// These turns are in the log: no note is needed any more.
    pub(crate) fn written(&mut self, turns: &[Turn]) {
        self.unsaved.retain(|piece| !turns.iter().any(|turn| turn.id == piece.turn));
        if self.unsaved.is_empty() {
            self.due = None;
        }
    }

    pub(crate) async fn save(&mut self, store: &Store, lease: &Lease, now: Duration) {
        self.due = None;
        if self.unsaved.is_empty() {
            return;
        }
        self.saved_any = true;
        match store.turns.note_live(lease, &self.unsaved).await {
            Ok(()) => self.unsaved.clear(),
            Err(error) => {
                // The answer itself is not in danger: it is written, and any failure told, at its
                // end. The pieces are tried again with the next: a note has no hole in it.
                self.due = Some(now + EVERY);
                tracing::warn!(session = %lease.key.session, %error, "live text could not be noted");
            }
        }
    }

    pub(crate) async fn clear(&self, store: &Store, lease: &Lease) {
        if !self.saved_any {
            return;
        }
        if let Err(error) = store.turns.clear_live(lease).await {
            // Its turns are in the log, so recovery knows the notes for what they are.
            tracing::warn!(session = %lease.key.session, %error, "live text could not be removed");
        }
    }
}
