//! Language models that llama.cpp runs, in a process of their own.
//!
//! llama.cpp comes as a library that is loaded at run time (`onyx models pull llama.cpp`), or is
//! compiled into the binary (feature `llama`) for machines that have no package. Both are called
//! through `native`, which holds all unsafe code.

mod cache_slot;
mod engine;
mod grammar;
mod native;
mod pace;
mod words;

use std::path::Path;
use std::sync::mpsc::Receiver;

use native::Llama;

use crate::gguf::Gguf;
use crate::memory;
use crate::weights::{ModelsFolder, Runtime};
use crate::worker::{FailedClass, Refusal, Replies, WorkerRequest};

/// What a process must load, and which resources it may use.
pub(crate) struct Load<'a> {
    pub(crate) file: &'a Path,
    /// The path of llama.cpp's library; `None` if it is compiled in.
    pub(crate) library: Option<&'a Path>,
    pub(crate) window: u32,
    pub(crate) threads: usize,
}

impl Load<'_> {
    /// Checks that the file is a complete model and that there is memory for it: llama.cpp aborts
    /// the process otherwise.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let header = Gguf::read(self.file)
            .map_err(|error| (FailedClass::Invalid, format!("{}: {error}", self.file.display())))?;
        memory::check(&header, self.window).map_err(|why| (FailedClass::Unavailable, why))
    }
}

/// Runs the process's work: it receives conversations and sends words.
pub(crate) fn work(
    load: &Load<'_>,
    requests: &Receiver<WorkerRequest>,
    replies: &mut Replies,
) -> Result<(), Refusal> {
    let llama = match load.library {
        Some(folder) => loaded(folder)?,
        None => compiled_in()?,
    };
    engine::work(llama, load, requests, replies)
}

/// Checks the library before each use, because it is run as code.
fn loaded(folder: &Path) -> Result<Llama, Refusal> {
    let unusable = |why: String| {
        let message = format!(
            "llama.cpp cannot be used: {why}. Fetch it again: onyx models rm llama.cpp, then onyx \
             models pull llama.cpp"
        );
        (FailedClass::Invalid, message)
    };
    let runtime = Runtime::here().ok_or_else(|| unusable(no_llama()))?;
    runtime.check(folder).map_err(|error| unusable(error.to_string()))?;
    Llama::load(folder).map_err(unusable)
}

#[cfg(feature = "llama")]
#[allow(clippy::unnecessary_wraps, reason = "without the feature there is none")]
fn compiled_in() -> Result<Llama, Refusal> {
    Ok(Llama::compiled_in())
}

#[cfg(not(feature = "llama"))]
fn compiled_in() -> Result<Llama, Refusal> {
    Err((FailedClass::Invalid, no_llama()))
}

const COMPILED_IN: bool = cfg!(feature = "llama");

/// Whether language models can run here.
pub(crate) fn is_here(folder: &ModelsFolder) -> bool {
    COMPILED_IN || folder.runtime().is_some()
}

/// The message for a machine on which language models cannot run.
pub fn no_llama() -> String {
    let way = if Runtime::here().is_some() {
        "fetch it with `onyx models pull llama.cpp`"
    } else {
        "no package is made for this machine, so build it in with `make release`"
    };
    format!(
        "llama.cpp, which runs language models, is not on this machine: {way}, or name another \
         provider in onyx.json"
    )
}

/// Whether `onyx models pull` must fetch the library with a language model.
pub fn wants_llama(folder: &ModelsFolder) -> bool {
    !COMPILED_IN && folder.runtime().is_none() && Runtime::here().is_some()
}
