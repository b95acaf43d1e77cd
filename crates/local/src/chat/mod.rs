//! Language models from GGUF files.

mod calls;
mod encode;
mod model;
mod template;

pub(crate) use encode::Ability;
pub(crate) use model::LocalModel;
pub(crate) use template::Template;
