use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};

use super::watch::tasks;
use super::{NETWORK_FILES, SYSTEM_FILES};
use crate::sandboxed_command::ChildInstructions;
use crate::{
    Bounds, CommandInput, Network, SandboxKind, SandboxedCommand, bubblewrap, proxied, seccomp,
};

/// The first version that restricts signals: without that, a command could kill the process above
/// it.
const LANDLOCK: ABI = ABI::V6;

const SYSTEM_FOLDERS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files that describe the machine's cores and memory, and the process itself.
const MACHINE: [&str; 5] =
    ["/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/self", "/sys/devices/system"];

const OPEN_FILES: u64 = 1_024;
/// The most address space of one process. The limit is large because programs reserve far more than
/// they use.
const ADDRESS_SPACE: u64 = 64 * 1024 * 1024 * 1024;

/// Restricts this process permanently and becomes the command. Returns only on failure.
pub(super) fn confine(instructions: &ChildInstructions) -> Result<ExitCode, String> {
    let sandboxed = &instructions.sandboxed;
    std::env::set_current_dir(&sandboxed.folder)
        .map_err(|error| format!("{} cannot be entered: {error}", sandboxed.folder.display()))?;
    setpriority_process(None, 0).map_err(|error| format!("its priority cannot be set: {error}"))?;
    if sandboxed.network == Network::Proxied {
        // The port is opened only inside namespaces, because elsewhere it would be one of this
        // machine's.
        if instructions.kind != SandboxKind::Bubblewrap {
            return Err("there is no network of its own here".to_owned());
        }
        proxied::hand_out().map_err(|error| format!("the proxy cannot be reached: {error}"))?;
    }
    limit(&sandboxed.bounds, instructions.kind)
        .map_err(|error| format!("the limits cannot be set: {error}"))?;
    let held = hold(sandboxed, instructions.kind).map_err(|error| format!("Landlock: {error}"))?;
    match (instructions.kind, held) {
        // Namespaces are enough by themselves, so a command also runs on a kernel without Landlock.
        (SandboxKind::Bubblewrap, _) | (SandboxKind::Landlock, RulesetStatus::FullyEnforced) => {}
        (SandboxKind::Landlock, status) => {
            return Err(format!("Landlock holds only in part: {status:?}"));
        }
    }
    seccomp::apply(sandboxed.network).map_err(|error| format!("seccomp: {error}"))?;
    become_command(sandboxed)
}

/// Whether this kernel can confine a command with Landlock alone. Restricts nothing.
pub(crate) fn is_supported() -> bool {
    ruleset(CompatLevel::HardRequirement).is_ok()
}

/// The files that a process of ours may read from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayRead<'a> {
    Nothing,
    /// The system's libraries, the files that describe the machine, and these paths.
    SystemAnd(&'a [PathBuf]),
}

/// Restricts this process permanently: it can read no other file, write none, open no socket and
/// start no program. It is for helpers of ours that process untrusted input, and is called before
/// they read a byte of it and while they have one thread. Restrictions that this kernel does not
/// support are left out; the others still apply.
pub fn hold_this_process(may_read: MayRead<'_>) -> Result<(), String> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let rules = ruleset(CompatLevel::BestEffort).and_then(|rules| match may_read {
        MayRead::Nothing => Ok(rules),
        MayRead::SystemAnd(paths) => rules
            .add_rules(path_beneath_rules(SYSTEM_FOLDERS, read))?
            .add_rules(path_beneath_rules(SYSTEM_FILES, read))?
            .add_rules(path_beneath_rules(MACHINE, read))?
            .add_rules(path_beneath_rules(DEVICES, read))?
            .add_rules(path_beneath_rules(paths, read)),
    });
    let held = rules.and_then(RulesetCreated::restrict_self).map(drop);
    seccomp::apply_to_helper().map_err(|error| format!("seccomp: {error}"))?;
    held.map_err(|error| format!("Landlock: {error}"))
}

