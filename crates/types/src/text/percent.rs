use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Encodes everything except the characters that RFC 3986 leaves unchanged, so nothing stays that
/// has a meaning in an address, a form or a header.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes a text as one part of a path, a query or a form.
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Encodes a path and keeps its slashes.
pub fn percent_encoded_path(path: &str) -> String {
    path.split('/').map(percent_encoded).collect::<Vec<_>>().join("/")
}

/// Decodes a text; `None` if the bytes are not valid UTF-8.
pub fn percent_decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_from_its_encoding() {
        let text = "a-b_c.d~ /?&=+%ü\n";
        let encoded = percent_encoded(text);
        assert_eq!(encoded, "a-b_c.d~%20%2F%3F%26%3D%2B%25%C3%BC%0A");
        assert_eq!(percent_decoded(&encoded).as_deref(), Some(text));
        assert_eq!(percent_decoded("%ff"), None);
    }
}
