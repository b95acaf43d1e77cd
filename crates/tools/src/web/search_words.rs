//! Judges the words of a web search: removes commands to the engine, and decides whether the words
//! could carry private content out.

/// Characters that begin a command of SearXNG: another engine, a redirect, a language, a time
/// limit.
const COMMANDS: [char; 4] = ['!', '?', ':', '<'];

/// The most characters of an ordinary search. Longer ones, and longer words, are more like a
/// message.
const USUAL_CHARS: usize = 100;
const USUAL_WORD: usize = 28;

/// The words without the characters that would make a command, for this engine and those behind it.
pub(crate) fn neutral(query: &str) -> String {
    let plain = |word: &str| word.trim_start_matches(COMMANDS).trim_end_matches('!').to_owned();
    let words = query.split_whitespace().map(plain).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Whether the words could carry a message to the engine's owner, or to the owner of a host named
/// in them.
pub(crate) fn could_carry(query: &str) -> bool {
    query.chars().count() > USUAL_CHARS
        || query
            .split_whitespace()
            .any(|word| names_host(word) || word.chars().count() > USUAL_WORD)
}

/// Whether the word is an address, a mail address, or looks like the name of a host.
fn names_host(word: &str) -> bool {
    if word.contains("://") || word.contains('@') {
        return true;
    }
    let word = word.rsplit(':').next().unwrap_or(word);
    let host = word.split(['/', '?', '#']).next().unwrap_or(word);
    let host = host.trim_matches(|c: char| !c.is_alphanumeric());
    let Some((before, last)) = host.rsplit_once('.') else { return false };
    !before.is_empty() && last.len() > 1 && last.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_a_command() {
        for (query, sent) in [
            ("tides today", "tides today"),
            ("!!evil.example x", "evil.example x"),
            ("a !images :de <5 ?x b", "a images de 5 x b"),
            ("!! :!< tides!", "tides"),
            ("weather g!", "weather g"),
            ("!:!x", "x"),
            ("C++ 5<6 what?", "C++ 5<6 what?"),
        ] {
            assert_eq!(neutral(query), sent, "{query}");
        }
    }

    #[test]
    fn what_could_carry_a_message_is_known() {
        for query in [
            "evil.example",
            "a.b.evil.example tides",
            "site:evil.example tides",
            "see http://x/y",
            "me@evil.example",
            "(evil.example)",
            "c2VjcmV0IGtleSBvZiB0aGUgaG91c2U",
            &"word ".repeat(30),
        ] {
            assert!(could_carry(query), "{query}");
        }
        for query in
            ["high water at noon", "pi is 3.14", "e.g. tides", "version 2.0.1", "what? now!"]
        {
            assert!(!could_carry(query), "{query}");
        }
    }
}
