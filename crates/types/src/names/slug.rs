/// A name as part of an address: lower case, every run of characters that are neither letters nor
/// digits as one `-`, none at the ends. Empty when the text has neither letters nor digits.
pub fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_name_becomes_lower_case_words_with_one_dash_between() {
        for (text, expected) in [
            ("Extract yesterday URLs", "extract-yesterday-urls"),
            ("  2+2 = ?  ", "2-2"),
            ("Übersicht_heute", "übersicht-heute"),
            ("今日 まとめ", "今日-まとめ"),
            ("../../etc", "etc"),
            ("!?", ""),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
    }
}
