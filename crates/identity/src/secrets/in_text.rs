//! Secrets in a JSON5 text such as the config, which are shortened when the text is shown. When a
//! person saves the shown text, each shortened key is replaced by the original one.

use std::collections::BTreeMap;

use onyx_types::{Hash, shortened_key};

/// A shortened key that matches no known key, or several. Holds the name of the setting whose value
/// it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey(pub String);

/// Names of keys whose values are secrets, without regard to case.
/// The URL of a database holds its password.
const SECRET_NAMES: &[&str] =
    &["key", "token", "secret", "password", "authorization", "cookie", "database"];
/// Objects all of whose values are secrets.
const ALL_SECRET: &[&str] = &["headers", "env"];
/// Values that only refer to a secret.
const REFERENCES: &[&str] = &["${", "env:", "file:", "secret:", "vaultwarden:"];
/// The mark that every shortened key contains and no real key does.
const CUT: char = '…';

/// Shortens the secrets of a file. This works for invalid files too, which must be shown so that a
/// person can fix them.
pub fn redacted(text: &str) -> String {
    rewritten(text, |_, value| is_secret(value).then(|| shortened(value)))
}

/// Replaces shortened keys by the original ones, which are taken from these files.
pub fn restored(text: &str, known: &[&str]) -> Result<String, UnknownKey> {
    let mut whole: BTreeMap<String, Option<String>> = BTreeMap::new();
    for file in known {
        rewritten(file, |_, value| {
            if is_secret(value) {
                let same = |kept: &mut Option<String>| {
                    if kept.as_deref() != Some(value) {
                        // Two keys have the same short form, so the original is unclear.
                        *kept = None;
                    }
                };
                let entry = whole.entry(shortened(value));
                entry.and_modify(same).or_insert_with(|| Some(value.to_owned()));
            }
            None
        });
    }
    let mut unknown = None;
    let text = rewritten(text, |name, value| {
        if !value.contains(CUT) {
            return None;
        }
        let found = whole.get(value).cloned().flatten();
        if found.is_none() {
            unknown.get_or_insert_with(|| name.to_owned());
        }
        found
    });
    match unknown {
        Some(name) => Err(UnknownKey(name)),
        None => Ok(text),
    }
}

fn is_secret(value: &str) -> bool {
    !value.is_empty() && !REFERENCES.iter().any(|reference| value.starts_with(reference))
}

fn shortened(value: &str) -> String {
    let shown = shortened_key(value);
    if shown.chars().count() > 1 {
        return shown;
    }
    // A short secret is not shown at all; the mark only distinguishes it from others.
    let mark: String = Hash::of(value.as_bytes()).to_string().chars().take(4).collect();
    format!("{CUT}{mark}")
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Settings that count tokens are not secrets, and neither is the address that issues them.
    let others = ["maxtokens", "max_tokens", "max_output_tokens", "maxoutputtokens", "tokenurl"];
    SECRET_NAMES.iter().any(|secret| name.contains(secret)) && !others.contains(&name.as_str())
}

/// The text in which each string whose name is that of a secret is replaced by the result of
/// `replace`, which gets name and value.
fn rewritten(text: &str, mut replace: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut place = ValuePosition::default();
    let mut last = "";
    let mut rest = text;
    while let Some(token) = next_token(rest) {
        let (piece, after) = rest.split_at(token.length);
        rest = after;
        match token.kind {
            Kind::String => {
                let inside = piece.trim_matches(|c| c == '"' || c == '\'');
                let fresh = place.secret_name().and_then(|name| replace(name, &unescaped(inside)));
                match fresh {
                    Some(fresh) => out.push_str(&serde_json::Value::from(fresh).to_string()),
                    None => out.push_str(piece),
                }
                last = inside;
                continue;
            }
            Kind::Word => last = piece,
            Kind::Sign(sign) => place.pass(sign, last),
            Kind::Blank => {}
        }
        out.push_str(piece);
    }
    out
}

