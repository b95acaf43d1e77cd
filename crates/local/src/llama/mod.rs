//! Language models by llama.cpp, in a process of their own.

#[cfg(feature = "llama")]
mod engine;
#[cfg(feature = "llama")]
mod slot;
#[cfg(feature = "llama")]
mod words;

use std::path::Path;

use crate::gguf::Gguf;
use crate::memory;
use crate::worker::{FailedClass, Refusal};

/// What a process is to load, and what it may take.
pub(crate) struct Load<'a> {
    pub(crate) file: &'a Path,
    pub(crate) window: u32,
    #[cfg_attr(not(feature = "llama"), expect(dead_code, reason = "only llama.cpp has threads"))]
    pub(crate) threads: usize,
}

impl Load<'_> {
    /// Whether the file is a whole model and there is memory for it: llama.cpp ends the process
    /// over either.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let header = Gguf::read(self.file)
            .map_err(|error| (FailedClass::Invalid, format!("{}: {error}", self.file.display())))?;
        memory::check(&header, self.window).map_err(|why| (FailedClass::Unavailable, why))
    }
}

#[cfg(feature = "llama")]
pub(crate) use engine::work;

/// Whether this binary can run language models.
pub(crate) const BUILT_IN: bool = cfg!(feature = "llama");

#[cfg(not(feature = "llama"))]
pub(crate) fn work(
    _: &Load<'_>,
    _: &std::sync::mpsc::Receiver<crate::worker::Order>,
    _: &mut crate::worker::Replies,
) -> Result<(), Refusal> {
    Err((FailedClass::Invalid, NOT_BUILT_IN.to_owned()))
}

pub const NOT_BUILT_IN: &str = "this binary was built without llama.cpp, so it runs no language model itself: build it with \
     `make run` or `make release`, or name another provider in onyx.json";
