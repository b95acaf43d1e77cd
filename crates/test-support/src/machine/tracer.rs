//! Records every system call by which a process changes its files, in one order over all its
//! threads, and can kill the process at exactly one of them. (`strace` counts each thread by itself
//! and so cannot name the k-th write of a process.)

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// The longest path of a system call.
const PATH_LENGTH: usize = 4096;

/// One system call that would change a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub call: &'static str,
    /// The file, or the folder in which a name is created or removed.
    pub at: PathBuf,
}

/// What happens to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lives,
    /// The process is killed with SIGKILL in place of the change with this number, which does not
    /// happen.
    DiesAt(usize),
}

/// A process whose changes are counted until it ends.
#[derive(Debug)]
pub struct Tracer {
    process: Pid,
    thread: JoinHandle<Vec<FileChange>>,
}

impl Tracer {
    /// Attaches to a process and counts from when this function returns. Changes outside of
    /// `folder` (sockets, the log) do not count.
    pub fn attach(process: u32, folder: &Path, fate: Fate) -> Self {
        let folder = folder.canonicalize().expect("the folder is there");
        let process = Pid::from_raw(process.cast_signed());
        let (ready, attached) = mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            attach_threads(process);
            ready.send(()).expect("somebody waits");
            let mut trace =
                Trace { process, folder, fate, inside: HashSet::new(), seen: Vec::new() };
            trace.follow();
            trace.seen
        });
        attached.recv().expect("the process can be traced (ptrace must be permitted)");
        Self { process, thread }
    }

    /// Ends the process if it is alive, and returns the changes until then, including the last one.
    /// The code that started the process must wait for it, but only afterwards, because it would
    /// otherwise receive stops that are meant for the tracer.
    pub fn kill(self) -> Vec<FileChange> {
        let _ = kill(self.process, Signal::SIGKILL);
        self.thread.join().expect("the tracer does not panic")
    }
}

impl Tracer {
    /// Waits until the process has ended or was killed, and returns the changes until then.
    pub fn wait(self) -> Vec<FileChange> {
        self.thread.join().expect("the tracer does not panic")
    }
}

fn attach_threads(process: Pid) {
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE;
    let mut known = HashSet::new();
    loop {
        let before = known.len();
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
        for task in tasks.flatten() {
            let thread = task.file_name().to_string_lossy().parse().map(Pid::from_raw);
            let thread = thread.expect("a thread's number");
            if !known.insert(thread) {
                continue;
            }
            match ptrace::seize(thread, options) {
                Ok(()) => ptrace::interrupt(thread).expect("a thread that was seized stops"),
                // The thread ended meanwhile, or was already traced as the child of a traced one.
                Err(Errno::ESRCH | Errno::EPERM) if known.len() > 1 => {}
                Err(error) => panic!("cannot trace {process}: {error}"),
            }
        }
        if known.len() == before {
            return;
        }
    }
}

struct Trace {
    process: Pid,
    folder: PathBuf,
    fate: Fate,
    /// Threads that have entered a system call and not left it.
    inside: HashSet<Pid>,
    seen: Vec<FileChange>,
}

