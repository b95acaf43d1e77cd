//! Secrets whose leaks can be found. Every secret of a test contains one mark that appears nowhere
//! else; everything that a process writes or sends is searched for the mark, both as plain text and
//! in base64.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

/// The mark, which is part of every secret that tests use.
pub const CANARY: &str = "canary7f3a91c5";

/// Headers in which a request to a provider may carry its key; `x-more` is one that tests
/// configure.
const KEY_HEADERS: &[&str] = &["authorization", "x-api-key", "api-key", "x-goog-api-key", "x-more"];

/// The mark, and its base64 form at each offset in a text. Its letters and digits are the same in
/// both alphabets of base64.
static MARKS: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
    let encoded = |skipped: usize| {
        let rest = &CANARY.as_bytes()[skipped..];
        STANDARD.encode(&rest[..rest.len() / 3 * 3]).into_bytes()
    };
    [CANARY.as_bytes().to_vec(), encoded(0), encoded(1), encoded(2)]
});

/// A secret of one kind, so that its leak can be distinguished from those of other kinds.
pub fn secret(kind: &str) -> String {
    format!("{kind}_{CANARY}")
}

fn find(bytes: &[u8]) -> Option<usize> {
    MARKS.iter().find_map(|mark| memmem::find(bytes, mark))
}

pub(crate) fn is_in(bytes: &[u8]) -> bool {
    find(bytes).is_some()
}

/// Panics with the text around a leaked secret.
#[track_caller]
pub fn assert_absent(place: &str, bytes: &[u8]) {
    if let Some(at) = find(bytes) {
        let (start, end) = (at.saturating_sub(80), bytes.len().min(at + 80));
        panic!("a secret leaked into {place}: …{}…", String::from_utf8_lossy(&bytes[start..end]));
    }
}

/// Whether a header contains the mark although it may not carry a provider's key.
pub(crate) fn leaks_in_header(name: &str, value: &str) -> bool {
    is_in(value.as_bytes()) && !KEY_HEADERS.contains(&name)
}

/// The files below a folder that contain a secret, except those in which secrets belong.
pub(crate) fn search(folder: &Path, homes_of_secrets: &[PathBuf], more: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            found.extend(search(&path, homes_of_secrets, more));
        } else if kind.is_ok_and(|kind| kind.is_file()) && !homes_of_secrets.contains(&path) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let known = |secret: &String| memmem::find(&bytes, secret.as_bytes()).is_some();
            if is_in(&bytes) || more.iter().any(known) {
                found.push(path);
            }
        }
    }
    found
}
