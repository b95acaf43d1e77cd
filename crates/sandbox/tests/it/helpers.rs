//! Tests helpers of ours that process untrusted input.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::{SENTINEL, program};

fn probe(with_input: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (secret, input) = (folder.path().join("secret"), folder.path().join("model"));
    std::fs::write(&secret, SENTINEL).unwrap();
    std::fs::write(&input, "weights").unwrap();
    let mut command = Command::new(program().path);
    command.arg("helper").arg(&secret);
    if with_input {
        command.arg(&input);
    }
    let output = command.output().unwrap();
    assert!(!folder.path().join("secret.new").exists());
    String::from_utf8(output.stdout).unwrap()
}

const HELD: &str = "reads a secret: no\nlists: no\nreads another process: no\nwrites: no\n\
                    looks names up or connects: no\nsends: no\npipes: no\nstarts programs: no\n\
                    threads: yes\n";

#[test]
fn a_helper_reaches_no_file_no_network_and_no_program() {
    assert_eq!(probe(false), format!("reads its input: no\n{HELD}"));
}

#[test]
fn a_helper_with_an_input_reads_that_and_no_other_file() {
    assert_eq!(probe(true), format!("reads its input: yes\n{HELD}"));
}

/// A script that tries what a hostile picture could make its reader do.
const ATTEMPTS: &str = r#"
import os, socket, subprocess, sys, threading
def attempt(name, act):
    try:
        act()
        print(name + ": yes")
    except OSError:
        print(name + ": no")
attempt("reads the system", lambda: open("/usr/bin/env", "rb").read(1))
attempt("reads a secret", lambda: open(sys.argv[1]).read())
attempt("lists", lambda: os.listdir(os.path.dirname(sys.argv[1])))
attempt("writes", lambda: open(sys.argv[1] + ".new", "w"))
attempt("changes", lambda: open(sys.argv[1], "a"))
attempt("reads another process", lambda: open("/proc/1/environ", "rb").read(1))
attempt("sends", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("pipes", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
attempt("forks", lambda: os.fork() or os._exit(0))
attempt("starts programs", lambda: subprocess.run(["/bin/true"]))
thread = threading.Thread(target=lambda: print("threads: yes"))
thread.start()
thread.join()
print("reads its input: " + sys.stdin.read())
"#;

#[test]
fn a_program_with_untrusted_input_reaches_no_file_of_the_person_no_network_and_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SENTINEL).unwrap();
    let mut child = Command::new(program().path)
        .args(["program", "/usr/bin/python3", "-I", "-B", "-c", ATTEMPTS])
        .arg(&secret)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"yes").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "reads the system: yes\nreads a secret: no\nlists: no\nwrites: no\nchanges: no\n\
         reads another process: no\nsends: no\npipes: no\nforks: no\nstarts programs: no\n\
         threads: yes\nreads its input: yes\n"
    );
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), SENTINEL);
    assert!(!folder.path().join("secret.new").exists());
}
