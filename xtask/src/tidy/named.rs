//! Checks that the files, types and functions that ARCHITECTURE.md and the glossary name exist: a
//! document that misleads a newcomer is worse than none. A table of a crate's rooms must name what
//! is in this crate, and leave nothing out of its `src`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, SourceFile};

const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "docs/glossary.md"];
/// Folders of a home and of a build, which are not in the repository.
const ELSEWHERE: &[&str] = &["cache/", "web/dist"];
const ENDINGS: &[&str] = &["rs", "ts", "tsx", "md", "html", "py"];
/// The files of a crate that are no rooms.
const ROOTS: &[&str] = &["lib.rs", "main.rs"];
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
    let missing = |quoted: &Quoted<'_>| {
        let scope = &quoted.scope;
        let mut code = code.iter().filter(|file| scope.holds(&file.path));
        let is_there = match Named::read(quoted.name)? {
            Named::Path(path) => scope.has_path(path, paths),
            Named::Type(name) => code.any(|file| declares(&file.text, name)),
            Named::Part(owner, name) => code.any(|file| is_part(file, owner, name)),
        };
        let place = format!("{}:{}", document.path, quoted.line);
        let rule = format!("names `{}`, which is not {}", quoted.name, scope.words());
        (!is_there).then(|| Problem::new(place, rule))
    };
    let quoted = quoted(&document.text);
    let mut problems: Vec<Problem> = quoted.iter().filter_map(missing).collect();
    problems.extend(missing_rooms(document, &quoted, paths));
    problems
}

/// The entries of a crate's `src` that its table of rooms leaves out.
fn missing_rooms(
    document: &SourceFile,
    quoted: &[Quoted<'_>],
    paths: &BTreeSet<String>,
) -> Vec<Problem> {
    let mut rooms: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for quoted in quoted {
        if let Scope::Room(owner) = &quoted.scope {
            rooms.entry(*owner).or_default().insert(quoted.name.trim_end_matches('/'));
        }
    }
    let mut problems = Vec::new();
    for (owner, named) in rooms {
        let src = format!("crates/{owner}/src/");
        let inner = paths.iter().filter_map(|path| path.strip_prefix(&src));
        let entries: BTreeSet<&str> = inner.filter_map(|path| path.split('/').next()).collect();
        let left_out = |entry: &&str| !named.contains(entry) && !ROOTS.contains(entry);
        for entry in entries.into_iter().filter(left_out) {
            let rule = format!("the rooms of crates/{owner} leave out `{entry}`");
            problems.push(Problem::new(&document.path, rule));
        }
    }
    problems
}

/// A text between backquotes.
struct Quoted<'a> {
    line: usize,
    name: &'a str,
    scope: Scope<'a>,
}

/// Where the thing that a text names must be.
#[derive(Clone, Copy)]
enum Scope<'a> {
    Workspace,
    /// The first column of a crate's table of rooms: directly in the crate's `src`. Another crate
    /// may have a file of the same name, and would hide that the room is gone.
    Room(&'a str),
    /// The other columns of this table: anywhere in the crate.
    Crate(&'a str),
}

impl Scope<'_> {
    fn holds(&self, path: &str) -> bool {
        match self {
            Self::Workspace => true,
            Self::Room(owner) | Self::Crate(owner) => {
                path.starts_with(&format!("crates/{owner}/src/"))
            }
        }
    }

    /// Whether a file or folder has this path, or outside of a room's name, one that ends like it.
    fn has_path(&self, path: &str, paths: &BTreeSet<String>) -> bool {
        let path = path.trim_end_matches('/');
        if let Self::Room(owner) = self {
            let whole = format!("crates/{owner}/src/{path}/");
            return paths.iter().any(|file| format!("{file}/").starts_with(&whole));
        }
        let inner = format!("/{path}/");
        let mut paths = paths.iter().filter(|file| self.holds(file));
        paths.any(|file| format!("/{file}/").contains(&inner))
    }

    fn words(&self) -> String {
        match self {
            Self::Workspace => "there".to_owned(),
            Self::Room(owner) => format!("an entry of crates/{owner}/src"),
            Self::Crate(owner) => format!("in crates/{owner}/src"),
        }
    }
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

/// The texts between backquotes; blocks of code are left out.
fn quoted(text: &str) -> Vec<Quoted<'_>> {
    let mut found = Vec::new();
    let mut is_in_block = false;
    let mut table_of = None;
    for (line, text) in (1..).zip(text.lines()) {
        if text.starts_with("```") {
            is_in_block = !is_in_block;
            continue;
        }
        if is_in_block {
            continue;
        }
        if text.starts_with('#') {
            table_of = crate_of_rooms(text);
        }
        let row = text.strip_prefix('|').and_then(|row| row.split_once('|'));
        if let Some((owner, (room, rest))) = table_of.zip(row) {
            found.extend(quoted_in(room, line, Scope::Room(owner)));
            found.extend(quoted_in(rest, line, Scope::Crate(owner)));
        } else {
            found.extend(quoted_in(text, line, Scope::Workspace));
        }
    }
    found
}

fn quoted_in<'a>(text: &'a str, line: usize, scope: Scope<'a>) -> impl Iterator<Item = Quoted<'a>> {
    text.split('`').skip(1).step_by(2).map(move |name| Quoted { line, name, scope })
}

/// The crate whose table of rooms follows this heading.
fn crate_of_rooms(heading: &str) -> Option<&str> {
    let named = heading.trim_start_matches('#').trim().strip_prefix("The rooms of `crates/")?;
    named.strip_suffix('`')
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
        let paths = BTreeSet::from([path.to_owned(), "crates/tools/src/lib.rs".to_owned()]);
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
    fn a_table_of_rooms_names_what_is_in_its_own_crate() {
        let rooms = |crate_name: &str, room: &str, holds: &str| {
            problems(&format!(
                "### The rooms of `crates/{crate_name}`\n\n| room | holds |\n|---|---|\n\
                 | `{room}` | `{holds}` |\n\n## The rest\n\n| `start.rs` | `Desk` |\n"
            ))
        };
        assert_eq!(rooms("agent", "runs/", "Desk"), [""; 0]);
        assert_eq!(rooms("agent", "runs/", "start.rs"), [""; 0]);
        let deeper = "names `start.rs`, which is not an entry of crates/agent/src";
        let left_out = "the rooms of crates/agent leave out `runs`";
        assert_eq!(rooms("agent", "start.rs", "Desk"), [deeper, left_out]);
        let elsewhere = [
            "names `runs/`, which is not an entry of crates/tools/src",
            "names `Desk`, which is not in crates/tools/src",
        ];
        assert_eq!(rooms("tools", "runs/", "Desk"), elsewhere);
    }

    #[test]
    fn commands_routes_and_blocks_of_code_are_no_names() {
        assert_eq!(
            problems("`make test` `POST /api/x` `cache/text` `std::fs` `/v1/x`\n```\n`Gone`\n```"),
            [""; 0]
        );
    }
}
