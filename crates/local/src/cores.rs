//! The number of cores that may be used.

use std::collections::BTreeSet;
use std::path::Path;

/// The number of physical cores, but never more than this process may use. A second thread on a
/// core does not make arithmetic faster.
pub(crate) fn physical_cores() -> usize {
    let usable = std::thread::available_parallelism().map_or(2, usize::from);
    counted(Path::new("/sys/devices/system/cpu")).map_or(usable, |cores| cores.min(usable)).max(1)
}

/// The number of groups of threads that share a core; `None` if the system does not report it.
fn counted(folder: &Path) -> Option<usize> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let siblings = entries.filter_map(|entry| {
        std::fs::read_to_string(entry.path().join("topology/thread_siblings_list")).ok()
    });
    let groups: BTreeSet<String> = siblings.collect();
    (!groups.is_empty()).then_some(groups.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_one_core_count_once() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(counted(folder.path()), None);
        for (cpu, siblings) in [("cpu0", "0-1"), ("cpu1", "0-1"), ("cpu2", "2-3"), ("cpu3", "2-3")]
        {
            let topology = folder.path().join(cpu).join("topology");
            std::fs::create_dir_all(&topology).unwrap();
            std::fs::write(topology.join("thread_siblings_list"), siblings).unwrap();
        }
        std::fs::create_dir_all(folder.path().join("cpufreq")).unwrap();

        assert_eq!(counted(folder.path()), Some(2));
    }
}
