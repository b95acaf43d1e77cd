//! Reads `$ONYX_HOME/.env`: lines of `NAME=value`, which count where the real environment has no
//! such variable.
//!
//! dotenvy is not used: it replaces `$NAME` inside values, which changes passwords with a `$`; it
//! refuses unquoted values with spaces; and it stops at the first unreadable line, while this
//! reports all of them.

use std::collections::BTreeMap;

/// The values by name, and the numbers of unreadable lines.
pub(super) fn parse(text: &str) -> (BTreeMap<String, String>, Vec<usize>) {
    let mut values = BTreeMap::new();
    let mut bad = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match assignment(line) {
            Some((name, value)) => {
                values.insert(name.to_owned(), value);
            }
            None => bad.push(index + 1),
        }
    }
    (values, bad)
}

fn assignment(line: &str) -> Option<(&str, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, raw) = line.split_once('=')?;
    let name = name.trim();
    super::substitute::is_name(name).then_some(())?;
    Some((name, value(raw.trim())?))
}

fn value(raw: &str) -> Option<String> {
    if let Some(rest) = raw.strip_prefix('\'') {
        return rest.split_once('\'').map(|(inside, _)| inside.to_owned());
    }
    if let Some(rest) = raw.strip_prefix('"') {
        return double_quoted(rest);
    }
    // A comment must follow a space, because many passwords contain `#`.
    let end = raw.find(" #").unwrap_or(raw.len());
    Some(raw[..end].trim_end().to_owned())
}

fn double_quoted(rest: &str) -> Option<String> {
    let mut value = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            '"' => return Some(value),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_comments_and_export_are_understood_and_bad_lines_named() {
        let text = "# keys\nA=1\nexport B = two words # why\nC='x # y'\nD=\"l\\n\\\"q\\\"\"\n\nE=p#w\nF=\nno assignment\n1X=2\nG=\"open\n";
        let (values, bad) = parse(text);
        let expected: BTreeMap<String, String> = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "x # y"),
            ("D", "l\n\"q\""),
            ("E", "p#w"),
            ("F", ""),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        assert_eq!((values, bad), (expected, vec![9, 10, 11]));
    }
}
