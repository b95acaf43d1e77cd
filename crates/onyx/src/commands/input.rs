//! Reads from the terminal: secrets, which must not be on a command line because every user of the
//! machine could read them there, and answers to questions.

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Reads a secret from the terminal without showing it, or from a pipe without its last newline.
pub(super) fn secret(prompt: &str) -> Result<String> {
    if std::io::stdin().is_terminal() {
        return rpassword::prompt_password(prompt).context("cannot read from the terminal");
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read from stdin")?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// Asks a person at the terminal; no answer means no. A dropped future leaves the terminal to the
/// next reader.
pub(super) async fn confirm(question: &str) -> bool {
    line(question).await.is_some_and(|answer| matches!(answer.as_str(), "y" | "Y" | "yes"))
}

/// Reads a line from the terminal; `None` if it is empty or cannot be read.
pub(super) async fn line(question: &str) -> Option<String> {
    crate::output::question(question);
    // A terminal has something to read once there is a whole line.
    #[allow(deprecated, reason = "sound here: standard input is never closed")]
    let terminal = AsyncFd::with_interest(std::io::stdin(), Interest::READABLE);
    let terminal = terminal.ok()?;
    let _ready = terminal.readable().await.ok()?;
    let mut answer = String::new();
    terminal.get_ref().read_line(&mut answer).ok()?;
    Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty())
}
