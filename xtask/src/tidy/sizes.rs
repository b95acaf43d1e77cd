//! Checks how long source files are. Files above `THINK` lines are reported, and files above `ACT`
//! lines break the rule.

use super::{Problem, SourceFile};

const THINK: usize = 500;
const ACT: usize = 800;

pub(super) fn check(files: &[SourceFile]) -> Vec<Problem> {
    with_lines(files)
        .filter(|(_, lines)| *lines > ACT)
        .map(|(file, lines)| {
            Problem::new(&file.path, format!("{lines} lines, more than {ACT}: split it by idea"))
        })
        .collect()
}

/// Files that are long, but do not break the rule yet.
pub(super) fn long_files(files: &[SourceFile]) -> Vec<Problem> {
    with_lines(files)
        .filter(|(_, lines)| (THINK + 1..=ACT).contains(lines))
        .map(|(file, lines)| {
            Problem::new(&file.path, format!("{lines} lines: does it hold more than one idea?"))
        })
        .collect()
}

fn with_lines(files: &[SourceFile]) -> impl Iterator<Item = (&SourceFile, usize)> {
    files
        .iter()
        .filter(|file| file.is_code() && !file.is_generated())
        .map(|file| (file, file.text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(problems: &[Problem]) -> Vec<&str> {
        problems.iter().map(|problem| problem.place.as_str()).collect()
    }

    #[test]
    fn only_code_over_the_limit_is_a_problem() {
        let files = [
            SourceFile::new("short.rs", &"\n".repeat(500)),
            SourceFile::new("long.rs", &"\n".repeat(501)),
            SourceFile::new("longest.rs", &"\n".repeat(800)),
            SourceFile::new("too_long.tsx", &"\n".repeat(801)),
            SourceFile::new("web/src/api/generated.ts", &"\n".repeat(9000)),
            SourceFile::new("Cargo.lock", &"\n".repeat(9000)),
        ];

        assert_eq!(places(&check(&files)), ["too_long.tsx"]);
        assert_eq!(places(&long_files(&files)), ["long.rs", "longest.rs"]);
    }
}
