//! Collects what people wrote in a folder of sources, namely its markdown pages and doc comments,
//! in pieces of the size of a short note.

use std::fs;
use std::path::{Path, PathBuf};

/// The least number of words of a piece; `MOST` is the greatest.
const LEAST: usize = 50;
const MOST: usize = 70;
/// The largest file that is read, in bytes. Larger ones are data.
const LARGEST_FILE: u64 = 512 * 1024;

pub(crate) fn prose_in(folder: &Path, found: &mut impl FnMut(String)) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && entry.metadata().unwrap().len() <= LARGEST_FILE {
                pieces_of(&path, found);
            }
        }
    }
}

fn pieces_of(path: &PathBuf, found: &mut impl FnMut(String)) {
    let is_markdown = match path.extension().and_then(|end| end.to_str()) {
        Some("md") => true,
        Some("rs") => false,
        _ => return,
    };
    let Ok(text) = fs::read_to_string(path) else { return };
    let mut piece = Vec::<&str>::new();
    let mut in_code = false;
    for line in text.lines().map(str::trim_start) {
        let comment = || line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let line = if is_markdown { Some(line) } else { comment().map(str::trim_start) };
        let Some(line) = line else { continue };
        in_code ^= line.starts_with("```");
        if in_code {
            continue;
        }
        // Tokens of marks alone are left out, because they would be taken for headings, tables and
        // lists.
        piece.extend(line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)));
        while piece.len() >= MOST {
            found(piece.drain(..MOST).collect::<Vec<_>>().join(" "));
        }
        if line.is_empty() && piece.len() >= LEAST {
            found(std::mem::take(&mut piece).join(" "));
        }
    }
    if piece.len() >= LEAST {
        found(piece.join(" "));
    }
}
