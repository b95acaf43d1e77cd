//! System calls that no command of an agent needs and that could lead out: sockets (including those
//! of this machine, behind which daemons listen), other ways to make a socket, other processes'
//! memory, namespaces and mounts, leaving the group by which a command is killed, raising its own
//! limits. Everything else is allowed; Landlock restricts files.
//!
//! A command with a proxied network may make TCP sockets, which reach only the one port of its
//! namespace. No command in any kind of sandbox may make a Unix socket, except a pair of two that
//! are permanently connected to each other. A pair of datagram sockets is refused, because it could
//! still send to any other socket by its path.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

use crate::Network;

/// These calls are refused without a network, for sockets of any family.
const SOCKETS: &[i64] = &[libc::SYS_socket, libc::SYS_connect];

/// The bits of a socket's type that hold its kind; the others are options.
const KINDS: u64 = 0xf;

/// These calls are refused with any arguments.
const REFUSED: &[i64] = &[
    // This call gives a socket a name that others can find; listening needs it.
    libc::SYS_bind,
    // io_uring does I/O without further system calls, including sockets.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // These look into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    // These calls leave the process group or raise limits.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_setrlimit,
    libc::SYS_setpriority,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    // These calls change namespaces, mounts or the root.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // These calls change or use the kernel itself.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The requests that insert input into a terminal as if a person typed it.
const TERMINAL_INPUT: &[u64] = &[0x5412, 0x541c];

/// The bit of the x32 numbers of the same calls, which the filter would not recognise.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: i64 = 0x4000_0000;

pub(crate) fn apply(network: Network) -> Result<(), Error> {
    // The flags of `clone3` are in memory, where no filter can read them. If it is refused,
    // libraries use `clone`.
    apply_filter(&program([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)?)?;
    apply_filter(&program(rules(network)?, libc::EPERM)?)
}

/// Applies the rules for commands without a network, and refuses to start other programs.
pub(crate) fn apply_to_helper() -> Result<(), Error> {
    apply(Network::None)?;
    let programs = [libc::SYS_execve, libc::SYS_execveat].map(|call| (call, Vec::new()));
    apply_filter(&program(programs.into(), libc::EPERM)?)
}

/// Applies the rules for commands without a network, and refuses to start a second process. Threads
/// stay possible, and so does becoming another program.
pub(crate) fn apply_to_program() -> Result<(), Error> {
    apply(Network::None)?;
    apply_filter(&program(one_process()?, libc::EPERM)?)
}

/// Refuses every way to start a process, so that limits of one process are limits of everything
/// that it does.
fn one_process() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Error> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let no_thread = rule(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
    let mut rules = BTreeMap::new();
    rules.insert(libc::SYS_clone, vec![no_thread]);
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend([libc::SYS_fork, libc::SYS_vfork].map(|call| (call, Vec::new())));
        for (call, conditions) in rules.clone() {
            rules.insert(call | OTHER_NUMBERS, conditions);
        }
    }
    Ok(rules)
}

fn rules(network: Network) -> Result<BTreeMap<i64, Vec<SeccompRule>>, Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    match network {
        Network::None => rules.extend(SOCKETS.iter().map(|call| (*call, Vec::new()))),
        Network::Proxied => {
            let tcp = sockets_but(&[libc::AF_INET, libc::AF_INET6], &[libc::SOCK_STREAM])?;
            rules.insert(libc::SYS_socket, tcp);
        }
    }
    let pairs = sockets_but(&[libc::AF_UNIX], &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?;
    rules.insert(libc::SYS_socketpair, pairs);
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        rule(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let typing = TERMINAL_INPUT
        .iter()
        .map(|request| rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    // Reading a limit is allowed, setting one is not.
    let setting = rule(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![setting]);
    #[cfg(target_arch = "x86_64")]
    for (call, conditions) in rules.clone() {
        rules.insert(call | OTHER_NUMBERS, conditions);
    }
    Ok(rules)
}

/// Refuses every socket except those of these families and kinds.
fn sockets_but(families: &[i32], kinds: &[i32]) -> Result<Vec<SeccompRule>, Error> {
    let other = |family: &i32| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    let other_family = families.iter().map(other).collect::<Result<_, _>>()?;
    let mut rules = vec![SeccompRule::new(other_family)?];
    for kind in 0..=KINDS {
        if !kinds.iter().any(|allowed| u64::from(allowed.unsigned_abs()) == kind) {
            rules.push(rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(KINDS), kind)?);
        }
    }
    Ok(rules)
}

fn rule(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, Error> {
    let condition = SeccompCondition::new(argument, length, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, Error> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?;
    Ok(filter.try_into()?)
}
