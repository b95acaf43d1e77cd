//! Checks that the glossary lists each word once and in alphabetical order, so that a reader finds
//! each word and its one meaning.

use super::{Problem, SourceFile};

const DOCUMENT: &str = "docs/glossary.md";

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let Some(document) = files.iter().find(|file| file.path == DOCUMENT) else {
        return Vec::new();
    };
    let words = words(&document.text);
    let mut problems = Vec::new();
    for ((_, before), (line, word)) in words.iter().zip(words.iter().skip(1)) {
        if word <= before {
            let rule = format!("`{word}` does not come after `{before}` in the alphabet");
            problems.push(Problem::new(format!("{DOCUMENT}:{line}"), rule));
        }
    }
    problems
}

/// The words in the first column of the table, with their line numbers.
fn words(text: &str) -> Vec<(usize, String)> {
    let rows = (1..).zip(text.lines()).skip_while(|(_, line)| !line.starts_with("|---"));
    rows.skip(1)
        .filter_map(|(line, row)| Some((line, row.split('|').nth(1)?.trim().to_lowercase())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(rows: &str) -> Vec<String> {
        let text = format!("# Glossary\n\n| word | means |\n|---|---|\n{rows}");
        check(&[SourceFile::new(DOCUMENT, &text)])
            .into_iter()
            .map(|problem| problem.place)
            .collect()
    }

    #[test]
    fn words_stand_once_and_in_order() {
        assert_eq!(problems("| a | one |\n| B | two |\n| b (of c) | three |\n"), [""; 0]);
        assert_eq!(problems("| b | one |\n| a | two |\n"), ["docs/glossary.md:6"]);
        assert_eq!(problems("| tag | one |\n| tag | two |\n"), ["docs/glossary.md:6"]);
    }
}
