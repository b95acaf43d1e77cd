//! One pure encoder per format: from the parts of a run, which are the same for every surface, to
//! the format's frames.

mod camel;
mod companion;
mod ndjson;
mod persona;
mod sse;
mod thread;
mod ui_message;
mod ui_run;
pub mod v1;
mod ws;

pub(crate) use camel::{CamelCase, camel_json};
pub(crate) use companion::CompanionEvent;
pub use companion::{CompanionFrames, EventsFrom};
pub use ndjson::{CallName, Ndjson};
pub(crate) use ndjson::{Line, OlderLine};
pub(crate) use persona::PersonaEvent;
pub use persona::PersonaFrames;
pub use sse::SseFrame;
pub use thread::ThreadFrames;
pub(crate) use thread::{ThreadEvent, answer_id};
pub use ui_message::UiMessageFrames;
pub(crate) use ui_run::UiRunFrames;
pub use ws::{RunFrame, WsFrames};
