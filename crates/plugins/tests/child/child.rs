//! The child of a sandbox as a separate binary, for tests; in the product the `onyx` binary is its
//! own child.

use std::process::ExitCode;

fn main() -> ExitCode {
    onyx_sandbox::child(std::env::args().skip(1).peekable())
}
