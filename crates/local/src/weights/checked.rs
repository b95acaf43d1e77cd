use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::WeightsError;

/// The SHA-256 of a file, in hexadecimal.
pub fn sha256_of(path: &Path) -> Result<String, WeightsError> {
    let mut file = File::open(path).map_err(WeightsError::file(path))?;
    copy_hashed(&mut file, &mut std::io::sink()).map_err(WeightsError::file(path))
}

/// Copies everything and returns its hash.
pub(super) fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<String> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&sum.finalize()));
        }
        sum.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn check(path: &Path, found: String, expected: &str) -> Result<(), WeightsError> {
    if found == expected {
        return Ok(());
    }
    Err(WeightsError::Sum { path: path.to_owned(), found, expected: expected.to_owned() })
}
