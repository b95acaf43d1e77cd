//! Checks that the web app, the client and the generator of its types use one version of
//! TypeScript: two versions may disagree without an error.

use super::{Problem, SourceFile};

const PACKAGES: &[&str] = &["web/package.json", "clients/ts/package.json"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let versions: Vec<(&str, Option<&str>)> = PACKAGES
        .iter()
        .filter_map(|path| files.iter().find(|file| file.path == *path))
        .map(|file| (file.path.as_str(), version(&file.text)))
        .collect();
    let Some((first, wanted)) = versions.first() else { return Vec::new() };
    let rule = |found: Option<&str>| {
        let (found, wanted) = (found.unwrap_or("none"), wanted.unwrap_or("none"));
        format!(
            "names TypeScript {found}, and {first} names {wanted}: take one version, without `^`"
        )
    };
    versions
        .iter()
        .filter(|(_, found)| found != wanted || found.is_none_or(|found| found.starts_with('^')))
        .map(|(path, found)| Problem::new(*path, rule(*found)))
        .collect()
}

fn version(package: &str) -> Option<&str> {
    let line = package.lines().find_map(|line| line.trim().strip_prefix("\"typescript\": \""))?;
    line.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(web: &str, client: &str) -> Vec<String> {
        let package = |path, version: &str| {
            SourceFile::new(path, &format!("{{\n  \"typescript\": \"{version}\"\n}}\n"))
        };
        let files = [package("web/package.json", web), package("clients/ts/package.json", client)];
        check(&files).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn both_name_the_same_exact_version() {
        assert_eq!(places("5.9.3", "5.9.3"), [] as [&str; 0]);
        assert_eq!(places("7.0.2", "5.9.3"), ["clients/ts/package.json"]);
        assert_eq!(places("^5.9.3", "^5.9.3").len(), 2);
    }
}
