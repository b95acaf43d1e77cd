//! Checks whether a model fits into memory before its process could take the machine down.

use std::path::Path;

use crate::gguf::Gguf;

/// The memory that llama.cpp needs beside weights and cache.
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
        // If the system does not report its free memory, the model is loaded without a check.
        Some(_) | None => Ok(()),
    }
}

fn needed(model: &Gguf, window: u32) -> u64 {
    let cache = model.bytes_per_token.saturating_mul(u64::from(window));
    model.bytes.saturating_add(cache).saturating_add(WORKSPACE)
}

/// The free memory of the machine, or of the container that this process runs in.
fn available() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| free(&text));
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let limited = group.and_then(|group| free_within(Path::new("/sys/fs/cgroup"), group));
    machine.into_iter().chain(limited).min()
}

/// The free memory as Linux estimates it: what can be used without swapping.
fn free(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The least free memory of a control group and those around it; `None` if none has a limit.
fn free_within(root: &Path, group: &str) -> Option<u64> {
    let folder = root.join(group);
    let around = folder.ancestors().take_while(|folder| folder.starts_with(root));
    around.filter_map(bytes_left).min()
}

fn bytes_left(folder: &Path) -> Option<u64> {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    // Without a limit the file contains `max`.
    let most: u64 = read("memory.max")?.trim().parse().ok()?;
    let taken: u64 = read("memory.current")?.trim().parse().ok()?;
    // Pages of files that were not used lately count as taken, but the system frees them when
    // needed.
    let stat = read("memory.stat").unwrap_or_default();
    let resting = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let resting: u64 = resting.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
    Some(most.saturating_sub(taken.saturating_sub(resting)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tightest_group_around_leaves_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("box/onyx");
        std::fs::create_dir_all(&group).unwrap();
        assert_eq!(free_within(root.path(), "box/onyx"), None);

        let write = |folder: &Path, most: &str| {
            std::fs::write(folder.join("memory.max"), most).unwrap();
            std::fs::write(folder.join("memory.current"), "300\n").unwrap();
            std::fs::write(folder.join("memory.stat"), "anon 9\ninactive_file 100\n").unwrap();
        };
        write(&group, "max\n");
        assert_eq!(free_within(root.path(), "box/onyx"), None);
        write(&root.path().join("box"), "1000\n");
        assert_eq!(free_within(root.path(), "box/onyx"), Some(800));
        write(&group, "250\n");
        assert_eq!(free_within(root.path(), "box/onyx"), Some(50));
    }

    #[test]
    fn a_model_that_cannot_fit_is_refused_with_both_numbers() {
        let vast = Gguf { bytes: 1 << 60, ..Gguf::default() };
        let why = check(&vast, 8192).unwrap_err();
        assert!(why.contains("1152921") && why.contains("MB are free"), "{why}");
        assert_eq!(free("MemTotal: 9 kB\nMemAvailable:   2 kB\n"), Some(2048));
    }
}
