//! Checks the tests that THREAT_MODEL.md names as proof: each must exist, a row without one must
//! say so, and every row says what its tests do not prove.

use super::{Problem, SourceFile, neighbours};

const PAPER: &str = "THREAT_MODEL.md";
const NOT_YET: &str = "not yet";
const NOT_PROVED: &str = "Not proved: ";
const PLACES: &[&str] = &["crates/", "web/", "clients/"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let Some(paper) = files.iter().find(|file| file.path == PAPER) else {
        return vec![Problem::new(PAPER, "is missing")];
    };
    let tests: Vec<&SourceFile> = files.iter().filter(|file| holds_tests(file)).collect();
    let rows = paper.text.lines().filter_map(proof_of_row);
    let unproven = rows.flat_map(|(threat, proof)| problems_of(threat, proof, &tests));
    unproven.chain(places_that_are_gone(&paper.text, files)).collect()
}

/// Files and folders that the document names but that do not exist.
fn places_that_are_gone(text: &str, files: &[SourceFile]) -> Vec<Problem> {
    let named = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let places = named.filter(|name| PLACES.iter().any(|folder| name.starts_with(folder)));
    let is_there = |place: &str| {
        let below = format!("{place}/");
        files.iter().any(|file| file.path == place || file.path.starts_with(&below))
    };
    let gone = places.filter(|place| !is_there(place));
    gone.map(|place| Problem::new(PAPER, format!("there is no {place}"))).collect()
}

fn holds_tests(file: &SourceFile) -> bool {
    let holds_tests = file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
    file.is_code() && (holds_tests || file.text.contains("#[cfg(test)]"))
}

/// The subject and the last cell of a table row; `None` for other lines, including headings.
fn proof_of_row(line: &str) -> Option<(&str, &str)> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let (threat, _) = cells.split_once(" | ")?;
    let (_, proof) = cells.rsplit_once(" | ")?;
    (proof != "proof").then_some((threat, proof))
}

fn problems_of(threat: &str, proof: &str, tests: &[&SourceFile]) -> Vec<Problem> {
    let named: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
    if named.is_empty() && !proof.contains(NOT_YET) {
        let rule = format!("{threat:?} has neither a test nor {NOT_YET:?}");
        return vec![Problem::new(PAPER, rule)];
    }
    if !proof.contains(NOT_PROVED) && !proof.contains(NOT_YET) {
        let rule = format!("{threat:?} does not say what its tests leave open ({NOT_PROVED:?})");
        return vec![Problem::new(PAPER, rule)];
    }
    let missing = named.into_iter().filter(|name| !tests.iter().any(|file| has_test(file, name)));
    missing.map(|name| Problem::new(PAPER, format!("no test is called {name}"))).collect()
}

/// Whether the file contains the name as a whole word. No `fn` before it is required, because
/// macros make some tests.
fn has_test(file: &SourceFile, name: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    file.text.lines().any(|line| {
        neighbours(line, name)
            .any(|(before, after)| !before.is_some_and(of_name) && !after.is_some_and(of_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "| threat | defence, and where | proof |\n|---|---|---|\n";

    fn problems(row: &str) -> Vec<Problem> {
        let files = [
            SourceFile::new(PAPER, &format!("# Threats\n\n{HEAD}{row}\n")),
            SourceFile::new("crates/a/tests/it/main.rs", "#[test]\nfn a_thief_is_caught() {}\n"),
            SourceFile::new("crates/a/src/lib.rs", "fn a_thief_is_welcome() {}\n"),
        ];
        check(&files)
    }

    #[test]
    fn a_test_that_exists_is_proof_and_not_yet_is_honest() {
        assert_eq!(problems("| thieves | locks | `a_thief_is_caught`. Not proved: ghosts |"), []);
        assert_eq!(problems("| ghosts | none | not yet |"), []);
    }

    #[test]
    fn a_test_that_does_not_exist_is_named() {
        for name in ["a_thief_is_welcome", "a_thief_is", "thief_is_caught"] {
            let found = problems(&format!(
                "| thieves | locks | `a_thief_is_caught`, `{name}`. Not proved: ghosts |"
            ));
            assert_eq!(found, [Problem::new(PAPER, format!("no test is called {name}"))]);
        }
    }

    #[test]
    fn a_row_without_proof_must_say_so() {
        let found = problems("| thieves | locks in `doors.rs` | surely |");
        let rule = "\"thieves\" has neither a test nor \"not yet\"";
        assert_eq!(found, [Problem::new(PAPER, rule)]);
    }

    #[test]
    fn a_row_says_what_its_tests_leave_open() {
        let found = problems("| thieves | locks | `a_thief_is_caught` |");
        let rule = "\"thieves\" does not say what its tests leave open (\"Not proved: \")";
        assert_eq!(found, [Problem::new(PAPER, rule)]);
    }

    #[test]
    fn a_place_that_is_gone_is_named() {
        let row = |place: &str| {
            format!("| thieves | locks (`{place}`) | `a_thief_is_caught`: ghosts not yet |")
        };
        assert_eq!(problems(&row("crates/a/src/lib.rs")), []);
        assert_eq!(problems(&row("crates/a/tests")), []);
        let rule = "there is no crates/a/src/locks.rs";
        assert_eq!(problems(&row("crates/a/src/locks.rs")), [Problem::new(PAPER, rule)]);
    }

    #[test]
    fn the_paper_itself_is_asked_for() {
        assert_eq!(check(&[]), [Problem::new(PAPER, "is missing")]);
    }
}
