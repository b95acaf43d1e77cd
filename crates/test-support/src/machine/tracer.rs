//! Every system call by which a process changes its files, in one order over all its threads, and
//! death at exactly one of them. (`strace` counts each thread by itself and so cannot name the
//! k-th write of a process.)

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

/// The longest path that a system call takes.
const PATH_LENGTH: usize = 4096;

/// One system call that would change a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub call: &'static str,
    /// The file, or the folder in which a name is made or taken away.
    pub at: PathBuf,
}

/// What becomes of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lives,
    /// SIGKILL in place of the so-manieth change, which does not happen any more.
    DiesAt(usize),
}

/// A process whose changes are counted until it ends.
#[derive(Debug)]
pub struct Tracer {
    process: Pid,
    thread: JoinHandle<Vec<FileChange>>,
}

impl Tracer {
    /// Counts from when this returns. Changes outside of `folder` (sockets, the log) do not count.
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

    /// Ends the process if it lives, and returns the changes up to then, the fatal one included.
    /// Whoever started the process is left to wait for it, but must not do so before, because the
    /// stops that are meant for the tracer would reach them.
    pub fn kill(self) -> Vec<FileChange> {
        let _ = kill(self.process, Signal::SIGKILL);
        self.thread.join().expect("the tracer does not panic")
    }
}

impl Tracer {
    /// Waits until the process has ended or was killed, and returns the changes up to then.
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
                // It ended meanwhile, or was attached as the child of one that is traced already.
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
    /// Threads between the entry into a system call and its exit.
    inside: HashSet<Pid>,
    seen: Vec<FileChange>,
}

impl Trace {
    /// Follows the process until it is gone. Only threads of this tracer are waited for, so that
    /// other children of the test are left to those who started them.
    fn follow(&mut self) {
        let own = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let look = own | WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WNOWAIT;
        loop {
            let thread = match waitid(Id::All, look) {
                // The process's end is left for whoever started it.
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
            // A thread that died meanwhile is told of by the next wait.
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
        // A place that cannot be told is taken for one that counts.
        let at = self.place(names, arguments).unwrap_or_else(|| self.folder.clone());
        // What is derived is written in the background, at any moment, and may be lost.
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

    /// A name as the folder's own path has it: without links on the way.
    fn named(&self, folder: i32, address: u64) -> Option<PathBuf> {
        let path = self.text(address)?;
        let path = if path.is_absolute() { path } else { self.opened(folder)?.join(path) };
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        Some(folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)).unwrap_or(path))
    }

    /// The path that stands in the memory of the process.
    fn text(&self, address: u64) -> Option<PathBuf> {
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.process)).ok()?;
        let mut bytes = vec![0; PATH_LENGTH];
        let read = memory.read_at(&mut bytes, address).ok()?;
        let end = bytes[..read].iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        Some(PathBuf::from(OsString::from_vec(bytes)))
    }
}

/// How a call names what it changes.
#[derive(Clone, Copy, Debug)]
enum Names {
    /// A descriptor, first.
    Descriptor,
    /// A path, first.
    Path,
    /// The descriptor of a folder, then a path in it.
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

/// Number and first two arguments of the call that a thread is entering.
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

/// Descriptors are 32 bits wide; the upper half of the register means nothing.
fn as_descriptor(register: u64) -> i32 {
    let low = u32::try_from(register & 0xffff_ffff).unwrap_or_default();
    low.cast_signed()
}
