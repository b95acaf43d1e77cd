//! Tests helpers of ours that process untrusted input.

use std::process::Command;

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