/// The position of a value in the file, as far as signs and names show it.
#[derive(Default)]
struct ValuePosition<'a> {
    name: Option<&'a str>,
    /// The brackets around the value, each with the name whose value they are.
    around: Vec<(char, Option<&'a str>)>,
}

impl<'a> ValuePosition<'a> {
    fn pass(&mut self, sign: char, last: &'a str) {
        match sign {
            ':' => self.name = Some(last),
            '{' | '[' => self.around.push((sign, self.name)),
            '}' | ']' => self.name = self.around.pop().and_then(|(_, name)| name),
            // Every item of a list has the name of the list.
            ',' if !matches!(self.around.last(), Some(('[', _))) => self.name = None,
            _ => {}
        }
    }

    fn secret_name(&self) -> Option<&'a str> {
        let in_all =
            self.around.iter().any(|(_, name)| name.is_some_and(|n| ALL_SECRET.contains(&n)));
        self.name.filter(|name| in_all || is_secret_name(name))
    }
}

struct Token {
    kind: Kind,
    length: usize,
}

enum Kind {
    String,
    Word,
    Sign(char),
    /// Space or a comment.
    Blank,
}

/// The next token. Every text has one, because a broken file must be read too.
fn next_token(text: &str) -> Option<Token> {
    let first = text.chars().next()?;
    let until = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    let (kind, length) = match first {
        '/' if text.starts_with("//") => (Kind::Blank, until("\n")),
        '/' if text.starts_with("/*") => (Kind::Blank, until("*/")),
        '"' | '\'' => (Kind::String, string_length(text, first)),
        _ if is_word(first) => (Kind::Word, text.find(|c| !is_word(c)).unwrap_or(text.len())),
        _ if first.is_whitespace() => (Kind::Blank, first.len_utf8()),
        sign => (Kind::Sign(sign), sign.len_utf8()),
    };
    Some(Token { kind, length })
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '-' | '.')
}

/// The length of a string up to its closing quote; an unclosed string ends with its line.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Removes the escapes of quotes and backslashes, which are the only ones that keys contain.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
  // token: "in a comment stays"
  gateway: { auth: { mode: "token", token: "onyx_sk_abcdefghijkl" } },
  providers: { a: { apiKey: 'sk-or-v1-0123456789xyz', baseUrl: "http://x" }, b: { apiKey: "${B}",
    headers: { "X-Auth": "0123456789-0123456789" }, tokens: ["abcdefghijkl-1", "abcdefghijkl-2"] } },
  agents: { defaults: { maxTokens: 5 } }, limits: {},
}"#;

    #[test]
    fn keys_are_shown_shortened_and_come_back_whole() {
        let shown = redacted(FILE);
        assert!(!shown.contains("abcdefghijkl") && !shown.contains("0123456789"), "{shown}");
        for kept in ["in a comment stays", "mode: \"token\"", "${B}", "maxTokens: 5", "http://x"] {
            assert!(shown.contains(kept), "{shown}");
        }
        let edited = shown.replace("http://x", "http://y");
        let whole = restored(&edited, &[FILE]).unwrap();
        let quoted = FILE.replace('\'', "\"").replace("http://x", "http://y");
        assert_eq!(whole, quoted);
    }

    #[test]
    fn a_shortened_key_that_stands_for_nothing_or_two_things_is_refused() {
        let shown = redacted(FILE);
        assert_eq!(restored(&shown, &["{}"]), Err(UnknownKey("token".to_owned())));
        let other = FILE.replace("cdefghi", "0000000");
        assert!(restored(&shown, &[FILE, &other]).is_err());
    }

    #[test]
    fn a_broken_file_is_shown_too_and_keeps_its_secrets() {
        let broken = "{ apiKey: 'sk-or-v1-0123456789xyz\n, token: \"onyx_sk_abcdefghijkl\" ]";
        let shown = redacted(broken);
        assert!(!shown.contains("0123456789") && !shown.contains("abcdefghijkl"), "{shown}");
    }
}
