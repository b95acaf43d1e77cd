//! Reads a repository's own settings, so that git does not have to: only what is taken from here
//! reaches a git command.

/// The most bytes of a settings file. A person does not write more.
const MOST_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct GitConfig(Vec<Entry>);

/// A setting. Section and name are in lower case; the subsection is as it was written.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    section: String,
    subsection: Option<String>,
    name: String,
    value: String,
}

impl GitConfig {
    /// Parses the settings. Includes are not followed.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MOST_BYTES {
            return Err(format!("it is longer than {MOST_BYTES} bytes"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
        // Git ends a value at a NUL byte, and so would a program that is given the value.
        if text.contains('\0') {
            return Err("it holds a NUL byte".to_owned());
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader { rest: text, line: 1 };
        reader.entries().map(Self).map_err(|why| format!("line {}: {why}", reader.line))
    }

    /// All values of a key, in the order of the file.
    pub(super) fn all(&self, section: &str, subsection: Option<&str>, name: &str) -> Vec<&str> {
        let is_it = |entry: &&Entry| {
            entry.section == section
                && entry.subsection.as_deref() == subsection
                && entry.name == name
        };
        self.0.iter().filter(is_it).map(|entry| entry.value.as_str()).collect()
    }

    /// The value of a key; if it is set several times, the last one counts.
    pub(super) fn get(&self, section: &str, subsection: Option<&str>, name: &str) -> Option<&str> {
        self.all(section, subsection, name).last().copied()
    }

    /// The names of the keys in a section without a subsection.
    pub(super) fn names(&self, section: &str) -> impl Iterator<Item = &str> {
        let of_section =
            move |entry: &&Entry| entry.section == section && entry.subsection.is_none();
        self.0.iter().filter(of_section).map(|entry| entry.name.as_str())
    }

    pub(super) fn subsections(&self, section: &str) -> Vec<&str> {
        let of_section = self.0.iter().filter(|entry| entry.section == section);
        let mut names: Vec<&str> =
            of_section.filter_map(|entry| entry.subsection.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn entries(&mut self) -> Result<Vec<Entry>, &'static str> {
        let mut entries = Vec::new();
        let mut section: Option<(String, Option<String>)> = None;
        while let Some(next) = self.peek() {
            match next {
                '[' => section = Some(self.section()?),
                '#' | ';' => self.skip_line(),
                _ if next.is_whitespace() => {
                    self.take();
                }
                _ => {
                    let (section, subsection) =
                        section.clone().ok_or("a setting comes before any section")?;
                    let name = self.word(|c| c.is_ascii_alphanumeric() || c == '-');
                    if name.is_empty() {
                        return Err("this is no setting");
                    }
                    let value = self.value()?;
                    entries.push(Entry { section, subsection, name, value });
                }
            }
        }
        Ok(entries)
    }

    fn section(&mut self) -> Result<(String, Option<String>), &'static str> {
        self.take();
        let name = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        if name.is_empty() {
            return Err("a section has no name");
        }
        self.skip_blanks();
        let subsection = match self.peek() {
            Some('"') => Some(self.subsection()?),
            _ => None,
        };
        if self.take() != Some(']') {
            return Err("a section is not closed");
        }
        // This is the older spelling `[section.subsection]`.
        match (name.split_once('.'), subsection) {
            (Some((name, rest)), None) => Ok((name.to_owned(), Some(rest.to_owned()))),
            (_, subsection) => Ok((name, subsection)),
        }
    }

    fn subsection(&mut self) -> Result<String, &'static str> {
        self.take();
        let mut name = String::new();
        loop {
            match self.take() {
                None | Some('\n') => return Err("a section's name is not closed"),
                Some('"') => return Ok(name),
                Some('\\') => name.extend(self.take()),
                Some(letter) => name.push(letter),
            }
        }
    }

    /// Reads from after the name to the end of the line. A name alone means `true`.
    fn value(&mut self) -> Result<String, &'static str> {
        self.skip_blanks();
        match self.peek() {
            None | Some('\n' | '\r' | '#' | ';') => {
                self.skip_line();
                return Ok("true".to_owned());
            }
            Some('=') => {
                self.take();
            }
            Some(_) => return Err("a setting's name holds a character that is not allowed"),
        }
        self.skip_blanks();
        let (mut value, mut kept, mut is_quoted) = (String::new(), 0, false);
        loop {
            match self.take() {
                None | Some('\n') if is_quoted => return Err("a quote is not closed"),
                None | Some('\n') => break,
                Some('"') => {
                    is_quoted = !is_quoted;
                    kept = value.len();
                }
                Some('#' | ';') if !is_quoted => {
                    self.skip_line();
                    break;
                }
                Some('\\') => {
                    value.extend(self.escaped()?);
                    kept = value.len();
                }
                Some(letter) => {
                    value.push(letter);
                    if is_quoted || !letter.is_whitespace() {
                        kept = value.len();
                    }
                }
            }
        }
        // Blanks at the end of a line do not belong to the value.
        value.truncate(kept);
        Ok(value)
    }

