//! Checks that the files, types and functions that ARCHITECTURE.md and the glossary name exist: a
//! document that misleads a newcomer is worse than none.

use std::collections::BTreeSet;

use super::{Problem, SourceFile};

const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "docs/glossary.md"];
/// Folders of a home and of a build, which are not in the repository.
const ELSEWHERE: &[&str] = &["cache/", "web/dist"];
const ENDINGS: &[&str] = &["rs", "ts", "tsx", "md", "html", "py"];
/// The words of a visibility, which may precede a declared name.
const BEFORE_A_NAME: &[&str] = &["pub", "crate", "super", "in"];
const KEYWORDS: &[&str] = &["fn", "struct", "enum", "trait", "mod", "const", "type"];

/// Finds names of things that do not exist. `paths` are all files of the workspace, including
/// pictures.
pub(super) fn check(files: &[SourceFile], paths: &BTreeSet<String>) -> Vec<Problem> {
    let documents = files.iter().filter(|file| DOCUMENTS.contains(&file.path.as_str()));
    documents.flat_map(|document| missing_names(document, files, paths)).collect()
}

fn missing_names(
    document: &SourceFile,
    files: &[SourceFile],
    paths: &BTreeSet<String>,
) -> Vec<Problem> {
    let code: Vec<&SourceFile> = files.iter().filter(|file| file.path.ends_with(".rs")).collect();
    let missing = |(line, name): (usize, &str)| {
        let is_there = match Named::read(name)? {
            Named::Path(path) => is_path(path, paths),
            Named::Type(name) => code.iter().any(|file| declares(&file.text, name)),
            Named::Part(owner, name) => code.iter().any(|file| is_part(file, owner, name)),
        };
        let place = format!("{}:{line}", document.path);
        (!is_there).then(|| Problem::new(place, format!("names `{name}`, which is not there")))
    };
    quoted(&document.text).into_iter().filter_map(missing).collect()
}

enum Named<'a> {
    Path(&'a str),
    Type(&'a str),
    /// A field, function or variant of a type, module or crate.
    Part(&'a str, &'a str),
}

impl<'a> Named<'a> {
    /// What the name refers to; `None` for commands, routes, config keys and names of other
    /// programs.
    fn read(name: &'a str) -> Option<Self> {
        let is_path = |c: char| c.is_alphanumeric() || "._-/".contains(c);
        let is_word = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
        if let Some((owners, part)) = name.rsplit_once("::") {
            let owner = owners.rsplit("::").next().unwrap_or(owners);
            let is_foreign = owners.starts_with("std");
            return (is_word(part) && !is_foreign).then_some(Self::Part(owner, part));
        }
        let ends = |ending: &&str| name.rsplit_once('.').is_some_and(|(_, end)| end == *ending);
        let is_file = ENDINGS.iter().any(ends);
        let is_relative = !name.starts_with(['/', '.', '~']);
        if (is_file || name.contains('/')) && is_relative && name.chars().all(is_path) {
            let is_elsewhere = ELSEWHERE.iter().any(|folder| name.starts_with(folder));
            return (!is_elsewhere).then_some(Self::Path(name));
        }
        let is_type = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase());
        (is_type && is_word(name)).then_some(Self::Type(name))
    }
}

/// The texts between backquotes, each with its line; blocks of code are left out.
fn quoted(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_in_block = false;
    for (line, text) in (1..).zip(text.lines()) {
        if text.starts_with("```") {
            is_in_block = !is_in_block;
        } else if !is_in_block {
            found.extend(text.split('`').skip(1).step_by(2).map(|name| (line, name)));
        }
    }
    found
}

/// Whether a file or folder of the workspace has a path that ends like this.
fn is_path(path: &str, paths: &BTreeSet<String>) -> bool {
    let path = path.trim_end_matches('/');
    let inner = format!("/{path}/");
    paths.iter().any(|file| format!("/{file}/").contains(&inner))
}

fn declares(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && declared(line).is_some_and(|declared| declared == name)
    })
}

/// The name that a line declares, as in `pub(crate) async fn name(`, or a variant or field as in
/// `name: …`.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let first = words.clone().find(|word| !word.is_empty() && !BEFORE_A_NAME.contains(word))?;
    let named = words.by_ref().any(|word| KEYWORDS.contains(&word));
    if named { words.find(|word| !word.is_empty()) } else { Some(first) }
}

/// Whether this is the file of that type or module, and declares the name.
fn is_part(file: &SourceFile, owner: &str, name: &str) -> bool {
    let is_owner = if owner.starts_with(|c: char| c.is_ascii_uppercase()) {
        has_word(&file.text, owner)
    } else {
        let folder = owner.trim_start_matches("onyx_");
        file.path.contains(&format!("/{folder}/")) || file.path.ends_with(&format!("/{folder}.rs"))
    };
    is_owner && declares(&file.text, name)
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(architecture: &str) -> Vec<String> {
        let code = "pub struct Desk {\n    pub(crate) name: u8,\n}\n\nimpl Desk {\n    pub(crate) async fn rename() {}\n}\n\
                    /// fn lost() of PersonaPort\npub enum Wire {\n    Sent(u8),\n}\n";
        let path = "crates/agent/src/runs/start.rs";
        let files = [SourceFile::new(DOCUMENTS[0], architecture), SourceFile::new(path, code)];
        let paths = BTreeSet::from([path.to_owned()]);
        check(&files, &paths).into_iter().map(|problem| problem.rule).collect()
    }

    #[test]
    fn what_is_there_may_be_named() {
        let names = "`crates/agent/src/runs` `start.rs` `runs/start.rs` `Desk` `Desk::rename` `agent::runs::rename` \
                     `Wire::Sent` `Desk::name`";
        assert_eq!(problems(names), [""; 0]);
    }

    #[test]
    fn a_file_type_or_function_that_is_gone_is_reported() {
        let names = "`runs/stop.rs` `Inbox` `Desk::delete` `PersonaPort::lost` `plan::rename`";
        let missing =
            ["runs/stop.rs", "Inbox", "Desk::delete", "PersonaPort::lost", "plan::rename"];
        let missing = missing.map(|name| format!("names `{name}`, which is not there"));
        assert_eq!(problems(names), missing);
    }

    #[test]
    fn commands_routes_and_blocks_of_code_are_no_names() {
        assert_eq!(
            problems("`make test` `POST /api/x` `cache/text` `std::fs` `/v1/x`\n```\n`Gone`\n```"),
            [""; 0]
        );
    }
}
