//! A program's output: its lines, and the last lines of its error stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncBufReadExt;

/// How many lines of a program's log are kept; `LONGEST_LINE` limits their length.
const MOST_LINES: usize = 200;
const LONGEST_LINE: usize = 500;

/// The last lines of a program's error stream, and how the program ended.
#[derive(Clone, Debug, Default)]
pub struct ProgramLog(Arc<Mutex<VecDeque<String>>>);

impl ProgramLog {
    pub fn add(&self, line: &str) {
        let line: String = line.trim_end().chars().take(LONGEST_LINE).collect();
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(onyx_types::visible_line(&line).to_string());
    }

    /// Adds a note of Onyx's own about the program.
    pub fn note(&self, line: &str) {
        self.add(&format!("[onyx] {line}"));
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// One line of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Whole,
    /// The line was too long: only its beginning was returned, and the rest follows.
    TooLong,
    End,
}

/// Reads one line of at most this many bytes.
pub async fn next_line(
    from: &mut (impl AsyncBufReadExt + Unpin),
    line: &mut Vec<u8>,
    most: usize,
) -> std::io::Result<Line> {
    line.clear();
    loop {
        let piece = from.fill_buf().await?;
        if piece.is_empty() {
            return Ok(if line.is_empty() { Line::End } else { Line::Whole });
        }
        let (taken, ended) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), false),
        };
        let fits = line.len() + taken <= most;
        if fits {
            line.extend_from_slice(&piece[..taken]);
        }
        from.consume(taken);
        if !fits {
            return Ok(Line::TooLong);
        }
        if ended {
            return Ok(Line::Whole);
        }
    }
}
