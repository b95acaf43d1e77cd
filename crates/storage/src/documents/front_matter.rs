//! The front matter of a markdown file: the block between two `---` lines at its start. Other
//! programs and people write there too, so everything but the changed keys is preserved byte for
//! byte.

use std::fmt::Write as _;

/// The entries of a front matter, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The key; `None` for comments and for lines that are not an entry.
    key: Option<String>,
    /// The lines of the entry, each with its line end.
    raw: String,
}

impl FrontMatter {
    /// Splits a text into front matter and body. If the front matter is missing or not closed, the
    /// whole text is body.
    pub fn split(text: &str) -> (Self, &str) {
        let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(block) = after_rule(unmarked) else { return (Self::default(), text) };
        let mut matter = Self::default();
        let mut rest = block;
        while let Some(end) = rest.find('\n') {
            let (line, after) = rest.split_at(end + 1);
            if matches!(line.trim_end(), "---" | "...") {
                return (matter, after);
            }
            matter.add(line);
            rest = after;
        }
        if matches!(rest.trim_end(), "---" | "...") {
            (matter, "")
        } else {
            (Self::default(), text)
        }
    }

    /// Joins the front matter, if there is one, and the body into a file again.
    pub fn join(&self, body: &str) -> String {
        if self.entries.is_empty() {
            return body.to_owned();
        }
        let entries: String = self.entries.iter().map(|entry| entry.raw.as_str()).collect();
        format!("---\n{entries}---\n{body}")
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.key.as_deref())
    }

    /// The value of a key if it is one line; `None` for lists, blocks and empty values.
    pub fn text(&self, key: &str) -> Option<String> {
        let value = self.value(key)?;
        let (first, more) = value.split_once('\n').unwrap_or((value, ""));
        let first = first.trim();
        let is_plain = more.trim().is_empty() && !first.starts_with(['[', '{', '|', '>', '&', '*']);
        is_plain.then(|| scalar(first)).flatten()
    }

    /// The list under a key, in either notation of YAML; a single value is a list of one.
    pub fn list(&self, key: &str) -> Vec<String> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let (first, more) = value.split_once('\n').unwrap_or((value, ""));
        match first.trim().strip_prefix('[').and_then(|inline| inline.strip_suffix(']')) {
            Some(inline) => items(inline).iter().filter_map(|item| scalar(item)).collect(),
            None if first.trim().is_empty() => {
                let items = more.lines().filter_map(|line| line.trim().strip_prefix("- "));
                items.filter_map(scalar).collect()
            }
            None => scalar(first).into_iter().collect(),
        }
    }

    pub fn set_text(&mut self, key: &str, value: &str) {
        self.set(key, format!("{key}: {}\n", quoted(value)));
    }

    pub fn set_list(&mut self, key: &str, values: &[String]) {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        self.set(key, format!("{key}: [{}]\n", values.join(", ")));
    }

    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key.as_deref() != Some(key));
    }

    fn value(&self, key: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.key.as_deref() == Some(key))?;
        Some(entry.raw.split_once(':')?.1)
    }

    fn set(&mut self, key: &str, raw: String) {
        match self.entries.iter_mut().find(|entry| entry.key.as_deref() == Some(key)) {
            Some(entry) => entry.raw = raw,
            None => self.entries.push(Entry { key: Some(key.to_owned()), raw }),
        }
    }

    fn add(&mut self, line: &str) {
        let key = key_of(line);
        let is_comment = line.starts_with('#');
        match self.entries.last_mut() {
            Some(entry) if key.is_none() && !is_comment && entry.key.is_some() => {
                entry.raw.push_str(line);
            }
            _ => self.entries.push(Entry { key, raw: line.to_owned() }),
        }
    }
}

fn after_rule(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    (first.trim_end() == "---").then_some(rest)
}

/// The key of a line, if the line begins an entry.
fn key_of(line: &str) -> Option<String> {
    if line.starts_with(|first: char| first.is_whitespace() || "#-".contains(first)) {
        return None;
    }
    let (key, value) = line.split_once(':')?;
    let ends = value.is_empty() || value.starts_with(char::is_whitespace);
    ends.then(|| key.trim().trim_matches(['"', '\'']).to_owned())
}

