//! Checks the links of the documents and of the manual: each leads to an existing file and heading,
//! and no page of the manual links to a page that the manual leaves out.

use std::collections::BTreeSet;

use super::{Problem, SourceFile};

const SUMMARY: &str = "docs/SUMMARY.md";
/// Documents for developers of Onyx, which the manual leaves out.
const LEFT_OUT: &[&str] = &[SUMMARY, "docs/seed-tests.md", "docs/web-tests.md"];

/// Finds broken links. `paths` are all files of the workspace, including pictures.
pub(super) fn check(files: &[SourceFile], paths: &BTreeSet<String>) -> Vec<Problem> {
    let pages: Vec<&SourceFile> = files.iter().filter(|file| is_paper(&file.path)).collect();
    let shown: BTreeSet<String> = pages
        .iter()
        .filter(|page| page.path == SUMMARY)
        .flat_map(|summary| {
            links(&summary.text).into_iter().map(|link| resolve(SUMMARY, &link.target))
        })
        .collect();
    let mut problems = Vec::new();
    for page in &pages {
        for link in links(&page.text) {
            let place = format!("{}:{}", page.path, link.line);
            problems.extend(
                wrong(page, &link, &pages, paths, &shown).map(|rule| Problem::new(place, rule)),
            );
        }
    }
    if !shown.is_empty() {
        problems.extend(left_out(&pages, &shown));
    }
    problems
}

/// Whether a file is a document: at the root, of the manual, or of a client.
fn is_paper(path: &str) -> bool {
    let is_markdown = path.ends_with(".md");
    is_markdown
        && (!path.contains('/') || path.starts_with("docs/") || path.starts_with("clients/"))
}

fn left_out(pages: &[&SourceFile], shown: &BTreeSet<String>) -> Vec<Problem> {
    let inner = pages
        .iter()
        .filter(|page| page.path.starts_with("docs/") && !page.path.starts_with("docs/bench/"));
    inner
        .filter(|page| !shown.contains(&page.path) && !LEFT_OUT.contains(&page.path.as_str()))
        .map(|page| Problem::new(&page.path, format!("is not in the manual: name it in {SUMMARY}")))
        .collect()
}

/// The problem of a link, if it has one.
fn wrong(
    page: &SourceFile,
    link: &Link,
    pages: &[&SourceFile],
    paths: &BTreeSet<String>,
    shown: &BTreeSet<String>,
) -> Option<String> {
    let target = &link.target;
    if target.contains("://") || target.starts_with("mailto:") || target.starts_with('/') {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.path.clone() } else { resolve(&page.path, file) };
    if !paths.contains(&path) {
        return Some(format!("leads to {target}, which is not there"));
    }
    let leads_out = shown.contains(&page.path)
        && (!path.starts_with("docs/") || path.ends_with(".md") && !shown.contains(&path));
    if leads_out {
        return Some(format!("leads to {target}, which the manual leaves out"));
    }
    let meant = pages.iter().find(|page| page.path == path)?;
    let is_there = heading.is_empty() || headings(&meant.text).contains(heading);
    (!is_there).then(|| format!("leads to {target}, and {path} has no such heading"))
}

/// Resolves a path relative to the page that contains it.
fn resolve(page: &str, target: &str) -> String {
    let file = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

struct Link {
    line: usize,
    target: String,
}

/// The lines outside code fences, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let trimmed = line.trim_start();
        let ticks = &trimmed[..trimmed.len() - trimmed.trim_start_matches('`').len()];
        if ticks.len() >= 3 {
            match fence {
                None => fence = Some(ticks),
                Some(open) if ticks.len() >= open.len() => fence = None,
                Some(_) => {}
            }
            return None;
        }
        fence.is_none().then_some((index + 1, line))
    })
}

/// Finds `[words](target)` and `![words](target)` outside of code.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        let words = without_code(words);
        let mut rest = words.as_str();
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let Some(end) = rest.find(')') else { break };
            let target = rest[..end].split_whitespace().next().unwrap_or_default();
            let target = target.trim_start_matches('<').trim_end_matches('>');
            found.push(Link { line, target: target.to_owned() });
            rest = &rest[end..];
        }
    }
    found
}

/// The line without its code, which is every second piece between backquotes.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// The anchors of a document's headings, as mdBook and GitHub make them.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.trim())
    });
    titles.map(anchor).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], pictures: &[&str]) -> Vec<String> {
        let files: Vec<SourceFile> =
            files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        let paths = files.iter().map(|file| file.path.clone());
        let paths = paths.chain(pictures.iter().map(|path| (*path).to_owned())).collect();
        check(&files, &paths)
            .into_iter()
            .map(|problem| format!("{}: {}", problem.place, problem.rule))
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let files = [
            (
                "README.md",
                "[manual](docs/a.md#second-thing) ![p](docs/p.webp) [x](https://x.example) [d](/docs)",
            ),
            ("docs/SUMMARY.md", "- [A](a.md)\n- [B](how/b.md)"),
            ("docs/a.md", "# A\n\n## Second thing\n\n[b](how/b.md)"),
            (
                "docs/how/b.md",
                "# B\n\n[a](../a.md#a) `[code](nowhere.md)`\n\n```\n[code](nowhere.md)\n```\n[self](#b)",
            ),
            ("crates/x/notes.md", "[anything](nowhere.md)"),
        ];
        assert_eq!(found(&files, &["docs/p.webp"]), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_nowhere_is_named_with_its_line() {
        let files = [("README.md", "one\n\n[gone](docs/gone.md) and [here](#nothing)")];
        assert_eq!(
            found(&files, &[]),
            [
                "README.md:3: leads to docs/gone.md, which is not there",
                "README.md:3: leads to #nothing, and README.md has no such heading",
            ]
        );
    }

    #[test]
    fn the_manual_leads_to_nothing_that_it_leaves_out() {
        let files = [
            ("THREAT_MODEL.md", "# Threats"),
            ("docs/SUMMARY.md", "- [A](a.md)"),
            ("docs/a.md", "[out](../THREAT_MODEL.md)\n[other](b.md)"),
            ("docs/b.md", "# B"),
        ];
        assert_eq!(
            found(&files, &[]),
            [
                "docs/a.md:1: leads to ../THREAT_MODEL.md, which the manual leaves out",
                "docs/a.md:2: leads to b.md, which the manual leaves out",
                "docs/b.md: is not in the manual: name it in docs/SUMMARY.md",
            ]
        );
    }
}
