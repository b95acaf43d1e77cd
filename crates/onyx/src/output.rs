//! Everything the process prints. Results go to stdout; what is said about them goes to stderr, so
//! that a pipe gets results only.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use onyx_types::Fault;

use crate::env;

/// One line of a result.
pub(crate) fn line(text: &str) {
    write_out(&format!("{text}\n"));
}

/// A piece of a result, at once.
pub(crate) fn piece(text: &str) {
    write_out(text);
}

/// Bytes of a result as they are, at once.
pub(crate) fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A closed pipe means that nobody wants to read on: the reader decides, we need not.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

fn write_out(text: &str) {
    let text = if std::io::stdout().is_terminal() { harmless(text) } else { Cow::Borrowed(text) };
    raw(text.as_bytes());
}

/// Something about the work, in passing.
pub(crate) fn aside(text: &str) {
    if colours() {
        eprintln!("\u{1b}[2m{}\u{1b}[0m", harmless(text));
    } else {
        eprintln!("{text}");
    }
}

/// Asks; the answer is read on the same line.
pub(crate) fn question(text: &str) {
    eprint!("{}", harmless(text));
    let _ = std::io::stderr().flush();
}

/// How far the work is, in the place of what stood there; nothing takes it away. For terminals.
pub(crate) fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\u{1b}[2K{}", harmless(text));
        let _ = std::io::stderr().flush();
    }
}

pub(crate) fn warning(text: &str) {
    eprintln!("warning: {}", harmless(text));
}

pub(crate) fn error(text: &str) {
    if colours() {
        eprintln!("\u{1b}[31merror:\u{1b}[0m {}", harmless(text));
    } else {
        eprintln!("error: {text}");
    }
}

pub(crate) fn fault(fault: &Fault) {
    error(&format!("{} ({})", fault.message, fault.code));
    if !fault.hint().is_empty() {
        aside(&format!("hint: {}", fault.hint()));
    }
}

/// How far a download is, on one line of a terminal; nothing where nobody watches.
#[derive(Default)]
pub(crate) struct Bar(std::cell::Cell<u64>);

impl Bar {
    pub(crate) fn show(&self, done: u64, total: Option<u64>) {
        const MEGABYTE: u64 = 1_000_000;
        let fresh = done / MEGABYTE != self.0.get() / MEGABYTE || Some(done) == total;
        if !std::io::stderr().is_terminal() || !fresh {
            return;
        }
        self.0.set(done);
        match total {
            Some(total) if total > 0 => {
                let filled = (done * 30 / total).min(30) as usize;
                let bar = format!("{}{}", "█".repeat(filled), "░".repeat(30 - filled));
                eprint!("\r{bar} {} of {} MB", done / MEGABYTE, total / MEGABYTE);
            }
            Some(_) | None => eprint!("\r{} MB", done / MEGABYTE),
        }
        let _ = std::io::stderr().flush();
    }

    pub(crate) fn end(&self) {
        if self.0.get() > 0 {
            eprintln!();
        }
    }
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && !env::no_color()
}

/// Control characters of a model's words would be commands to the terminal.
fn harmless(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(steers) {
        Cow::Owned(text.chars().filter(|c| !steers(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_words_and_no_commands() {
        assert_eq!(harmless("a\u{1b}[2Jb\u{9b}1m\r\n\tc\u{7}"), "a[2Jb1m\n\tc");
    }
}
