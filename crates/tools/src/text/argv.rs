//! Shows commands in the form in which people read them.

use serde_json::Value;

/// The command with quotes where a shell would need them, so that each argument is recognisable.
pub(crate) fn quoted(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// The command of a call whose arguments were not checked yet.
pub(crate) fn shown(argv: Option<&Value>) -> String {
    let words = argv.and_then(Value::as_array).into_iter().flatten();
    quoted(&words.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_can_not_look_like_two() {
        let argv = ["ls", "-la", "a b", "it's", "", "x;rm -rf /"].map(str::to_owned);
        assert_eq!(quoted(&argv), r"ls -la 'a b' 'it'\''s' '' 'x;rm -rf /'");
    }
}
