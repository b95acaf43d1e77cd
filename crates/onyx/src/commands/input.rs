//! What must not stand on a command line, where every user of the machine can read it.

use std::io::{IsTerminal, Read};

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
