//! The structures that are passed by value, as llama.cpp v0.5.0 lays them out. Unused fields keep
//! their names, so that the two can be compared.

#![allow(dead_code, reason = "the layout needs every field, this program only some")]

use std::ffi::{c_char, c_int, c_void};

/// `llama_model_params`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ModelParams {
    pub(super) devices: *const c_void,
    pub(super) tensor_buft_overrides: *const c_void,
    pub(super) n_gpu_layers: i32,
    pub(super) split_mode: c_int,
    pub(super) load_mode: c_int,
    pub(super) lazy_mode: c_int,
    pub(super) main_gpu: i32,
    pub(super) tensor_split: *const f32,
    pub(super) progress_callback: Option<extern "C" fn(f32, *mut c_void) -> bool>,
    pub(super) progress_callback_user_data: *mut c_void,
    pub(super) kv_overrides: *const c_void,
    pub(super) vocab_only: bool,
    pub(super) check_tensors: bool,
    pub(super) use_extra_bufts: bool,
    pub(super) no_host: bool,
    pub(super) no_alloc: bool,
    pub(super) load_mtp: bool,
}

/// `llama_context_params`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ContextParams {
    pub(super) n_ctx: u32,
    pub(super) n_batch: u32,
    pub(super) n_ubatch: u32,
    pub(super) n_seq_max: u32,
    pub(super) n_rs_seq: u32,
    pub(super) n_outputs_max: u32,
    pub(super) n_outputs_max_per_seq: u32,
    pub(super) n_threads: i32,
    pub(super) n_threads_batch: i32,
    pub(super) ctx_type: c_int,
    pub(super) rope_scaling_type: c_int,
    pub(super) pooling_type: c_int,
    pub(super) attention_type: c_int,
    pub(super) flash_attn_type: c_int,
    pub(super) rope_freq_base: f32,
    pub(super) rope_freq_scale: f32,
    pub(super) yarn_ext_factor: f32,
    pub(super) yarn_attn_factor: f32,
    pub(super) yarn_beta_fast: f32,
    pub(super) yarn_beta_slow: f32,
    pub(super) yarn_orig_ctx: u32,
    pub(super) defrag_thold: f32,
    pub(super) cb_eval: *const c_void,
    pub(super) cb_eval_user_data: *mut c_void,
    pub(super) type_k: c_int,
    pub(super) type_v: c_int,
    pub(super) abort_callback: *const c_void,
    pub(super) abort_callback_data: *mut c_void,
    pub(super) embeddings: bool,
    pub(super) offload_kqv: bool,
    pub(super) no_perf: bool,
    pub(super) op_offload: bool,
    pub(super) swa_full: bool,
    pub(super) kv_unified: bool,
    pub(super) samplers: *mut c_void,
    pub(super) n_samplers: usize,
    pub(super) ctx_other: *mut c_void,
}

/// `llama_batch`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawBatch {
    pub(super) n_tokens: i32,
    pub(super) token: *mut i32,
    pub(super) embd: *mut f32,
    pub(super) pos: *mut i32,
    pub(super) n_seq_id: *mut i32,
    pub(super) seq_id: *mut *mut i32,
    pub(super) logits: *mut i8,
}

/// `llama_sampler_chain_params`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ChainParams {
    pub(super) no_perf: bool,
}

/// `ggml_log_callback`
pub(super) type Log = Option<extern "C" fn(c_int, *const c_char, *mut c_void)>;

// The llama.cpp that is compiled in is of another release, so the compiler checks that its layouts
// are the same.
#[cfg(feature = "llama")]
mod alike {
    use std::mem::{offset_of, size_of};

    use llama_cpp_sys_2 as there;

    use super::{ChainParams, ContextParams, ModelParams, RawBatch};

    const _: () = assert!(size_of::<ModelParams>() == size_of::<there::llama_model_params>());
    const _: () = assert!(size_of::<ContextParams>() == size_of::<there::llama_context_params>());
    const _: () = assert!(size_of::<RawBatch>() == size_of::<there::llama_batch>());
    const _: () =
        assert!(size_of::<ChainParams>() == size_of::<there::llama_sampler_chain_params>());

    macro_rules! same_place {
        ($($field:ident),*) => {
            $(const _: () = assert!(
                offset_of!(ContextParams, $field) == offset_of!(there::llama_context_params, $field)
            );)*
        };
    }
    same_place!(n_ctx, n_batch, n_ubatch, n_seq_max, n_threads, n_threads_batch, kv_unified);
}
