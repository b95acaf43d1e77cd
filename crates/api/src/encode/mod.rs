//! One pure encoder per surface: a fold from the run's events to the surface's frames.

mod collect;
mod companion;
mod ndjson;
mod persona;
mod sse;
mod text;
mod thread;
mod ui_message;
pub mod v1;
mod ws;

use onyx_types::Envelope;

pub use collect::{ChatReply, Collect, DraftView, ToolView};
pub(crate) use companion::{CompanionEvent, ToolState};
pub use companion::{CompanionFrames, ToldFrom};
pub use ndjson::{CallName, Ndjson};
pub(crate) use ndjson::{Line, OlderLine};
pub(crate) use persona::PersonaEvent;
pub use persona::PersonaFrames;
pub use sse::SseFrame;
pub(crate) use text::PARAGRAPH;
pub use thread::ThreadFrames;
pub(crate) use thread::{ThreadEvent, answer_id};
pub use ui_message::UiMessageFrames;
pub use ws::{RunFrame, WsFrames};

/// A fold over the events of one run. No I/O, no clock.
pub trait Encoder {
    type Frame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Self::Frame>;

    /// Nothing more comes.
    fn finish(&mut self) -> Vec<Self::Frame>;
}
