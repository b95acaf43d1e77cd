//! llama.cpp through its C interface: the only unsafe code of this crate.
//!
//! Why unsafe: a library that is loaded at run time cannot be checked by the compiler. What is done
//! instead: the library is pinned byte for byte and checked before it is loaded; the layouts are
//! those of its release, and a test compares them with what the library itself fills in; only the
//! functions listed in `functions` are called; every pointer is owned by one of the types below,
//! which frees it once and does not outlive what it points into.
//!
//! The same interface is served by llama.cpp compiled into the binary (feature `llama`), for
//! machines without a package.

#![allow(unsafe_code, reason = "llama.cpp is a C library; see the module's documentation")]

mod context;
mod functions;
mod layout;
mod model;
mod sampler;

#[cfg(test)]
mod tests;

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use functions::Functions;

pub(super) use context::{Batch, Context, Output, Room};
pub(super) use model::{First, Marks, Model, Token};
pub(super) use sampler::{Sampler, Sampling};

use crate::weights::LIBLLAMA;

/// llama.cpp, ready to load a model. It stays in memory until the process ends: each process has
/// one model, and unloading a library whose threads may still run is not safe.
#[derive(Clone, Copy)]
pub(super) struct Llama {
    functions: &'static Functions,
}

impl Llama {
    /// Loads the library of a checked folder, and its best backend for this processor.
    pub(super) fn load(folder: &Path) -> Result<Self, String> {
        let path = folder.join(LIBLLAMA);
        // SAFETY: the file is the pinned library; the code that it runs on loading is part of it.
        let library =
            unsafe { libloading::Library::new(&path) }.map_err(|error| error.to_string())?;
        let functions = Functions::loaded(&library).map_err(|error| error.to_string())?;
        let backends = functions::Backends::loaded(&library).map_err(|error| error.to_string())?;
        std::mem::forget(library);
        let llama = Self::begin(functions);
        let folder = CString::new(folder.as_os_str().as_bytes())
            .map_err(|_| "the folder's name holds a zero byte".to_owned())?;
        // SAFETY: the text ends with a zero byte and is read during the call only.
        unsafe { (backends.ggml_backend_load_all_from_path)(folder.as_ptr()) };
        // SAFETY: the function takes no argument.
        if unsafe { (backends.ggml_backend_dev_count)() } == 0 {
            return Err("none of its backends can work on this processor".to_owned());
        }
        Ok(llama)
    }

    /// The library that was compiled into this binary.
    #[cfg(feature = "llama")]
    pub(super) fn compiled_in() -> Self {
        Self::begin(Functions::linked())
    }

    fn begin(functions: Functions) -> Self {
        let functions: &'static Functions = Box::leak(Box::new(functions));
        // SAFETY: the callback has the required type and reads nothing.
        unsafe { (functions.llama_log_set)(Some(say_nothing), std::ptr::null_mut()) };
        // SAFETY: the function is called once, before any other of the library.
        unsafe { (functions.llama_backend_init)() };
        Self { functions }
    }
}

/// Discards llama.cpp's log. It logs a great deal while it loads a model, and its results tell a
/// person enough.
extern "C" fn say_nothing(_level: c_int, _text: *const c_char, _data: *mut c_void) {}
