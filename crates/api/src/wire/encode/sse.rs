use axum::response::sse::Event;
use serde::Serialize;

use crate::wire::FieldNames;

/// One server-sent event: its name, its position in the stream, and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseFrame {
    /// Empty where the stream cannot be resumed at this event: the client then keeps its last id.
    pub id: String,
    pub event: &'static str,
    pub data: String,
}

impl SseFrame {
    pub(super) fn new(
        names: FieldNames,
        id: String,
        event: &'static str,
        data: &impl Serialize,
    ) -> Self {
        Self { id, event, data: names.json_text(data) }
    }
}

impl From<SseFrame> for Event {
    fn from(frame: SseFrame) -> Self {
        let event = Self::default().event(frame.event).data(frame.data);
        if frame.id.is_empty() { event } else { event.id(frame.id) }
    }
}
