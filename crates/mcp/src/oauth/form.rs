//! Encodes names and values for forms and queries.

use onyx_types::{percent_decoded, percent_encoded};

pub(super) fn written(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| {
        format!("{}={}", percent_encoded(name), percent_encoded(value))
    };
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

pub(super) fn body(fields: &[(&str, &str)]) -> Vec<u8> {
    written(fields).into_bytes()
}

pub(super) fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |piece: &str| {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        (decoded(name), decoded(value))
    };
    query.trim_start_matches('?').split('&').filter(|piece| !piece.is_empty()).map(pair).collect()
}

/// Decodes a value. One whose bytes are not text is returned unchanged.
fn decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " ")).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let fields = [("code", "a b&c=d"), ("iss", "https://x.example/ü"), ("empty", "")];
        let written = String::from_utf8(body(&fields)).unwrap();
        let expected: Vec<(String, String)> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(pairs(&written), expected);
        assert_eq!(
            pairs("?a=1+2&b%3"),
            [("a".into(), "1 2".into()), ("b%3".into(), String::new())]
        );
    }
}