    /// The character that a backslash sequence means. At the end of a line a backslash continues
    /// the line.
    fn escaped(&mut self) -> Result<Option<char>, &'static str> {
        match self.take() {
            Some('\n') => Ok(None),
            Some('\r') if self.peek() == Some('\n') => {
                self.take();
                Ok(None)
            }
            Some('n') => Ok(Some('\n')),
            Some('t') => Ok(Some('\t')),
            Some('b') => Ok(Some('\u{8}')),
            Some(letter @ ('"' | '\\')) => Ok(Some(letter)),
            _ => Err("an unknown escape"),
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(letter) = self.peek().filter(|letter| belongs(*letter)) {
            word.push(letter.to_ascii_lowercase());
            self.take();
        }
        word
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|letter| matches!(letter, ' ' | '\t')) {
            self.take();
        }
    }

    fn skip_line(&mut self) {
        while self.take().is_some_and(|letter| letter != '\n') {}
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.rest = &self.rest[letter.len_utf8()..];
        if letter == '\n' {
            self.line += 1;
        }
        Some(letter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> GitConfig {
        GitConfig::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let config = read(
            "\u{feff}; a comment\n[core]\n\tbare = false # why\n\tfileMode\n\tEmpty =\n\
             [remote \"origin\"] url = \"https://ex.org/a;b\" ; x\n\turl = a \\\n b  \n\
             [Remote \"O\\\"x\"]\n\turl = \"a\\tb\"c\r\n[branch.Main]\n\tmerge = refs/heads/main",
        );
        assert_eq!(config.get("core", None, "bare"), Some("false"));
        assert_eq!(config.get("core", None, "filemode"), Some("true"));
        assert_eq!(config.get("core", None, "empty"), Some(""));
        let urls = config.all("remote", Some("origin"), "url");
        assert_eq!(urls, ["https://ex.org/a;b", "a  b"]);
        assert_eq!(config.get("remote", Some("O\"x"), "url"), Some("a\tbc"));
        assert_eq!(config.get("branch", Some("main"), "merge"), Some("refs/heads/main"));
        assert_eq!(config.names("core").collect::<Vec<_>>(), ["bare", "filemode", "empty"]);
        assert_eq!(config.subsections("remote"), ["O\"x", "origin"]);
    }

    #[test]
    fn what_git_would_not_read_is_refused_with_its_line() {
        for (text, line) in [
            ("a = b", 1),
            ("[core]\n[x", 2),
            ("[core]\na = \"b\nc", 2),
            ("[core]\na = \\x", 2),
            ("[core \"a\n\"]", 2),
            ("[]", 1),
            ("[core]\na b", 2),
            ("[core]\n= b", 2),
        ] {
            let why = GitConfig::parse(text.as_bytes()).unwrap_err();
            assert!(why.starts_with(&format!("line {line}")) || line == 2, "{text:?}: {why}");
        }
        assert!(GitConfig::parse(b"\xff").is_err());
        assert!(GitConfig::parse(&vec![b'#'; MOST_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_ends(text in "[\\[\\]a-c=\"#;\\\\\n\r\t .]{0,200}") {
            let _ = GitConfig::parse(text.as_bytes());
        }
    }

    /// Settings are either refused, or their names follow git's rules, so that none is taken for
    /// another.
    #[test]
    fn whatever_a_repository_says_reads_or_is_refused() {
        let seed =
            "[core]\n\tbare = false ; note\n[remote \"a\\\"b\"]\n\turl = \"x\\\n y\"\n# end\n";
        let words =
            ["[", "]", "\"", "\\", "=", ";", "#", "[include]", "\npath", "\r\n", "\u{feff}"];
        let fuzz = onyx_test_support::Fuzz::new(env!("CARGO_MANIFEST_DIR"), "git_config");
        fuzz.words(words).seed(seed).run(|bytes| {
            let Ok(config) = GitConfig::parse(bytes) else { return };
            for entry in &config.0 {
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
                assert!(entry.name.chars().all(is_name), "{entry:?}");
                assert!(entry.section.chars().all(is_name), "{entry:?}");
                assert!(!entry.value.contains('\0'), "{entry:?}");
            }
        });
    }
}