/// Parses a value, without its quotes or comment; `None` when it is empty.
fn scalar(text: &str) -> Option<String> {
    let text = text.trim();
    let value = if text.starts_with('"') {
        // Almost all double-quoted strings of YAML are also JSON. The rest is taken literally.
        let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
        match strings.next() {
            Some(Ok(value)) => value,
            Some(Err(_)) | None => text.trim_matches('"').to_owned(),
        }
    } else if let Some(quoted) = text.strip_prefix('\'') {
        quoted.trim_end_matches('\'').replace("''", "'")
    } else {
        let plain = text.split_once(" #").map_or(text, |(plain, _)| plain).trim();
        if matches!(plain, "~" | "null") { String::new() } else { plain.to_owned() }
    };
    (!value.is_empty()).then_some(value)
}

/// Splits an inline list at its commas, except for those inside quotes.
fn items(inline: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut quote = None;
    for letter in inline.chars() {
        match (quote, letter) {
            (None, ',') => items.push(String::new()),
            (_, _) => {
                if quote == Some(letter) {
                    quote = None;
                } else if quote.is_none() && matches!(letter, '"' | '\'') {
                    quote = Some(letter);
                }
                if let Some(item) = items.last_mut() {
                    item.push(letter);
                }
            }
        }
    }
    items
}

/// Quotes a value, unless every reader of YAML takes it unquoted for the same text.
fn quoted(value: &str) -> String {
    let plain = value.starts_with(char::is_alphabetic)
        && !value.contains([':', '#', '"', '\'', '\\', '\n', '\r', '\t', '[', ']', '{', '}', ','])
        && value.trim() == value
        && !matches!(
            value.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if plain { value.to_owned() } else { in_quotes(value) }
}

fn in_quotes(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    for letter in value.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            // The result is ignored, because writing into a string cannot fail.
            control if control.is_control() => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            plain => text.push(plain),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "---\n# mine\ntitle: Plan: B   # later\ntags: [a, \"b, c\"]\nlinks:\n  - x\n  - y: 1\naliases:\n- one\n- two\n\nold: 'it''s'\n---\n\n# Body\n";

    #[test]
    fn what_is_not_touched_stays_byte_for_byte() {
        let (mut matter, body) = FrontMatter::split(NOTE);
        assert_eq!(matter.join(body), NOTE);
        matter.set_text("title", "New");
        matter.remove("old");
        let expected = NOTE
            .replace("title: Plan: B   # later\n", "title: New\n")
            .replace("old: 'it''s'\n", "");
        assert_eq!(matter.join(body), expected);
    }

    #[test]
    fn values_are_read_in_every_notation() {
        let (matter, body) = FrontMatter::split(NOTE);
        assert_eq!(body, "\n# Body\n");
        assert_eq!(matter.text("title").as_deref(), Some("Plan: B"));
        assert_eq!(matter.text("old").as_deref(), Some("it's"));
        assert_eq!(
            (matter.text("tags"), matter.text("links"), matter.text("none")),
            (None, None, None)
        );
        assert_eq!(matter.list("tags"), ["a", "b, c"]);
        assert_eq!(matter.list("aliases"), ["one", "two"]);
        assert_eq!(matter.list("title"), ["Plan: B"]);
        assert_eq!(matter.keys().collect::<Vec<_>>(), ["title", "tags", "links", "aliases", "old"]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for value in [
            "plain words",
            "a: b",
            "yes",
            "12",
            "\"quoted\"",
            "two\nlines",
            "- x",
            "käse #1",
            "\u{7}",
            "[x]",
            "it's",
        ] {
            let mut matter = FrontMatter::default();
            matter.set_text("k", value);
            matter.set_list("l", &[value.to_owned(), "z".to_owned()]);
            let file = matter.join("body");
            let (read, body) = FrontMatter::split(&file);
            assert_eq!((read.text("k").as_deref(), body), (Some(value), "body"), "{file}");
            assert_eq!(read.list("l"), [value, "z"], "{file}");
        }
    }

    #[test]
    fn a_front_matter_that_does_not_end_is_body() {
        for text in ["---\ntitle: x\nno end", "--- \n", "text\n---\na: b\n---\n", "", "---"] {
            assert_eq!(FrontMatter::split(text), (FrontMatter::default(), text));
        }
        let (matter, body) = FrontMatter::split("---\r\ntitle: Windows\r\n---\r\nbody\r\n");
        assert_eq!((matter.text("title").as_deref(), body), (Some("Windows"), "body\r\n"));
    }
}
