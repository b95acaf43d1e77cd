//! Answers of models that are asked without an agent: they pass through from the provider to the
//! client.
//!
//! The routes of other makers' formats and `/api/v1/chat` use this. Nothing of such an answer is
//! stored except responses that their client wants to continue (`stored.rs`), and none of our tools
//! runs in it.

mod model_answer;
mod stored;
mod under_way;

pub(crate) use model_answer::ModelAnswer;
pub(crate) use stored::{StoredConversation, StoredResponse, StoredResponses};
pub use under_way::PassThrough;
pub(crate) use under_way::UnderWay;
