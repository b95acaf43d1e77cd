//! `WWW-Authenticate`: which credentials a server requires.

/// The challenge of a 401 or 403.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scope: Option<String>,
}

impl Challenge {
    pub(crate) fn read(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut rest = header.trim();
        if let Some((scheme, parameters)) = rest.split_once(' ')
            && !scheme.contains('=')
        {
            rest = parameters;
        }
        while let Some((name, after)) = rest.split_once('=') {
            let (value, after) = value(after.trim_start());
            match name.trim_matches([' ', ',']).to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scope = Some(value),
                _ => {}
            }
            rest = after.trim_start_matches([',', ' ']);
        }
        challenge
    }
}

/// Reads a token or a quoted text, and returns it with the text after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, letter) in quoted.char_indices() {
        match letter {
            _ if escaped => {
                value.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_where_to_look_and_what_is_needed() {
        let header = r#"Bearer error="insufficient_scope", scope="a:read b", realm="x\"=y", resource_metadata="https://m.example/p?a=b""#;
        let expected = Challenge {
            resource_metadata: Some("https://m.example/p?a=b".to_owned()),
            scope: Some("a:read b".to_owned()),
        };
        assert_eq!(Challenge::read(header), expected);
        assert_eq!(Challenge::read("Bearer"), Challenge::default());
        assert_eq!(Challenge::read("scope=one").scope.as_deref(), Some("one"));
        assert_eq!(Challenge::read(""), Challenge::default());
    }
}
