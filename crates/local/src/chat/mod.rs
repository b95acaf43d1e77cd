//! Language models from GGUF files.

mod calls;
mod encode;
mod model;
#[cfg(any(test, feature = "llama"))]
mod template;

pub(crate) use encode::{Ability, Chat};
pub(crate) use model::LocalModel;
#[cfg(feature = "llama")]
pub(crate) use template::Template;
