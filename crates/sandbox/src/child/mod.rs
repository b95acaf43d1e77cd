//! The code that runs in the child: `supervise`, which stays outside of the sandbox, and `confine`,
//! which becomes the command. The command itself may use `connect` if it has a proxied network.

pub(crate) mod confine;
mod connect;
mod supervise;
mod watch;

pub use confine::{MayRead, hold_for_program, hold_this_process};

use std::io::Write;
use std::process::ExitCode;

use crate::sandboxed_command::ChildInstructions;

pub(crate) const SUPERVISE: &str = "supervise";
const CONFINE: &str = "confine";
pub(crate) const CONNECT: &str = "connect";

/// The exit code that shells also use for a command that could not be run.
const NOT_RUN: u8 = 126;

/// Files of /etc that ordinary programs read and that contain no secrets.
pub(crate) const SYSTEM_FILES: [&str; 14] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Files of /etc for network use. The name servers' file is not among them, because the proxy
/// resolves names.
pub(crate) const NETWORK_FILES: [&str; 3] = ["/etc/hosts", "/etc/protocols", "/etc/services"];

/// Runs the child from start to end. Takes the arguments after the program's own.
pub fn child(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let (stage, instructions) = match arguments.as_slice() {
        [stage, host, port] if stage == CONNECT => {
            return connect::connect(host, port).unwrap_or_else(|why| not_run(&why));
        }
        [stage, instructions] => (stage, instructions),
        _ => return not_run("its instructions are missing"),
    };
    let instructions: ChildInstructions = match serde_json::from_str(instructions) {
        Ok(instructions) => instructions,
        Err(error) => return not_run(&error.to_string()),
    };
    let ended = match stage.as_str() {
        SUPERVISE => supervise::supervise(&instructions),
        CONFINE => confine::confine(&instructions),
        other => Err(format!("there is no stage {other:?}")),
    };
    ended.unwrap_or_else(|why| not_run(&why))
}

fn not_run(why: &str) -> ExitCode {
    say(&format!("[sandbox: {why}]"));
    ExitCode::from(NOT_RUN)
}

/// Writes to the command's own error stream, which is read together with its output.
fn say(words: &str) {
    // If nobody reads the stream any more, the text is dropped.
    let _ = writeln!(std::io::stderr(), "{words}");
}
