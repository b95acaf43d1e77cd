//! The helper that starts another program as a child, as a separate binary for tests; in production
//! `onyx` starts itself instead.

fn main() -> std::process::ExitCode {
    onyx_providers::exec_child(std::env::args_os().skip(1))
}
