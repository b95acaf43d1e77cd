use std::ffi::c_void;

use super::layout::RawBatch;
use super::{Model, Token};

/// The limits of a context.
pub(in crate::llama) struct Room {
    pub(in crate::llama) window: u32,
    pub(in crate::llama) batch: u32,
    pub(in crate::llama) sequences: u32,
    pub(in crate::llama) threads: i32,
}

/// A model's working memory: the cache of several conversations.
pub(in crate::llama) struct Context<'m> {
    pub(super) model: &'m Model,
    pub(super) raw: *mut c_void,
}

impl<'m> Context<'m> {
    /// Makes a context; `None` if there is not enough memory.
    pub(in crate::llama) fn new(model: &'m Model, room: &Room) -> Option<Self> {
        // SAFETY: the parameters begin with the library's defaults; the model outlives the context.
        let raw = unsafe {
            let mut params = (model.functions.llama_context_default_params)();
            params.n_ctx = room.window;
            params.n_batch = room.batch;
            params.n_ubatch = room.batch;
            params.n_seq_max = room.sequences;
            params.n_threads = room.threads;
            params.n_threads_batch = room.threads;
            params.kv_unified = true;
            (model.functions.llama_init_from_model)(model.raw, params)
        };
        (!raw.is_null()).then_some(Self { model, raw })
    }

    /// Forgets a conversation from a position on. `false`: this kind of model cannot forget only a
    /// part.
    pub(in crate::llama) fn forget(&mut self, sequence: i32, from: i32) -> bool {
        const TO_THE_END: i32 = -1;
        // SAFETY: the memory belongs to this context, which is alive.
        unsafe {
            let memory = (self.model.functions.llama_get_memory)(self.raw);
            (self.model.functions.llama_memory_seq_rm)(memory, sequence, from, TO_THE_END)
        }
    }

    /// How many threads work on the next batches.
    pub(in crate::llama) fn set_threads(&mut self, threads: i32) {
        // SAFETY: the context is alive and not working on a batch.
        unsafe { (self.model.functions.llama_set_n_threads)(self.raw, threads, threads) }
    }

    /// Reads a batch. The error is llama.cpp's error code.
    pub(in crate::llama) fn decode(&mut self, batch: &mut Batch) -> Result<(), i32> {
        let mut sequences: Vec<*mut i32> =
            batch.sequences.iter_mut().map(std::ptr::from_mut).collect();
        let raw = RawBatch {
            n_tokens: batch.len(),
            token: batch.tokens.as_mut_ptr(),
            embd: std::ptr::null_mut(),
            pos: batch.positions.as_mut_ptr(),
            n_seq_id: batch.sequence_counts.as_mut_ptr(),
            seq_id: sequences.as_mut_ptr(),
            logits: batch.outputs.as_mut_ptr(),
        };
        // SAFETY: every array has `n_tokens` entries and lives until the call returns, which keeps none of them.
        match unsafe { (self.model.functions.llama_decode)(self.raw, raw) } {
            0 => Ok(()),
            error => Err(error),
        }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the context was made once and is freed once.
        unsafe { (self.model.functions.llama_free)(self.raw) }
    }
}

/// Tokens of several conversations that are read at once.
#[derive(Default)]
pub(in crate::llama) struct Batch {
    tokens: Vec<i32>,
    positions: Vec<i32>,
    sequences: Vec<i32>,
    sequence_counts: Vec<i32>,
    outputs: Vec<i8>,
}

/// Whether the prediction after a token is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::llama) enum Output {
    Wanted,
    NotNeeded,
}

impl Batch {
    pub(in crate::llama) fn clear(&mut self) {
        self.tokens.clear();
        self.positions.clear();
        self.sequences.clear();
        self.sequence_counts.clear();
        self.outputs.clear();
    }

    pub(in crate::llama) fn add(
        &mut self,
        token: Token,
        position: i32,
        sequence: i32,
        output: Output,
    ) {
        self.tokens.push(token.0);
        self.positions.push(position);
        self.sequences.push(sequence);
        self.sequence_counts.push(1);
        self.outputs.push(i8::from(output == Output::Wanted));
    }

    pub(in crate::llama) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub(in crate::llama) fn len(&self) -> i32 {
        i32::try_from(self.tokens.len()).unwrap_or(i32::MAX)
    }
}
