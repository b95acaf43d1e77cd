//! The first code in a child process: it asks the system to end the child with Onyx, then becomes
//! the other program. With pipes alone, a child would outlive a `kill -9` of Onyx for as long as it
//! does not read.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit code that shells also use for a program that could not be run.
const NOT_RUN: u8 = 126;

/// The wrapper program, which calls `exec_child` with the arguments after its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildWrapper {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// Takes the id of the process that must stay alive, then the program and its arguments. Returns
/// only if the program cannot be run.
#[cfg(unix)]
pub fn exec_child(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    use std::os::unix::process::CommandExt;

    let mut arguments = arguments.into_iter();
    let parent = arguments.next().and_then(|parent| parent.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        return not_run("it is not told what to run");
    };
    if let Err(why) = tie_to(parent) {
        return not_run(&why);
    }
    let error = std::process::Command::new(&program).args(arguments).exec();
    not_run(&format!("{} cannot be started: {error}", name_of(&program)))
}

#[cfg(target_os = "linux")]
fn tie_to(parent: i32) -> Result<(), String> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    // If the parent died before the line above, no signal comes, so the parent is checked here.
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        return Ok(());
    }
    Err("the process that started it is gone".to_owned())
}

/// Other systems have no such signal: there the program ends when its input ends.
#[cfg(all(unix, not(target_os = "linux")))]
fn tie_to(_: i32) -> Result<(), String> {
    Ok(())
}

fn name_of(program: &OsStr) -> String {
    program.to_string_lossy().into_owned()
}

/// Reports the error on the error stream, which is read together with that of the program.
fn not_run(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{why}");
    ExitCode::from(NOT_RUN)
}
