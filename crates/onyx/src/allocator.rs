//! How the process gives memory back.

/// Blocks from this size on are the kernel's again as soon as they are free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 128 * 1024;

/// glibc raises that size by itself with each large block it frees, up to 32 MiB; after one long
/// answer the next ones would stay in the heap, mostly empty. Before the first thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "a setting of the allocator that has no safe form")]
pub(crate) fn give_large_blocks_back() {
    // SAFETY: it takes two numbers and changes nothing that is in use; no other thread runs yet.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_large_blocks_back() {}