impl Trace {
    /// Follows the process until it is gone. It waits only for threads of this tracer, so that
    /// other children of the test are left to the code that started them.
    fn follow(&mut self) {
        let own = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let look = own | WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WNOWAIT;
        loop {
            let thread = match waitid(Id::All, look) {
                // The end of the process is left for the code that started it.
                Ok(WaitStatus::Exited(process, _) | WaitStatus::Signaled(process, ..))
                    if process == self.process =>
                {
                    return;
                }
                Ok(status) => status.pid(),
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            let (thread, signal) = match waitpid(thread, Some(own)) {
                Ok(WaitStatus::PtraceSyscall(thread)) => {
                    self.system_call(thread);
                    (thread, None)
                }
                Ok(WaitStatus::PtraceEvent(thread, ..)) => (thread, None),
                Ok(WaitStatus::Stopped(thread, signal)) => (thread, Some(signal)),
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            // If the thread died meanwhile, the next wait reports that.
            let _ = ptrace::syscall(thread, signal);
        }
    }

    fn system_call(&mut self, thread: Pid) {
        if !self.inside.insert(thread) {
            self.inside.remove(&thread);
            return;
        }
        let Some(change) = self.change(thread) else { return };
        self.seen.push(change);
        if self.fate == Fate::DiesAt(self.seen.len()) {
            let _ = kill(self.process, Signal::SIGKILL);
        }
    }

    fn change(&self, thread: Pid) -> Option<FileChange> {
        let (number, arguments) = entered(thread)?;
        let (call, names) = changing(number)?;
        // A change at an unknown place is counted.
        let at = self.place(names, arguments).unwrap_or_else(|| self.folder.clone());
        // Derived data are written in the background at any moment, and may be lost.
        let counts = at.starts_with(&self.folder) && !at.starts_with(self.folder.join("cache"));
        counts.then_some(FileChange { call, at })
    }

    fn place(&self, names: Names, [first, second]: [u64; 2]) -> Option<PathBuf> {
        match names {
            Names::Descriptor => self.opened(as_descriptor(first)),
            Names::Path => self.named(libc::AT_FDCWD, first),
            Names::PathIn => self.named(as_descriptor(first), second),
        }
    }

    fn opened(&self, descriptor: i32) -> Option<PathBuf> {
        let link = match descriptor {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.process),
            _ => format!("/proc/{}/fd/{descriptor}", self.process),
        };
        std::fs::read_link(link).ok()
    }

    /// A path in the form of the folder's own path, without links.
    fn named(&self, folder: i32, address: u64) -> Option<PathBuf> {
        let path = self.text(address)?;
        let path = if path.is_absolute() { path } else { self.opened(folder)?.join(path) };
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        Some(folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)).unwrap_or(path))
    }

    /// The path in the memory of the process.
    fn text(&self, address: u64) -> Option<PathBuf> {
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.process)).ok()?;
        let mut bytes = vec![0; PATH_LENGTH];
        let read = memory.read_at(&mut bytes, address).ok()?;
        let end = bytes[..read].iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        Some(PathBuf::from(OsString::from_vec(bytes)))
    }
}

/// How the arguments of a call name the changed file.
#[derive(Clone, Copy, Debug)]
enum Names {
    /// The first argument is a descriptor.
    Descriptor,
    /// The first argument is a path.
    Path,
    /// The first argument is the descriptor of a folder, and the second a path in it.
    PathIn,
}

fn changing(number: i64) -> Option<(&'static str, Names)> {
    const CALLS: &[(i64, &str, Names)] = &[
        (libc::SYS_write, "write", Names::Descriptor),
        (libc::SYS_writev, "writev", Names::Descriptor),
        (libc::SYS_pwrite64, "pwrite", Names::Descriptor),
        (libc::SYS_pwritev, "pwritev", Names::Descriptor),
        (libc::SYS_ftruncate, "ftruncate", Names::Descriptor),
        (libc::SYS_fallocate, "fallocate", Names::Descriptor),
        (libc::SYS_fsync, "fsync", Names::Descriptor),
        (libc::SYS_fdatasync, "fdatasync", Names::Descriptor),
        (libc::SYS_renameat, "rename", Names::PathIn),
        (libc::SYS_renameat2, "rename", Names::PathIn),
        (libc::SYS_linkat, "link", Names::PathIn),
        (libc::SYS_unlinkat, "unlink", Names::PathIn),
        (libc::SYS_mkdirat, "mkdir", Names::PathIn),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_rename, "rename", Names::Path),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_unlink, "unlink", Names::Path),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mkdir, "mkdir", Names::Path),
    ];
    let (_, name, names) = CALLS.iter().find(|(known, ..)| *known == number)?;
    Some((name, *names))
}

/// The number and the first two arguments of the call that a thread is entering.
#[cfg(target_arch = "x86_64")]
fn entered(thread: Pid) -> Option<(i64, [u64; 2])> {
    let registers = ptrace::getregs(thread).ok()?;
    Some((registers.orig_rax.cast_signed(), [registers.rdi, registers.rsi]))
}

#[cfg(target_arch = "aarch64")]
fn entered(thread: Pid) -> Option<(i64, [u64; 2])> {
    let registers = ptrace::getregs(thread).ok()?;
    Some((registers.regs[8].cast_signed(), [registers.regs[0], registers.regs[1]]))
}

/// Converts a register to a descriptor. Descriptors have 32 bits, and the upper half of the
/// register has no meaning.
fn as_descriptor(register: u64) -> i32 {
    let low = u32::try_from(register & 0xffff_ffff).unwrap_or_default();
    low.cast_signed()
}
