//! The child of a sandbox as a separate binary, for tests; in the product the `onyx` binary is its
//! own child. As `helper` it restricts itself as helpers of ours do, and prints what it can still
//! do. As `program` it restricts itself and becomes another program.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use onyx_sandbox::{MayRead, hold_for_program, hold_this_process};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|word| word == "helper").is_some() {
        return helper(&arguments.collect::<Vec<_>>());
    }
    if arguments.next_if(|word| word == "program").is_some() {
        return program(&arguments.collect::<Vec<_>>());
    }
    onyx_sandbox::child(arguments)
}

/// `program PATH ARGUMENT...`
#[allow(clippy::print_stdout, reason = "it is a program that tells")]
fn program(argv: &[String]) -> ExitCode {
    match hold_for_program(&[]) {
        Ok(()) => println!("not started: {}", Command::new(&argv[0]).args(&argv[1..]).exec()),
        Err(error) => println!("not held: {error}"),
    }
    ExitCode::FAILURE
}

/// `helper SECRET [MODEL]`
#[allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it is a program that tells")]
fn helper(paths: &[String]) -> ExitCode {
    let readable: Vec<PathBuf> = paths.iter().skip(1).map(PathBuf::from).collect();
    let may_read =
        if readable.is_empty() { MayRead::Nothing } else { MayRead::SystemAnd(&readable) };
    if let Err(error) = hold_this_process(may_read) {
        println!("not held: {error}");
        return ExitCode::FAILURE;
    }
    let secret = &paths[0];
    let said =
        |what: &str, is_done: bool| println!("{what}: {}", if is_done { "yes" } else { "no" });
    said("reads its input", readable.first().is_some_and(|path| std::fs::read(path).is_ok()));
    said("reads a secret", std::fs::read(secret).is_ok());
    said("lists", std::fs::read_dir("/").is_ok());
    said("reads another process", std::fs::read("/proc/1/environ").is_ok());
    said("writes", std::fs::write(format!("{secret}.new"), "x").is_ok());
    said(
        "looks names up or connects",
        std::net::TcpStream::connect("127.0.0.1:9")
            .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused),
    );
    said("sends", std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
    said(
        "pipes",
        std::os::unix::net::UnixStream::connect("/nowhere")
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound),
    );
    said("starts programs", Command::new("/bin/true").status().is_ok());
    std::thread::spawn(|| println!("threads: yes")).join().ok();
    ExitCode::SUCCESS
}
