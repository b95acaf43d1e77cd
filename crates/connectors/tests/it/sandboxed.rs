//! The sandbox in which these tests run commands of the config. Its child process is this test
//! program.

use std::path::{Path, PathBuf};

use onyx_connectors::CommandPlace;
use onyx_sandbox::{Program, Sandbox};

/// Runs as the child of the sandbox, which starts this program and names this test.
#[test]
#[ignore = "the child of the tests that run commands"]
fn sandbox_child() {
    let arguments: Vec<String> = std::env::args().collect();
    let own = arguments.iter().position(|word| word.ends_with("sandbox_child")).unwrap();
    let code = onyx_sandbox::child(arguments.into_iter().skip(own + 1));
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

pub(crate) fn place(scratch: &Path) -> CommandPlace {
    let path: PathBuf = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "--nocapture", "sandboxed::sandbox_child"];
    let program = Program { path, arguments: arguments.map(str::to_owned).to_vec() };
    CommandPlace { sandbox: Sandbox::new(program), scratch: scratch.to_owned() }
}
