//! Percent encoding of names and paths for headers and addresses, which hold ASCII only.

/// A name as one part of a path: a slash in it is encoded too.
pub(crate) fn percent_encoded(name: &str) -> String {
    encoded_but(name, b"-_.")
}

/// A path with its slashes kept.
pub(crate) fn percent_encoded_path(path: &str) -> String {
    encoded_but(path, b"/-_.~")
}

fn encoded_but(text: &str, kept: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
    let letter = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(letter).collect()
}
