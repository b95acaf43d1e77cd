//! Checks what may not be in a committed file: unfinished work, paths of one machine, secrets, and
//! SQL that is glued together.

use super::{Problem, SourceFile, neighbours};

/// The path of this file, which must contain the words that it forbids.
const SELF: &str = "xtask/src/tidy/words.rs";

const UNFINISHED_CALLS: &[&str] = &["todo!(", "unimplemented!("];
const UNFINISHED_WORDS: &[&str] = &["FIXME", "TODO", "XXX"];
const MACHINE_PATHS: &[&str] = &["/work/", "/root/"];
const REGISTRY_HOSTS: &[&str] =
    &["crates.io", "pypi.org", "pythonhosted.org", "npmjs.org", "npmjs.com", "deb.debian.org"];
const SECRETS: &[&str] = &["PRIVATE KEY-----", "sk-ant-api", "ghp_", "AKIA"];
const SQL_VERBS: &[&str] =
    &["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "ALTER ", "CREATE ", "DROP "];

/// The name of Cargo's index, which every lock file contains.
const LOCKFILE_INDEX: &str = "crates.io-index";

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    files.iter().filter(|file| file.path != SELF).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Problem> {
    let lines = file.text.lines().zip(1..);
    lines
        .filter_map(|(line, number)| {
            Some(Problem::new(format!("{}:{number}", file.path), broken_rule(line)?))
        })
        .collect()
}

fn broken_rule(line: &str) -> Option<&'static str> {
    if UNFINISHED_CALLS.iter().any(|call| begins_a_word(line, call))
        || UNFINISHED_WORDS.iter().any(|word| is_a_word(line, word))
    {
        return Some("unfinished work: finish it, or file an issue");
    }
    if MACHINE_PATHS.iter().any(|path| starts_a_path(line, path)) {
        return Some("a path of one machine");
    }
    if REGISTRY_HOSTS.iter().any(|host| line.replace(LOCKFILE_INDEX, "").contains(host)) {
        return Some("the host of a package registry: name the package instead");
    }
    if SECRETS.iter().any(|mark| begins_a_word(line, mark)) {
        return Some("looks like a secret");
    }
    if glues_sql(line) {
        return Some("SQL built by format!: bind values as parameters");
    }
    None
}

fn is_a_word(line: &str, word: &str) -> bool {
    neighbours(line, word).any(|(before, after)| !is_letter(before) && !is_letter(after))
}

/// Whether a word begins with the mark; calls and secrets continue after theirs.
fn begins_a_word(line: &str, mark: &str) -> bool {
    neighbours(line, mark).any(|(before, _)| !is_letter(before))
}

fn is_letter(character: Option<char>) -> bool {
    character.is_some_and(|character| character.is_ascii_alphanumeric())
}

/// Whether `folder` begins a path. `/work/` is a machine's folder only at the start of a path;
/// further in, any folder may have that name.
fn starts_a_path(line: &str, folder: &str) -> bool {
    let goes_on = |character: char| character.is_alphanumeric() || "._-~}>*/$".contains(character);
    neighbours(line, folder).any(|(before, _)| !before.is_some_and(goes_on))
}

fn glues_sql(line: &str) -> bool {
    let mut calls = line.split("format!(\"").skip(1);
    calls.any(|text| SQL_VERBS.iter().any(|verb| text.starts_with(verb)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_file_and_the_line() {
        let files =
            [SourceFile::new("crates/types/src/lib.rs", "fn one() {}\nfn two() { todo!() }\n")];
        let expected = [Problem::new(
            "crates/types/src/lib.rs:2",
            "unfinished work: finish it, or file an issue",
        )];
        assert_eq!(check(&files), expected);
    }

    #[test]
    fn unfinished_work_is_found() {
        for line in [
            "todo!()",
            "    unimplemented!(\"later\")",
            "// FIXME: wrong",
            "// TODO later",
            "(TODO)",
        ] {
            assert!(broken_rule(line).is_some(), "{line}");
        }
    }

    #[test]
    fn words_that_only_contain_a_mark_are_fine() {
        for line in ["let todos = list();", "TODOIST_TOKEN", "my_todo!x", "EXXXTRA", "AUTODOC"] {
            assert_eq!(broken_rule(line), None, "{line}");
        }
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for line in
            ["cd /work/main", "\"/root/.cache\"", "HOME=/root/x", "see (/work/shared/notes.md)"]
        {
            assert_eq!(broken_rule(line), Some("a path of one machine"), "{line}");
        }
    }

    #[test]
    fn folders_of_the_same_name_further_in_are_fine() {
        for line in [
            "people/sam/vault/work/plan.md",
            "~/work/x",
            "$HOME/work/x",
            "{home}/root/x",
            "../root/x",
        ] {
            assert_eq!(broken_rule(line), None, "{line}");
        }
    }

    #[test]
    fn registry_hosts_are_found_and_the_lock_file_is_fine() {
        let index = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(broken_rule(index), None);
        assert!(broken_rule("https://static.crates.io/crates/x").is_some());
        assert!(broken_rule("index-url = https://pypi.org/simple").is_some());
    }

    #[test]
    fn secrets_are_found() {
        for line in [
            "-----BEGIN RSA PRIVATE KEY-----",
            "key: sk-ant-api03-abc",
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_abc123",
        ] {
            assert_eq!(broken_rule(line), Some("looks like a secret"), "{line}");
        }
    }

    #[test]
    fn glued_sql_is_found() {
        let rule = Some("SQL built by format!: bind values as parameters");
        assert_eq!(broken_rule("db.execute(&format!(\"DELETE FROM {table}\"))"), rule);
        assert_eq!(broken_rule("db.execute(\"DELETE FROM drafts WHERE id = ?1\")"), None);
        assert_eq!(broken_rule("format!(\"CREATED at {now}\")"), None);
    }
}
