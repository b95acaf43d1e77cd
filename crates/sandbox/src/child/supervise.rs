use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use super::{CONFINE, watch};
use crate::sandboxed_command::ChildInstructions;
use crate::{SandboxKind, bubblewrap};

/// The `PATH` that a command sees.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const LANG: &str = "C.UTF-8";

/// The highest priority of ordinary processes.
const FIRST: i32 = -20;

/// Starts the confined child, enforces its bounds, and returns its exit status.
pub(super) fn supervise(instructions: &ChildInstructions) -> Result<ExitCode, String> {
    // The process gets a session of its own, so that there is one group to kill and no terminal to
    // type into.
    rustix::process::setsid()
        .map_err(|error| format!("a session of its own could not be created: {error}"))?;
    // A higher priority lets this process act before a fork bomb, because root is not bound by the
    // limit of processes. It is not always allowed, so a failure is ignored.
    let _ = rustix::process::setpriority_process(None, FIRST);
    let mut command = command(instructions)?;
    let mut child = command.spawn().map_err(|error| format!("not started: {error}"))?;
    let watched = instructions.clone();
    std::thread::spawn(move || watch::watch(&watched));
    let status = child.wait().map_err(|error| format!("lost: {error}"))?;
    Ok(exit_code(status))
}

#[allow(clippy::disallowed_methods, reason = "this process is the sandbox's own")]
fn command(instructions: &ChildInstructions) -> Result<Command, String> {
    // The program is named by its path, because `/proc/self/exe` would be bubblewrap itself there.
    let itself =
        std::env::current_exe().map_err(|error| format!("its program is gone: {error}"))?;
    let mut command = match instructions.kind {
        SandboxKind::Bubblewrap => {
            let program = bubblewrap::program().ok_or("bubblewrap is not installed")?;
            let mut command = Command::new(program);
            command
                .args(bubblewrap::arguments(&instructions.sandboxed, &itself))
                .arg(bubblewrap::CHILD);
            command
        }
        SandboxKind::Landlock => Command::new(&itself),
    };
    let mut inner = instructions.clone();
    inner.program.path = PathBuf::new();
    let order_again = serde_json::to_string(&inner).map_err(|error| error.to_string())?;
    let scratch = &instructions.sandboxed.scratch;
    command
        .args(&instructions.program.arguments)
        .args([CONFINE, &order_again])
        .env_clear()
        .envs([("PATH", PATH), ("LANG", LANG)])
        .env("HOME", scratch)
        .env("TMPDIR", scratch);
    Ok(command)
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let by_signal = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(by_signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
