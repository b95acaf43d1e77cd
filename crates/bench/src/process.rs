//! What the kernel knows of a running process: its CPU time and its memory.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use onyx_test_support::OnyxProcess;

/// The CPU time of all threads of a process, those that ended included.
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

/// Resident memory in bytes, shared pages counted whole.
pub(crate) fn resident_bytes(process: &OnyxProcess) -> Result<u64> {
    resident_bytes_of(process_id(process)?)
}

/// The processes that it has started.
pub(crate) fn children(process: &OnyxProcess) -> Result<Vec<u32>> {
    let parent = process_id(process)?;
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{parent}/task"))? {
        let ids = std::fs::read_to_string(task?.path().join("children"))?;
        children.extend(ids.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    Ok(children)
}

pub(crate) fn resident_bytes_of(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    field_in_kibibytes(&text, "Rss:").map(|kibibytes| kibibytes * 1024)
}

fn process_id(process: &OnyxProcess) -> Result<u32> {
    process.process_id().ok_or_else(|| anyhow!("onyx has ended:\n{}", process.log()))
}

fn field_in_kibibytes(smaps: &str, name: &str) -> Result<u64> {
    let line = smaps.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number
        .with_context(|| format!("smaps_rollup has no {name}"))?
        .parse()
        .context("smaps_rollup holds no number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_line_of_that_name() {
        let smaps = "55d0-7ffc ---p 00000000 00:00 0 [rollup]\nRss:               12345 kB\nPss:                 999 kB\n";
        assert_eq!(field_in_kibibytes(smaps, "Rss:").unwrap(), 12345);
        assert!(field_in_kibibytes(smaps, "Swap:").is_err());
    }
}