/// Restricts this process permanently before it becomes a program of this machine that reads
/// untrusted input: it can read and start what lies in the system's folders and at these paths, and
/// read the files that describe the machine; it can write no file, open no socket and start no
/// second process. Limits that this process has set stay. Restrictions that this kernel does not
/// support are left out; the others still apply.
pub fn hold_for_program(installed: &[PathBuf]) -> Result<(), String> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = read | AccessFs::Execute;
    let rules = ruleset(CompatLevel::BestEffort).and_then(|rules| {
        rules
            .add_rules(path_beneath_rules(SYSTEM_FOLDERS, run))?
            .add_rules(path_beneath_rules(SYSTEM_FILES, read))?
            .add_rules(path_beneath_rules(MACHINE, read))?
            .add_rules(path_beneath_rules(DEVICES, read))?
            .add_rules(path_beneath_rules(installed, run))
    });
    let held = rules.and_then(RulesetCreated::restrict_self).map(drop);
    seccomp::apply_to_program().map_err(|error| format!("seccomp: {error}"))?;
    held.map_err(|error| format!("Landlock: {error}"))
}

fn limit(bounds: &Bounds, kind: SandboxKind) -> rustix::io::Result<()> {
    // The kernel counts all of a user's tasks, but within a user namespace only those in it.
    let others = match kind {
        SandboxKind::Bubblewrap => 0,
        SandboxKind::Landlock => tasks(),
    };
    for (resource, most) in [
        (Resource::Nproc, (others + bounds.processes) as u64),
        (Resource::Core, 0),
        (Resource::Fsize, bounds.file_size),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Cpu, bounds.cpu_seconds),
        (Resource::As, ADDRESS_SPACE),
    ] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

fn ruleset(level: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()
}

fn hold(sandboxed: &SandboxedCommand, kind: SandboxKind) -> Result<RulesetStatus, RulesetError> {
    let level = match kind {
        SandboxKind::Bubblewrap => CompatLevel::BestEffort,
        SandboxKind::Landlock => CompatLevel::HardRequirement,
    };
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let use_device = AccessFs::ReadFile | AccessFs::WriteFile;
    let write: BitFlags<AccessFs> =
        AccessFs::from_all(LANDLOCK) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    // Inside the namespaces these paths are the sandbox's own; outside, all users share them.
    let (own_read, own_write): (&[&str], &[&str]) = match kind {
        SandboxKind::Bubblewrap => (&["/proc"], &["/tmp", "/dev"]),
        SandboxKind::Landlock => (&[], &[]),
    };
    let (network_files, relay): (&[&str], &[&str]) = match sandboxed.network {
        Network::None => (&[], &[]),
        Network::Proxied => (&NETWORK_FILES, &[bubblewrap::CHILD]),
    };
    let status = ruleset(level)?
        .add_rules(path_beneath_rules(SYSTEM_FOLDERS, read))?
        .add_rules(path_beneath_rules(SYSTEM_FILES, read))?
        .add_rules(path_beneath_rules(network_files, read))?
        .add_rules(path_beneath_rules(relay, read))?
        .add_rules(path_beneath_rules(DEVICES, use_device))?
        .add_rules(path_beneath_rules(own_read, read))?
        .add_rules(path_beneath_rules(own_write, write))?
        .add_rules(path_beneath_rules(&sandboxed.readable, read))?
        .add_rules(path_beneath_rules(&sandboxed.writable, write))?
        .restrict_self()?;
    Ok(status.ruleset)
}

#[allow(clippy::disallowed_methods, reason = "this process is the sandbox's own")]
fn become_command(sandboxed: &SandboxedCommand) -> Result<ExitCode, String> {
    let (program, arguments) = sandboxed.argv.split_first().ok_or("there is no command")?;
    let mut command = Command::new(program);
    command.args(arguments);
    if sandboxed.network == Network::Proxied {
        command.envs(proxied::variables());
    }
    if sandboxed.network == Network::Proxied && sandboxed.input == CommandInput::Given {
        // The supervisor sent the port's socket through this process's input, so the command must
        // not have it.
        command.stdin(Stdio::null());
    }
    let error = command.exec();
    Err(format!("{program} cannot be run: {error}"))
}
