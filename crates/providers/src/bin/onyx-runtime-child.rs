//! What runs in the process of another program before it does, alone, for tests: `onyx` starts
//! itself instead.

fn main() -> std::process::ExitCode {
    onyx_providers::exec_child(std::env::args_os().skip(1))
}
