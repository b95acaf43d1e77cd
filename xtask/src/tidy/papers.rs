//! Checks the documents that a reader starts from, and what every crate must say about itself.

use super::{Problem, SourceFile};

const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    ".ci/run",
];

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems = missing_papers(files);
    problems.extend(changelog(files));
    for manifest in files.iter().filter(|file| is_crate_manifest(&file.path)) {
        problems.extend(inherited_lints(manifest));
        problems.extend(opening_comment(manifest, files));
        problems.extend(place_on_the_map(manifest, files));
        problems.extend(whole_clippy_config(manifest, files));
    }
    problems
}

fn find<'a>(files: &'a [SourceFile], path: &str) -> Option<&'a SourceFile> {
    files.iter().find(|file| file.path == path)
}

fn is_crate_manifest(path: &str) -> bool {
    path.ends_with("/Cargo.toml")
}

fn crate_folder(manifest: &SourceFile) -> &str {
    manifest.path.trim_end_matches("/Cargo.toml")
}

fn missing_papers(files: &[SourceFile]) -> Vec<Problem> {
    REQUIRED
        .iter()
        .filter(|path| find(files, path).is_none())
        .map(|path| Problem::new(*path, "is missing"))
        .collect()
}

fn changelog(files: &[SourceFile]) -> Option<Problem> {
    let changelog = find(files, "CHANGELOG.md")?;
    let has_section = changelog.text.lines().any(|line| line.trim_end() == "## Unreleased");
    (!has_section).then(|| Problem::new("CHANGELOG.md", "has no section \"## Unreleased\""))
}

fn inherited_lints(manifest: &SourceFile) -> Option<Problem> {
    let inherits = manifest.text.contains("[lints]\nworkspace = true");
    (!inherits).then(|| {
        Problem::new(
            &manifest.path,
            "does not take the workspace's lints ([lints] workspace = true)",
        )
    })
}

fn opening_comment(manifest: &SourceFile, files: &[SourceFile]) -> Option<Problem> {
    let folder = crate_folder(manifest);
    let root =
        ["lib.rs", "main.rs"].iter().find_map(|name| find(files, &format!("{folder}/src/{name}")));
    let Some(root) = root else {
        return Some(Problem::new(folder, "has neither src/lib.rs nor src/main.rs"));
    };
    let opening = root.text.lines().next().unwrap_or_default();
    let says_something =
        opening.strip_prefix("//! ").is_some_and(|purpose| purpose.split_whitespace().count() > 2);
    (!says_something).then(|| {
        Problem::new(&root.path, "does not open with `//!`, what it is for and what may not enter")
    })
}

fn place_on_the_map(manifest: &SourceFile, files: &[SourceFile]) -> Option<Problem> {
    let folder = crate_folder(manifest);
    let map = find(files, "ARCHITECTURE.md")?;
    let named = map.text.contains(&format!("`{folder}`"));
    (!named).then(|| {
        Problem::new("ARCHITECTURE.md", format!("does not name `{folder}` in its code map"))
    })
}

/// Clippy reads only the nearest configuration, so a crate's own must forbid everything that the
/// workspace's forbids.
fn whole_clippy_config(manifest: &SourceFile, files: &[SourceFile]) -> Option<Problem> {
    let own = find(files, &format!("{}/clippy.toml", crate_folder(manifest)))?;
    let shared = find(files, "clippy.toml")?;
    let left_out = shared.text.lines().find(|line| !own.text.lines().any(|own| own == *line))?;
    Some(Problem::new(
        &own.path,
        format!("leaves out a line of the workspace's clippy.toml: {left_out}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"onyx-types\"\n\n[lints]\nworkspace = true\n";

    /// A workspace of one crate that keeps every rule, with some files replaced.
    fn workspace(changes: &[(&str, &str)]) -> Vec<SourceFile> {
        let mut files: Vec<SourceFile> =
            REQUIRED.iter().map(|path| SourceFile::new(path, "")).collect();
        let mut put = |path: &str, text: &str| {
            files.retain(|file| file.path != path);
            files.push(SourceFile::new(path, text));
        };
        put("CHANGELOG.md", "# Changelog\n\n## Unreleased\n");
        put("ARCHITECTURE.md", "- `crates/types`: the words\n");
        put("crates/types/Cargo.toml", MANIFEST);
        put("crates/types/src/lib.rs", "//! The words everybody shares.\n");
        for (path, text) in changes {
            put(path, text);
        }
        files
    }

    #[test]
    fn a_complete_workspace_has_no_problem() {
        assert_eq!(check(&workspace(&[])), []);
    }

    #[test]
    fn a_missing_paper_is_named() {
        let mut files = workspace(&[]);
        files.retain(|file| file.path != "CHANGELOG.md");
        assert_eq!(check(&files), [Problem::new("CHANGELOG.md", "is missing")]);
    }

    #[test]
    fn a_changelog_needs_a_place_for_what_is_new() {
        let files = workspace(&[("CHANGELOG.md", "# Changelog\n")]);
        assert_eq!(
            check(&files),
            [Problem::new("CHANGELOG.md", "has no section \"## Unreleased\"")]
        );
    }

    #[test]
    fn a_crate_without_the_lints_is_reported() {
        let files = workspace(&[("crates/types/Cargo.toml", "[package]\n")]);
        assert_eq!(check(&files)[0].place, "crates/types/Cargo.toml");
    }

    #[test]
    fn a_crate_must_say_what_it_is_for() {
        for text in ["", "use std::fmt;\n", "//! placeholder\n"] {
            let files = workspace(&[("crates/types/src/lib.rs", text)]);
            assert_eq!(check(&files)[0].place, "crates/types/src/lib.rs", "opening {text:?}");
        }
    }

    #[test]
    fn a_crate_that_the_map_leaves_out_is_reported() {
        let files = workspace(&[("ARCHITECTURE.md", "nothing here\n")]);
        assert_eq!(check(&files)[0].place, "ARCHITECTURE.md");
    }

    #[test]
    fn a_crates_own_clippy_config_may_only_forbid_more() {
        let shared = ("clippy.toml", "ban = [\n  \"exit\",\n]\n");
        let more = ("crates/types/clippy.toml", "ban = [\n  \"exit\",\n  \"fs\",\n]\n");
        let less = ("crates/types/clippy.toml", "ban = [\n  \"fs\",\n]\n");

        assert_eq!(check(&workspace(&[shared, more])), []);
        assert_eq!(check(&workspace(&[shared, less]))[0].place, "crates/types/clippy.toml");
    }
}
