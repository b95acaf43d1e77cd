//! Encodes names and values for forms and queries.

/// Percent-encodes all bytes but plain letters.
pub(super) fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let letter = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(letter).collect()
}

pub(super) fn written(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{}={}", encoded(name), encoded(value));
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

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
