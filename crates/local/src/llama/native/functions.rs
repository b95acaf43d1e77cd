//! The C functions that are called, and where their addresses come from.

use std::ffi::{c_char, c_void};

use super::layout::{ChainParams, ContextParams, Log, ModelParams, RawBatch};

/// Declares a table of C functions that can be filled from a loaded library and, for the compiled-in
/// llama.cpp, by the linker.
macro_rules! table {
    ($(#[$meta:meta])* $table:ident { $(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$meta])*
        pub(super) struct $table {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks up every function now, so that an absent one is an error and not a later
            /// crash.
            pub(super) fn loaded(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the types are those of the pinned release's header.
                    $($name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? },)*
                })
            }
        }
    };
}

/// Takes the functions of a table from the linker.
macro_rules! linked {
    ($table:ident { $(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        #[cfg(feature = "llama")]
        impl $table {
            pub(super) fn linked() -> Self {
                use llama_cpp_sys_2 as _;
                unsafe extern "C" {
                    $(fn $name($(_: $argument),*) $(-> $result)?;)*
                }
                Self { $($name),* }
            }
        }
    };
}

macro_rules! both {
    ($table:ident $functions:tt) => {
        table! { $table $functions }
        linked! { $table $functions }
    };
}

both! { Functions {
    fn llama_log_set(Log, *mut c_void);
    fn llama_backend_init();
    fn llama_model_default_params() -> ModelParams;
    fn llama_model_load_from_file(*const c_char, ModelParams) -> *mut c_void;
    fn llama_model_free(*mut c_void);
    fn llama_model_get_vocab(*const c_void) -> *const c_void;
    fn llama_model_chat_template(*const c_void, *const c_char) -> *const c_char;
    fn llama_vocab_n_tokens(*const c_void) -> i32;
    fn llama_vocab_bos(*const c_void) -> i32;
    fn llama_vocab_eos(*const c_void) -> i32;
    fn llama_vocab_get_add_bos(*const c_void) -> bool;
    fn llama_vocab_is_control(*const c_void, i32) -> bool;
    fn llama_vocab_is_eog(*const c_void, i32) -> bool;
    fn llama_tokenize(*const c_void, *const c_char, i32, *mut i32, i32, bool, bool) -> i32;
    fn llama_token_to_piece(*const c_void, i32, *mut c_char, i32, i32, bool) -> i32;
    fn llama_context_default_params() -> ContextParams;
    fn llama_init_from_model(*mut c_void, ContextParams) -> *mut c_void;
    fn llama_free(*mut c_void);
    fn llama_set_n_threads(*mut c_void, i32, i32);
    fn llama_get_memory(*const c_void) -> *mut c_void;
    fn llama_memory_seq_rm(*mut c_void, i32, i32, i32) -> bool;
    fn llama_decode(*mut c_void, RawBatch) -> i32;
    fn llama_sampler_chain_default_params() -> ChainParams;
    fn llama_sampler_chain_init(ChainParams) -> *mut c_void;
    fn llama_sampler_chain_add(*mut c_void, *mut c_void);
    fn llama_sampler_init_grammar(*const c_void, *const c_char, *const c_char) -> *mut c_void;
    fn llama_sampler_init_penalties(i32, i32, f32, f32, f32) -> *mut c_void;
    fn llama_sampler_init_top_k(i32) -> *mut c_void;
    fn llama_sampler_init_top_p(f32, usize) -> *mut c_void;
    fn llama_sampler_init_temp(f32) -> *mut c_void;
    fn llama_sampler_init_dist(u32) -> *mut c_void;
    fn llama_sampler_init_greedy() -> *mut c_void;
    fn llama_sampler_sample(*mut c_void, *mut c_void, i32) -> i32;
    fn llama_sampler_free(*mut c_void);
}}

table! {
    /// The functions that load backends. Only the loaded library has its backends in separate
    /// files.
    Backends {
        fn ggml_backend_load_all_from_path(*const c_char);
        fn ggml_backend_dev_count() -> usize;
    }
}
