/// The known word that is closest to a misspelt one, if any is close enough.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let folded = fold(word);
    let scored = known.iter().map(|name| (strsim::levenshtein(&folded, &fold(name)), *name));
    let (distance, name) = scored.min_by_key(|(distance, _)| *distance)?;
    // At most a third of the letters may differ, otherwise another word is meant.
    (distance <= folded.chars().count().div_ceil(3)).then_some(name)
}

/// The word in a form in which `max_steps`, `maxSteps` and `max-steps` are equal.
fn fold(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_other_spellings_find_their_word_and_strangers_none() {
        let known = ["gateway", "providers", "agents", "max_steps"];
        let found = ["gatway", "provider", "agnets", "maxSteps", "zebra", ""]
            .map(|word| nearest(word, &known));
        assert_eq!(
            found,
            [Some("gateway"), Some("providers"), Some("agents"), Some("max_steps"), None, None]
        );
    }
}
