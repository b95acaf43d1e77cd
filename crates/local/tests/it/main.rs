//! Weights and vectors with the real files and the real process.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod embedding;
mod file;
mod gguf;
mod pull;
mod runtime;
mod support;
mod weights;
