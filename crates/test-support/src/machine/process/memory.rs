//! Measures how much memory a process uses.

use std::time::Duration;

use super::OnyxProcess;

/// The time between two measurements. It is longer than a server needs for work that it left until
/// after its start, and for ending a process.
const LOOK: Duration = Duration::from_millis(500);
const LOOKS: u32 = 60;
/// How much the memory may change while nothing happens.
const NOISE: u64 = 512 * 1024;

/// The resident memory in bytes; code and shared pages are counted completely. It is `Rss` of
/// `smaps_rollup`, which is exact, unlike `statm`. `None` if the process has ended.
pub fn resident_bytes_of(process: u32) -> Option<u64> {
    rolled_up(process, "Rss:")
}

/// The memory in bytes that the process allocated and wrote to, without code and other files, which
/// the kernel maps and unmaps as it likes. `None` if the process has ended.
pub fn anonymous_bytes_of(process: u32) -> Option<u64> {
    rolled_up(process, "Anonymous:")
}

fn rolled_up(process: u32, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

impl OnyxProcess {
    /// The resident memory, including the code.
    pub fn resident_bytes(&self) -> u64 {
        let bytes = self.process_id().and_then(resident_bytes_of);
        bytes.unwrap_or_else(|| panic!("onyx has ended:\n{}", self.log()))
    }

    /// The resident memory once two measurements agree: memory for the last event is freed by then.
    pub async fn settled_bytes(&self) -> u64 {
        let mut before = self.resident_bytes();
        for _ in 0..LOOKS {
            tokio::time::sleep(LOOK).await;
            let now = self.resident_bytes();
            if now.abs_diff(before) <= NOISE {
                return now;
            }
            before = now;
        }
        panic!("its memory does not settle: {before} bytes at last");
    }

    /// The process's own resident memory, without code and other files, which the kernel maps and
    /// unmaps as it likes.
    pub fn own_bytes(&self) -> u64 {
        let fields = self.proc_fields("statm");
        let pages = |index: usize| fields[index].parse::<u64>().expect("a number of pages");
        (pages(1) - pages(2)) * rustix::param::page_size() as u64
    }
}
