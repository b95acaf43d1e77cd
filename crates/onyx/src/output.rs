//! Everything the process prints. Results go to stdout; messages about the work go to stderr, so that
//! a pipe gets results only.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

use std::io::{IsTerminal, Write};

use onyx_types::{Fault, VisiblePieces, visible, visible_json};
use serde::Serialize;

use crate::env;

/// Prints one or several lines of a result. Their text may come from models and files, so hidden
/// characters are made visible.
pub(crate) fn line(text: &str) {
    write_out(&format!("{}\n", visible(text)));
}

/// Prints a piece of an answer at once.
pub(crate) fn piece(text: &str, pieces: &mut VisiblePieces) {
    write_out(&pieces.add(text));
}

/// Prints a result as JSON: the same data, with deceptive characters escaped.
pub(crate) fn json(value: &impl Serialize) {
    // Serialising plain data cannot fail.
    json_text(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Prints JSON that is already text.
pub(crate) fn json_text(text: &str) {
    write_out(&format!("{}\n", visible_json(text)));
}

/// Prints a document: byte for byte into a pipe or a file, with deceptive characters visible on a terminal.
pub(crate) fn document(bytes: &[u8]) {
    if std::io::stdout().is_terminal() {
        write_out(&visible(&String::from_utf8_lossy(bytes)));
    } else {
        write_bytes(bytes);
    }
}

fn write_out(text: &str) {
    write_bytes(text.as_bytes());
}

fn write_bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A closed pipe means that its reader wants no more; that is no error.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Prints a message about the work to stderr.
pub(crate) fn aside(text: &str) {
    if colours() {
        eprintln!("\u{1b}[2m{}\u{1b}[0m", visible(text));
    } else {
        eprintln!("{}", visible(text));
    }
}

/// Prints a question without a line break, so that the answer is typed on the same line.
pub(crate) fn question(text: &str) {
    eprint!("{}", visible(text));
    let _ = std::io::stderr().flush();
}

/// Replaces the current line of a terminal by the progress of the work.
pub(crate) fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\u{1b}[2K{}", visible(text));
        let _ = std::io::stderr().flush();
    }
}

pub(crate) fn warning(text: &str) {
    eprintln!("warning: {}", visible(text));
}

pub(crate) fn error(text: &str) {
    if colours() {
        eprintln!("\u{1b}[31merror:\u{1b}[0m {}", visible(text));
    } else {
        eprintln!("error: {}", visible(text));
    }
}

pub(crate) fn fault(fault: &Fault) {
    error(&format!("{} ({})", fault.message, fault.code));
    if !fault.hint().is_empty() {
        aside(&format!("hint: {}", fault.hint()));
    }
}

/// Shows the progress of a download on one line of a terminal; prints nothing into a pipe.
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
