use std::fs;
use std::path::PathBuf;

use onyx_local::{Gguf, GgufError};

use crate::file::gguf;

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn a_whole_file_says_what_model_it_is() {
    let (_folder, path) = written(&gguf());

    let read = Gguf::read(&path).unwrap();

    assert_eq!(read.architecture, "llama");
    assert_eq!(read.name.as_deref(), Some("Tiny"));
    assert_eq!(read.context_length, Some(2048));
    assert_eq!(read.parameters, 64);
    assert_eq!(read.bytes, gguf().len() as u64);
    assert!(read.takes_tools());
}

#[test]
fn a_file_cut_at_any_byte_is_never_a_model() {
    let whole = gguf();
    let (_folder, path) = written(&whole);
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        match Gguf::read(&path) {
            Err(GgufError::NotAModel) => assert!(length < 4, "cut at {length}"),
            Err(GgufError::Truncated { .. }) => assert!(length >= 4, "cut at {length}"),
            other => panic!("cut at {length}: {other:?}"),
        }
    }
}

#[test]
fn other_files_and_harmful_ones_are_told_apart() {
    let (folder, path) = written(b"<!doctype html><p>Not found</p>");
    assert!(matches!(Gguf::read(&path), Err(GgufError::NotAModel)));
    assert!(matches!(Gguf::read(folder.path()), Err(GgufError::NotAModel)));
    assert!(matches!(Gguf::read(&path.join("x")), Err(GgufError::Unreadable(_))));

    let mut old = gguf();
    old[4] = 1;
    let (_folder, path) = written(&old);
    assert!(matches!(Gguf::read(&path), Err(GgufError::Version(1))));

    // A file that claims more tensors, entries or letters than any file has must be refused before
    // memory is allocated.
    for place in [8, 16, 24] {
        let mut huge = gguf();
        huge[place..place + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let (_folder, path) = written(&huge);
        assert!(matches!(Gguf::read(&path), Err(GgufError::Damaged(_))), "at {place}");
    }
}
