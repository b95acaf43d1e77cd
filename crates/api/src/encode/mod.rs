//! One pure encoder per surface: a fold from the run's events to the surface's frames.

mod collect;
mod ndjson;
mod persona;
mod text;
pub mod v1;
mod ws;

use onyx_types::Envelope;

pub use collect::{ChatReply, Collect, DraftView, ToolView};
pub use ndjson::{CallName, Ndjson};
pub(crate) use ndjson::{Line, OlderLine};
pub(crate) use persona::PersonaEvent;
pub use persona::PersonaFrames;
pub(crate) use text::PARAGRAPH;
pub use ws::{RunFrame, WsFrames};

/// A fold over the events of one run. No I/O, no clock.
pub trait Encoder {
    type Frame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Self::Frame>;

    /// Nothing more comes.
    fn finish(&mut self) -> Vec<Self::Frame>;
}
