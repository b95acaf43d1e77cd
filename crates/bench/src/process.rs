//! The CPU time and the memory of a running process, as the kernel reports them.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use onyx_test_support::{OnyxProcess, anonymous_bytes_of, resident_bytes_of};

/// The CPU time of all threads of a process, including those that have ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuClock(ClockId);

impl CpuClock {
    pub(crate) fn of(process: &OnyxProcess) -> Result<Self> {
        let id = process_id(process)?;
        let clock = clock_getcpuclockid(Pid::from_raw(id.cast_signed()));
        Ok(Self(clock.context("this system has no CPU clock for another process")?))
    }

    pub(crate) fn now(self) -> Result<Duration> {
        Ok(self.0.now().context("the process has ended")?.into())
    }
}

/// The resident memory in bytes; shared pages are counted completely.
pub(crate) fn resident_bytes(process: &OnyxProcess) -> Result<u64> {
    resident_bytes_of(process_id(process)?).context("onyx has ended, or has no smaps_rollup")
}

/// The memory in bytes that the process allocated.
pub(crate) fn anonymous_bytes(process: &OnyxProcess) -> Result<u64> {
    anonymous_bytes_of(process_id(process)?).context("onyx has ended, or has no smaps_rollup")
}

fn process_id(process: &OnyxProcess) -> Result<u32> {
    process.process_id().ok_or_else(|| anyhow!("onyx has ended:\n{}", process.log()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_written_to_is_resident() {
        // So much that what other tests allocate meanwhile does not matter.
        const BYTES: usize = 256_000_000;
        let before = resident_bytes_of(std::process::id()).unwrap();
        let written = std::hint::black_box(vec![1_u8; BYTES]);
        let grown = resident_bytes_of(std::process::id()).unwrap() - before;
        assert!((240_000_000..290_000_000).contains(&grown), "{grown} of {}", written.len());
        assert_eq!(resident_bytes_of(u32::MAX), None);
    }
}
