//! Escapes text for LinkedIn's own notation, in which some characters have a meaning. So readers
//! see exactly what the person saw, and nobody is mentioned by accident. Hashtags are kept, because
//! they read the same.

const RESERVED: &str = r"\|{}@[]()<>#*_~";

pub(super) fn little_text(text: &str) -> String {
    let mut little = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let begins_word = characters.peek().is_some_and(|next| next.is_alphanumeric());
        let is_hashtag = character == '#' && begins_word;
        if RESERVED.contains(character) && !is_hashtag {
            little.push('\\');
        }
        little.push(character);
    }
    little
}

#[cfg(test)]
mod tests {
    use super::little_text;

    #[test]
    fn what_would_mean_something_reads_as_it_was_seen() {
        assert_eq!(little_text("Hello, world. 100 % + 1"), "Hello, world. 100 % + 1");
        assert_eq!(
            little_text("@[Eve](urn:li:person:1) {hashtag|\\#|x}"),
            r"\@\[Eve\]\(urn:li:person:1\) \{hashtag\|\\\#\|x\}"
        );
        assert_eq!(
            little_text("#Rust and # alone, snake_case"),
            r"#Rust and \# alone, snake\_case"
        );
    }
}
