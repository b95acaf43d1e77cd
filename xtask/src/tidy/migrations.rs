//! Checks that migrations are numbered one after the other: a gap means that one was lost, or that
//! two branches used the same number.

use std::collections::BTreeMap;

use super::{Problem, SourceFile};

/// Gaps from before this check existed. A migration that has run is not renumbered.
const OLD_HOLES: &[(&str, &[u32])] = &[("crates/storage/migrations/ledger", &[5, 8])];

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut folders: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for file in files {
        let Some((folder, name)) = file.path.rsplit_once('/') else { continue };
        if !folder.contains("/migrations/") || !name.ends_with(".sql") {
            continue;
        }
        let number = name.strip_prefix('V').and_then(|name| name.split_once("__")?.0.parse().ok());
        folders.entry(folder).or_default().push(number.unwrap_or(0));
    }
    folders.into_iter().flat_map(|(folder, numbers)| check_folder(folder, numbers)).collect()
}

fn check_folder(folder: &str, mut numbers: Vec<u32>) -> Option<Problem> {
    let holes = OLD_HOLES.iter().find(|(of, _)| *of == folder).map_or(&[][..], |(_, holes)| holes);
    numbers.extend(holes);
    numbers.sort_unstable();
    let wrong = numbers.iter().zip(1..).find(|(number, expected)| *number != expected);
    wrong.map(|(found, expected)| {
        Problem::new(
            folder,
            format!("its next migration should be V{expected}__, and is V{found}__"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(folder: &str, names: &[&str]) -> Vec<String> {
        let file = |name: &&str| SourceFile::new(&format!("{folder}/{name}"), "");
        let files: Vec<SourceFile> = names.iter().map(file).collect();
        check(&files).into_iter().map(|problem| problem.rule).collect()
    }

    #[test]
    fn a_hole_a_number_given_twice_and_a_name_without_one_are_found() {
        let folder = "crates/storage/migrations/index";
        assert_eq!(problems(folder, &["V2__b.sql", "V1__a.sql"]), [] as [&str; 0]);
        assert_eq!(problems(folder, &["V1__a.sql", "V3__c.sql"]).len(), 1);
        assert_eq!(problems(folder, &["V1__a.sql", "V1__b.sql"]).len(), 1);
        assert_eq!(problems(folder, &["V1__a.sql", "later.sql"]).len(), 1);
    }

    #[test]
    fn the_old_holes_of_the_ledger_stay() {
        let mut names: Vec<String> =
            [1, 2, 3, 4, 6, 7, 9, 10].map(|n| format!("V{n}__x.sql")).to_vec();
        let folder = "crates/storage/migrations/ledger";
        let all = |names: &[String]| {
            problems(folder, &names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(all(&names), [] as [&str; 0]);
        names.push("V12__x.sql".to_owned());
        assert_eq!(all(&names), ["its next migration should be V11__, and is V12__"]);
    }
}
