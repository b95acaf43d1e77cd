//! Checks house rules that no lint checks: which crate may depend on which, how long a file may be,
//! what may not be committed. Each check is a pure function from the files that were read to
//! problems, so that its tests can show it failing.

mod edges;
mod glossary;
mod links;
mod migrations;
mod named;
mod papers;
mod rooms;
mod sizes;
mod threats;
mod typescript;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A rule that was broken, and where.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    place: String,
    rule: String,
}

impl Problem {
    fn new(place: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { place: place.into(), rule: rule.into() }
    }
}

/// A text file of the workspace.
#[derive(Debug)]
struct SourceFile {
    /// The path relative to the workspace, with forward slashes.
    path: String,
    text: String,
}

impl SourceFile {
    #[cfg(test)]
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn is_code(&self) -> bool {
        let extension = Path::new(&self.path).extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("rs" | "ts" | "tsx"))
    }

    fn is_generated(&self) -> bool {
        self.path.contains("generated")
            || self.path.contains(".gen.")
            || self.path.contains("/dist/")
    }
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let paths = list_files(root)?;
    let files = read_files(root, &paths)?;
    let packages = edges::parse(&cargo_metadata(root)?)?;

    for note in sizes::long_files(&files) {
        println!("note: {}: {}", note.place, note.rule);
    }
    let rooms = rooms::count(&files);
    for counts in &rooms {
        println!("{}", counts.line());
    }
    let problems: Vec<Problem> = [
        rooms::check(&rooms),
        edges::check(&files, &packages),
        migrations::check(&files),
        links::check(&files, &paths),
        named::check(&files, &paths),
        glossary::check(&files),
        typescript::check(&files),
        sizes::check(&files),
        papers::check(&files),
        threats::check(&files),
        words::check(&files),
    ]
    .into_iter()
    .flatten()
    .collect();

    for problem in &problems {
        eprintln!("{}: {}", problem.place, problem.rule);
    }
    if problems.is_empty() {
        println!("tidy: {} files and {} crates keep the house rules", files.len(), packages.len());
        return Ok(());
    }
    bail!("tidy: {} broken rule(s), listed above", problems.len())
}

/// Lists tracked files, and new ones that are not ignored: a problem should show before it is
/// committed.
fn list_files(root: &Path) -> Result<BTreeSet<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listing = output(Command::new("git").args(arguments).current_dir(root))?;
    let listed = listing.split('\0').filter(|path| !path.is_empty());
    // A tracked file may be deleted, or be a link or a submodule, and none of these holds text to
    // check.
    let is_file = |path: &&str| root.join(path).symlink_metadata().is_ok_and(|meta| meta.is_file());
    Ok(listed.filter(is_file).map(str::to_owned).collect())
}

/// Reads those of the files that are text.
fn read_files(root: &Path, paths: &BTreeSet<String>) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in paths {
        let bytes =
            std::fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path: path.clone(), text });
        }
    }
    Ok(files)
}

/// The characters directly before and after each occurrence of `part` in the line.
fn neighbours<'a>(
    line: &'a str,
    part: &'a str,
) -> impl Iterator<Item = (Option<char>, Option<char>)> + 'a {
    line.match_indices(part).map(move |(start, _)| {
        (line[..start].chars().next_back(), line[start + part.len()..].chars().next())
    })
}

fn cargo_metadata(root: &Path) -> Result<String> {
    output(
        Command::new("cargo")
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(root),
    )
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{command:?} printed something that is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_read_with_its_own_files_and_crates() {
        let root = crate::workspace_root().unwrap();

        let files = read_files(&root, &list_files(&root).unwrap()).unwrap();
        let packages = edges::parse(&cargo_metadata(&root).unwrap()).unwrap();

        assert!(files.iter().any(|file| file.path == "xtask/src/tidy.rs"));
        assert!(packages.iter().any(|package| package.name == "onyx-types"));
    }
}
