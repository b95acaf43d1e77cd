//! The processes that read documents and models of strangers are confined before they open them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use onyx_test_support::wait_for;
use serde_json::json;

use crate::{BINARY, SOON};

fn started(argument: &str) -> Child {
    let mut command = Command::new(BINARY);
    command.arg(argument).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A line of the kernel's status of a process.
fn status(process: u32, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

async fn is_held(child: &Child) {
    let id = child.id();
    let held = async || (status(id, "Seccomp:")? == "2").then_some(());
    wait_for("the helper to be held", SOON, held).await;
    assert_eq!(status(id, "NoNewPrivs:").as_deref(), Some("1"));
}

#[tokio::test]
async fn the_reader_of_documents_is_held_before_it_reads_a_byte() {
    let mut child = started("read-document");
    let mut stdin = child.stdin.take().unwrap();
    // The first line tells the helper what to read from the document.
    stdin.write_all(b"pages\n").unwrap();
    is_held(&child).await;
    stdin.write_all(b"%PDF-1.4 nothing").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("damaged"), "{said}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn the_process_of_a_model_is_held_to_its_files() {
    let folder = tempfile::tempdir().unwrap();
    // The file is a pipe, so opening it waits for a writer. Meanwhile the test looks at the
    // process.
    let file = folder.path().join("model.gguf");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let mut child = started("local-worker");
    let job = json!({"generate": {"file": file, "library": library(folder.path()), "window": 512,
        "threads": 1}});
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{job}\n").as_bytes()).unwrap();
    is_held(&child).await;
    child.kill().unwrap();
    child.wait().unwrap();
}

fn library(folder: &Path) -> std::path::PathBuf {
    folder.join("runtime")
}
