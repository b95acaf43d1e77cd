//! The child of a sandbox by itself, for tests; in the product the `onyx` binary is its own child.

use std::process::ExitCode;

fn main() -> ExitCode {
    onyx_sandbox::child(std::env::args().skip(1).peekable())
}
