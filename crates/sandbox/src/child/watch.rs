//! The bounds of a command as a whole, which no limit of one process enforces: how many processes
//! there are, and how much memory and disk all of them use. They are checked from outside a few
//! times a second, and at once when the machine has many more tasks than before: a fork bomb
//! doubles faster than that, and the kernel's own limit of processes does not bind root.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, getppid, kill_current_process_group};

use super::say;
use crate::sandboxed_command::ChildInstructions;

const EVERY: Duration = Duration::from_millis(150);
const GLANCE: Duration = Duration::from_millis(10);

/// Ends everything, including this process, when a bound is exceeded or the caller is gone.
#[allow(clippy::disallowed_methods, reason = "this thread does nothing else")]
pub(super) fn watch(instructions: &ChildInstructions) {
    let free = free_space(&instructions.sandboxed.scratch);
    loop {
        if let Some(why) = met(instructions, free) {
            say(&format!("[sandbox: stopped: {why}]"));
            // This cannot fail, because it is our own group. The command cannot leave the group.
            let _ = kill_current_process_group(Signal::KILL);
        }
        let (looked, tasks) = (Instant::now(), tasks());
        while looked.elapsed() < EVERY
            && self::tasks() <= tasks + instructions.sandboxed.bounds.processes / 2
        {
            std::thread::sleep(GLANCE);
        }
    }
}

/// The number of all tasks of the machine, read from one small file.
pub(super) fn tasks() -> usize {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let total = load.split_whitespace().nth(3).and_then(|tasks| tasks.split_once('/'));
    total.and_then(|(_, total)| total.parse().ok()).unwrap_or_default()
}

fn met(instructions: &ChildInstructions, free_at_start: u64) -> Option<String> {
    let bounds = &instructions.sandboxed.bounds;
    if getppid().map(Pid::as_raw_pid) != Some(instructions.parent) {
        return Some("the process that started it is gone".to_owned());
    }
    let usage = usage(bounds.processes);
    if usage.processes > bounds.processes {
        return Some(format!("more than {} processes", bounds.processes));
    }
    if usage.memory > bounds.memory {
        return Some(format!("more than {} MiB of memory", bounds.memory / (1024 * 1024)));
    }
    let used = free_at_start.saturating_sub(free_space(&instructions.sandboxed.scratch));
    (used > bounds.disk).then(|| format!("the disk lost {} MiB while it ran", used / (1024 * 1024)))
}

struct Usage {
    processes: usize,
    memory: u64,
}

/// The resources that all processes of our session except this one use. Counting stops one above
/// the limit, because counting a fork bomb to its end would take longer than it takes to grow.
fn usage(most: usize) -> Usage {
    let own = getpid().as_raw_pid();
    let mut usage = Usage { processes: 0, memory: 0 };
    // Without a list of processes there is nothing to count; the kernel's own limits still apply.
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        if let Some((session, pages)) = session_and_pages(&stat)
            && session == own
            && id != own
        {
            usage.processes += 1;
            usage.memory += pages * rustix::param::page_size() as u64;
            if usage.processes > most {
                break;
            }
        }
    }
    usage
}

/// Fields 6 and 24 of `/proc/<id>/stat`. The name before them may contain anything but ends with
/// the last bracket.
fn session_and_pages(stat: &str) -> Option<(i32, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let session = fields.nth(3)?.parse().ok()?;
    let pages = fields.nth(17)?.parse().ok()?;
    Some((session, pages))
}

fn free_space(folder: &Path) -> u64 {
    match rustix::fs::statvfs(folder) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_found_behind_any_name() {
        let stat = "42 (a) (b 7) S 1 2 33 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 444 22";
        assert_eq!(session_and_pages(stat), Some((33, 444)));
    }
}
