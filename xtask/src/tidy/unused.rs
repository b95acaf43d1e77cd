//! Dependencies that no code names. The same trick as cargo-machete's, without the minute it takes to build that.

use std::path::Path;

use super::edges::{Dependency, Kind, Package};
use super::{Problem, SourceFile, neighbours};

pub(super) fn check(packages: &[Package], files: &[SourceFile], root: &Path) -> Vec<Problem> {
    let of_packages = packages.iter().flat_map(|package| check_package(package, files, root));
    of_packages.chain(check_workspace(packages, files)).collect()
}

/// Versions that the workspace pins and no crate takes.
fn check_workspace(packages: &[Package], files: &[SourceFile]) -> Vec<Problem> {
    let Some(manifest) = files.iter().find(|file| file.path == "Cargo.toml") else {
        return Vec::new();
    };
    let taken = |name: &str| {
        packages.iter().flat_map(|package| &package.dependencies).any(|taken| taken.name == name)
    };
    let section =
        manifest.text.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" = "))
        .filter(|(name, _)| !name.starts_with('#') && !taken(name))
        .map(|(name, _)| Problem::new("Cargo.toml", format!("pins {name}, which no crate uses")))
        .collect()
}

fn check_package(package: &Package, files: &[SourceFile], root: &Path) -> Vec<Problem> {
    let folder =
        Path::new(&package.folder).strip_prefix(root).unwrap_or(Path::new(&package.folder));
    let sources: Vec<&SourceFile> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs") && Path::new(&file.path).starts_with(folder))
        .collect();
    package
        .dependencies
        .iter()
        .filter_map(|dependency| {
            Some(Problem::new(&package.name, unused(dependency, &sources, folder)?))
        })
        .collect()
}

fn unused(dependency: &Dependency, sources: &[&SourceFile], folder: &Path) -> Option<String> {
    let tests = folder.join("tests");
    let mut users =
        sources.iter().filter(|file| names(&file.text, &dependency.identifier)).peekable();
    if users.peek().is_none() {
        return Some(format!("depends on {} and never names it", dependency.name));
    }
    let only_tests = users.all(|file| Path::new(&file.path).starts_with(&tests));
    (dependency.kind == Kind::Product && only_tests)
        .then(|| format!("needs {} only in tests/: make it a dev-dependency", dependency.name))
}

/// Whether a line that is no comment holds the identifier as a word of its own.
fn names(text: &str, identifier: &str) -> bool {
    let goes_on = |character: char| character.is_alphanumeric() || character == '_';
    let alone = |(before, after): (Option<char>, Option<char>)| {
        !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
    };
    let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.any(|line| neighbours(line, identifier).any(alone))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(kind: Kind, files: &[SourceFile]) -> Vec<Problem> {
        let dependency =
            Dependency { name: "tower-http".to_owned(), identifier: "tower_http".to_owned(), kind };
        let package = Package {
            name: "onyx-api".to_owned(),
            folder: "/clone/crates/api".to_owned(),
            dependencies: vec![dependency],
        };
        check(&[package], files, Path::new("/clone"))
    }

    #[test]
    fn a_dependency_that_the_code_names_is_used() {
        let files = [SourceFile::new("crates/api/src/lib.rs", "use tower_http::limit;\n")];
        assert_eq!(problems(Kind::Product, &files), []);
    }

    #[test]
    fn comments_longer_words_and_other_crates_do_not_count() {
        let files = [
            SourceFile::new("crates/api/src/lib.rs", "// tower_http\nlet tower_http_layer = 1;\n"),
            SourceFile::new("crates/apiary/src/lib.rs", "use tower_http::limit;\n"),
            SourceFile::new("crates/api/README.md", "tower_http\n"),
        ];
        let expected = [Problem::new("onyx-api", "depends on tower-http and never names it")];
        assert_eq!(problems(Kind::Product, &files), expected);
        assert_eq!(problems(Kind::Test, &files), expected);
    }

    #[test]
    fn what_only_tests_need_is_a_dev_dependency() {
        let files = [SourceFile::new("crates/api/tests/api.rs", "use tower_http::limit;\n")];
        let expected =
            [Problem::new("onyx-api", "needs tower-http only in tests/: make it a dev-dependency")];
        assert_eq!(problems(Kind::Product, &files), expected);
        assert_eq!(problems(Kind::Test, &files), []);
    }

    #[test]
    fn a_version_that_no_crate_takes_is_reported() {
        let manifest = "[workspace.dependencies]\n# one = \"2\"\ntower-http = \"0.7\"\n\
                        base64 = \"0.22\"\n\n[profile.dev]\nopt-level = 1\n";
        let files = [
            SourceFile::new("Cargo.toml", manifest),
            SourceFile::new("crates/api/src/lib.rs", "use tower_http::limit;\n"),
        ];
        let expected = [Problem::new("Cargo.toml", "pins base64, which no crate uses")];
        assert_eq!(problems(Kind::Product, &files), expected);
    }
}
