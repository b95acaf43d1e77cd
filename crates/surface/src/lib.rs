//! The common view of a run for all surfaces: one fold from its events to text, tool lines,
//! proposals, errors and the end.
//!
//! HTTP, the socket and the connectors all begin here and differ only in how they write the parts.
//! No wire format, no I/O and no clock may enter: the same events always give the same parts.

mod fold;
mod reply;
mod words;

use onyx_types::Envelope;

pub use fold::{Part, RunFold};
pub use reply::{ChatReply, Collect, DraftView, ToolState, ToolView};
pub use words::{PARAGRAPH, Words};

/// Writes the events of one run as frames of one surface.
pub trait Encoder {
    type Frame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<Self::Frame>;

    /// Ends the encoding, because nothing more comes.
    fn finish(&mut self) -> Vec<Self::Frame>;
}
