//! Answers of models that no agent is asked for: they pass through from the provider to the client.
//!
//! The routes of other makers' formats and `/api/v1/chat` come here. Nothing of such an answer is
//! stored but responses that their client wants to come back to (`stored.rs`), and no tool of ours runs in it.

mod model_answer;
mod stored;
mod under_way;

pub(crate) use model_answer::ModelAnswer;
pub(crate) use stored::{StoredConversation, StoredResponse};
pub use under_way::PassThrough;
pub(crate) use under_way::UnderWay;
