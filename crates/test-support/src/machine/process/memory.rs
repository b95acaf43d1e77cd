//! How much memory a process holds.

use std::time::Duration;

use super::OnyxProcess;

/// Longer than what a server leaves until after its start, and than it takes to end a process.
const LOOK: Duration = Duration::from_millis(500);
const LOOKS: u32 = 60;
/// Pages that come and go while nothing happens.
const NOISE: u64 = 512 * 1024;

/// Resident memory in bytes, code and shared pages counted whole: `Rss` of `smaps_rollup`, which is
/// exact where `statm` lags behind. `None`: it has ended.
pub fn resident_bytes_of(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

impl OnyxProcess {
    /// Resident memory, its code included.
    pub fn resident_bytes(&self) -> u64 {
        let bytes = self.process_id().and_then(resident_bytes_of);
        bytes.unwrap_or_else(|| panic!("onyx has ended:\n{}", self.log()))
    }

    /// Resident memory once two looks at it agree: what the last event needed is given back by
    /// then.
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

    /// Resident memory of its own: without its code and other files, which the kernel maps and
    /// unmaps as it likes.
    pub fn own_bytes(&self) -> u64 {
        let fields = self.proc_fields("statm");
        let pages = |index: usize| fields[index].parse::<u64>().expect("a number of pages");
        (pages(1) - pages(2)) * rustix::param::page_size() as u64
    }
}
