//! Everything the process prints. Results go to stdout; what is said about them goes to stderr, so
//! that a pipe gets results only.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

use std::io::{IsTerminal, Write};

use onyx_types::{Fault, VisiblePieces, visible, visible_json};
use serde::Serialize;

use crate::env;

/// One line of a result, or several. Models and files choose what stands in them.
pub(crate) fn line(text: &str) {
    if onyx_types::off("visible.cli") {
        return write_out(&format!("{text}\n"));
    }
    write_out(&format!("{}\n", visible(text)));
}

/// A piece of an answer, at once.
pub(crate) fn piece(text: &str, pieces: &mut VisiblePieces) {
    write_out(&pieces.add(text));
}

/// A result for programs: the same data, and nothing in it that deceives whoever looks at it.
pub(crate) fn json(value: &impl Serialize) {
    // Plain data always serialises.
    json_text(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// JSON that is text already.
pub(crate) fn json_text(text: &str) {
    write_out(&format!("{}\n", visible_json(text)));
}

/// A document, byte for byte where a program or a file takes it.
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
    // A closed pipe means that nobody wants to read on: the reader decides, we need not.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Something about the work, in passing.
pub(crate) fn aside(text: &str) {
    if colours() {
        eprintln!("\u{1b}[2m{}\u{1b}[0m", visible(text));
    } else {
        eprintln!("{}", visible(text));
    }
}

/// Asks; the answer is read on the same line.
pub(crate) fn question(text: &str) {
    eprint!("{}", visible(text));
    let _ = std::io::stderr().flush();
}

/// How far the work is, in the place of what stood there; nothing takes it away. For terminals.
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
