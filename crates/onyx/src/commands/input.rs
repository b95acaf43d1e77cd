//! What is read from the terminal: secrets, which must not stand on a command line where every user
//! of the machine can read them, and answers to questions.

use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// From the terminal without showing it, or from a pipe without its last newline.
pub(super) fn secret(prompt: &str) -> Result<String> {
    if std::io::stdin().is_terminal() {
        return rpassword::prompt_password(prompt).context("cannot read from the terminal");
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read from stdin")?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// How often an unanswered question looks whether it is still asked.
const LOOK_MILLIS: i64 = 200;

/// Asks a person at the terminal; no answer is no. When the future is dropped, the terminal is left
/// to whoever reads it next.
pub(super) async fn yes(question: &str) -> bool {
    crate::output::question(question);
    let asked = Asked(Arc::new(AtomicBool::new(true)));
    let still = Arc::clone(&asked.0);
    let answer = tokio::task::spawn_blocking(move || read_while(&still)).await;
    drop(asked);
    matches!(answer.ok().flatten().as_deref().map(str::trim), Some("y" | "Y" | "yes"))
}

struct Asked(Arc<AtomicBool>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A line, once there is one: a terminal gives whole lines only.
fn read_while(asked: &AtomicBool) -> Option<String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    while asked.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        let patience = Timespec { tv_sec: 0, tv_nsec: LOOK_MILLIS * 1_000_000 };
        match poll(&mut waiting, Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                let mut line = String::new();
                return stdin.read_line(&mut line).ok().map(|_| line);
            }
            Err(_) => return None,
        }
    }
    None
}
