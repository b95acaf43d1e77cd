//! Whether a model fits, before a process is started that would take the machine down with it.

use crate::gguf::Gguf;

/// What llama.cpp works with beside weights and cache.
const WORKSPACE: u64 = 64 * 1024 * 1024;

pub(crate) fn check(model: &Gguf, window: u32) -> Result<(), String> {
    let needed = needed(model, window);
    match available() {
        Some(free) if free < needed => Err(format!(
            "the model needs about {} MB of memory and {} MB are free: take a smaller one, or a \
             smaller `contextWindow`",
            needed / 1_000_000,
            free / 1_000_000
        )),
        // Systems that do not say what is free find out by trying.
        Some(_) | None => Ok(()),
    }
}

fn needed(model: &Gguf, window: u32) -> u64 {
    let cache = model.bytes_per_token.saturating_mul(u64::from(window));
    model.bytes.saturating_add(cache).saturating_add(WORKSPACE)
}

/// As Linux reckons it: what can be had without swapping.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}
