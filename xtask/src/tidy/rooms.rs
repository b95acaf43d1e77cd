//! Checks whether a crate shows its design: how many fields its structs have, over how many files a
//! type's methods are spread, whether folders import each other in circles, and how many entries
//! its `src` has. Every crate is counted, but only some must keep the limits.
//!
//! The text is read as rustfmt writes it, which is enough for counting.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, SourceFile};

/// The crates that must keep the limits.
const STRICT: &[&str] = &["agent", "api", "knowledge", "storage", "tools"];

const MOST_FIELDS: usize = 18;
const MOST_FILES_OF_A_TYPE: usize = 4;
const MOST_ENTRIES: usize = 18;

/// The exceptions from a limit: the crate, what exceeds the limit (a struct as `file: name`, a
/// type, a circle as `a, b`, or `src`), and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("api", "wire/decode/chat.rs: Request", "the fields of OpenAI's request, each named once")];

/// The numbers of one crate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) name: String,
    entries: usize,
    /// The number of fields by struct, with its file, because a crate may use a name twice.
    fields: BTreeMap<String, usize>,
    /// The number of files with methods, by type.
    spread: BTreeMap<String, usize>,
    /// Folders that import each other, each circle in alphabetical order.
    circles: Vec<Vec<String>>,
}

impl Counts {
    /// The numbers as one line for people.
    pub(super) fn line(&self) -> String {
        let largest = self.fields.iter().max_by_key(|(_, count)| **count);
        let widest = self.spread.iter().max_by_key(|(_, count)| **count);
        let of = |most: Option<(&String, &usize)>| {
            most.map_or_else(|| "none".to_owned(), |(name, count)| format!("{count} ({name})"))
        };
        let circles: Vec<String> = self.circles.iter().map(|circle| circle.join(" ↔ ")).collect();
        let circles = if circles.is_empty() { "none".to_owned() } else { circles.join("; ") };
        format!(
            "{:<13} entries {:>2}, most fields {}, most files of a type {}, circles {circles}",
            self.name,
            self.entries,
            of(largest),
            of(widest),
        )
    }

    fn problems(&self) -> Vec<Problem> {
        let mut over: Vec<(String, String)> = Vec::new();
        if self.entries > MOST_ENTRIES {
            let rule = format!("has {} entries, more than {MOST_ENTRIES}", self.entries);
            over.push(("src".to_owned(), rule));
        }
        for (name, count) in self.fields.iter().filter(|(_, count)| **count > MOST_FIELDS) {
            over.push((name.clone(), format!("has {count} fields, more than {MOST_FIELDS}")));
        }
        for (name, count) in self.spread.iter().filter(|(_, count)| **count > MOST_FILES_OF_A_TYPE)
        {
            let rule = format!("has methods in {count} files, more than {MOST_FILES_OF_A_TYPE}");
            over.push((name.clone(), rule));
        }
        for circle in &self.circles {
            over.push((circle.join(", "), "these folders import each other".to_owned()));
        }
        let allowed = |name: &str| {
            EXCEPTIONS.iter().any(|(of, exception, _)| *of == self.name && *exception == name)
        };
        over.into_iter()
            .filter(|(name, _)| !allowed(name))
            .map(|(name, rule)| Problem::new(format!("crates/{}: {name}", self.name), rule))
            .collect()
    }
}

/// The limits that are exceeded by crates that must keep them.
pub(super) fn check(counts: &[Counts]) -> Vec<Problem> {
    let strict = counts.iter().filter(|counts| STRICT.contains(&counts.name.as_str()));
    strict.flat_map(Counts::problems).collect()
}

pub(super) fn count(files: &[SourceFile]) -> Vec<Counts> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in files {
        let mut parts = file.path.splitn(4, '/');
        let (Some("crates"), Some(name), Some("src"), Some(inside)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if inside.ends_with(".rs") {
            crates.entry(name).or_default().push((inside, &file.text));
        }
    }
    crates.into_iter().map(|(name, files)| count_crate(name, &files)).collect()
}

fn count_crate(name: &str, files: &[(&str, &str)]) -> Counts {
    let entries: BTreeSet<&str> =
        files.iter().filter_map(|(path, _)| path.split('/').next()).collect();
    let mut counts = Counts { name: name.to_owned(), entries: entries.len(), ..Counts::default() };
    let mut homes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in files {
        for (structure, fields) in structs(text) {
            counts.fields.insert(format!("{path}: {structure}"), fields);
        }
        for line in text.lines() {
            if let Some(implemented) = inherent_impl(line) {
                homes.entry(implemented.to_owned()).or_default().insert(path);
            }
        }
    }
    counts.spread = homes.into_iter().map(|(name, files)| (name, files.len())).collect();
    counts.circles = circles(&imports(files));
    counts
}

/// The structs with named fields, and how many fields each has.
fn structs(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, usize)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim_start();
        if let Some((name, depth, fields)) = &mut open {
            if indent == *depth && words.starts_with('}') {
                found.push((std::mem::take(name), *fields));
                open = None;
            } else if indent == *depth + 4 && is_field(words) {
                *fields += 1;
            }
        } else if words.ends_with('{')
            && let Some(name) = declared(words, "struct ")
        {
            open = Some((name.to_owned(), indent, 0));
        }
    }
    found
}

/// The name after a keyword, with any visibility before it.
fn declared<'a>(words: &'a str, keyword: &str) -> Option<&'a str> {
    let words = match words.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => words,
    };
    Some(identifier(words.strip_prefix(keyword)?)).filter(|name| !name.is_empty())
}

fn is_field(words: &str) -> bool {
    let words = match words.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or("", |(_, rest)| rest),
        Some(rest) => rest.trim_start(),
        None => words,
    };
    let name = identifier(words);
    !name.is_empty() && words[name.len()..].starts_with(": ")
}

fn identifier(words: &str) -> &str {
    let end = words.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(words.len());
    &words[..end]
}

/// The type of an `impl` block that belongs to no trait.
fn inherent_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    if line.contains(" for ") {
        return None;
    }
    let rest = match rest.strip_prefix('<') {
        Some(generics) => {
            let mut depth = 1;
            let end = generics.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            })?;
            &generics[end + 1..]
        }
        None => rest,
    };
    Some(identifier(rest.strip_prefix(' ')?)).filter(|name| !name.is_empty())
}

/// The folders of `src` that each folder imports, at any depth: `routes/spaces` may import
/// `routes/sessions`.
fn imports(files: &[(&str, &str)]) -> BTreeMap<String, BTreeSet<String>> {
    let folders: BTreeSet<&str> = files.iter().flat_map(|(path, _)| folders_of(path)).collect();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files {
        let code: Vec<&str> =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for named in named_modules(path, &code.join("\n")) {
            // Only the outermost folder that contains just one of the two modules counts.
            let apart = |folder: &&str| !format!("{path}/").starts_with(&format!("{folder}/"));
            let Some(other) = folders_of(&format!("{named}/")).find(apart).map(str::to_owned)
            else {
                continue;
            };
            let depth = other.split('/').count();
            let own = folders_of(path).nth(depth - 1);
            if let (Some(own), true) = (own, folders.contains(other.as_str())) {
                imports.entry(own.to_owned()).or_default().insert(other);
            }
        }
    }
    imports
}

/// The folders that a file lies in, the outermost first.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

/// The modules that a file names from the crate's root or from the modules above it, as paths.
fn named_modules(path: &str, code: &str) -> Vec<String> {
    let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let module: Vec<&str> = module.split('/').collect();
    let mut named = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        add_paths("", &code[place + "crate::".len()..], &mut named);
    }
    for (place, _) in code.match_indices("super::") {
        if code[..place].ends_with("super::") {
            continue;
        }
        let rest = code[place..].trim_start_matches("super::");
        let above = (code[place..].len() - rest.len()) / "super::".len();
        if let Some(left) = module.len().checked_sub(above) {
            add_paths(&module[..left].join("/"), rest, &mut named);
        }
    }
    named
}

/// Adds the modules below another one that a path such as `a::b::C` or `{a::b, c}` names.
fn add_paths(below: &str, code: &str, named: &mut Vec<String>) {
    let join =
        |name: &str| if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
    if let Some(group) = code.strip_prefix('{') {
        let mut depth = 1;
        let mut start = 0;
        for (place, c) in group.char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 || (depth == 1 && c == ',') {
                add_paths(below, group[start..place].trim_start(), named);
                start = place + 1;
            }
            if depth == 0 {
                return;
            }
        }
        return;
    }
    let name = identifier(code);
    if name.is_empty() {
        return;
    }
    match code[name.len()..].strip_prefix("::") {
        Some(rest) => add_paths(&join(name), rest, named),
        None => named.push(join(name)),
    }
}

/// Groups of folders that import each other, directly or through others.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &str| {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut next: Vec<&str> =
            imports.get(from).into_iter().flatten().map(String::as_str).collect();
        while let Some(folder) = next.pop() {
            if seen.insert(folder) {
                next.extend(imports.get(folder).into_iter().flatten().map(String::as_str));
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|folder| (folder.as_str(), reached(folder))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (folder, seen) in &all {
        let circle: Vec<String> = seen
            .iter()
            .filter(|other| all.get(**other).is_some_and(|back| back.contains(folder)))
            .map(|other| (*other).to_owned())
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: &str = "\
/// Holds all.
#[derive(Debug)]
pub(crate) struct Everything<'a> {
    /// One.
    pub(crate) one: &'a str,
    #[serde(default)]
    two: Option<Vec<
        u8,
    >>,
}

struct Unit;

impl<'a> Everything<'a> {
    fn new() {}
}

impl Clone for Everything<'_> {}
";

    #[test]
    fn fields_methods_and_entries_are_counted() {
        let files = [
            SourceFile::new("crates/agent/src/lib.rs", "mod a;\n"),
            SourceFile::new("crates/agent/src/a/mod.rs", LARGE),
            SourceFile::new("crates/agent/src/a/more.rs", "impl Everything<'_> {}\n"),
            SourceFile::new("crates/agent/tests/it/main.rs", "impl Everything<'_> {}\n"),
        ];

        let counts = count(&files);

        let expected = Counts {
            name: "agent".to_owned(),
            entries: 2,
            fields: BTreeMap::from([("a/mod.rs: Everything".to_owned(), 2)]),
            spread: BTreeMap::from([("Everything".to_owned(), 2)]),
            circles: Vec::new(),
        };
        assert_eq!(counts, [expected]);
    }

    #[test]
    fn folders_that_reach_each_other_are_a_circle() {
        let files = [
            SourceFile::new("crates/api/src/a/mod.rs", "use crate::b::X;\n"),
            SourceFile::new("crates/api/src/b/mod.rs", "use crate::c;\n// crate::a\n"),
            SourceFile::new("crates/api/src/c/deep/mod.rs", "fn f() { crate::a::g() }\n"),
            SourceFile::new("crates/api/src/d/mod.rs", "use crate::{a, d};\nuse crate::a::Y;\n"),
        ];

        let counts = count(&files);

        assert_eq!(counts[0].circles, [["a", "b", "c"].map(str::to_owned).to_vec()]);
        let problems = check(&counts);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, "crates/api: a, b, c");
    }

    #[test]
    fn circles_are_found_at_any_depth_and_in_any_spelling() {
        let circle = |a: &str, b: &str| {
            let files = [
                SourceFile::new("crates/api/src/routes/a/mod.rs", a),
                SourceFile::new("crates/api/src/routes/b/deep/mod.rs", b),
                SourceFile::new("crates/api/src/routes/c.rs", "use super::a::X;\n"),
            ];
            count(&files)[0].circles.clone()
        };
        let expected = [["routes/a", "routes/b"].map(str::to_owned).to_vec()];
        let in_group = "use crate::{\n    routes::{b::Y, c},\n    other,\n};\n";
        assert_eq!(circle(in_group, "use super::super::a::X;\n"), expected);
        assert_eq!(circle("use super::b::Y;\n", "use crate::routes::a;\n"), expected);
        assert_eq!(
            circle("use super::b::Y;\n", "use super::Z;\nuse crate::routes::c;\n"),
            expected[..0]
        );
    }

    #[test]
    fn only_the_strict_crates_are_held_to_the_limits() {
        let fields: String = (0..19).map(|field| format!("    f{field}: u8,\n")).collect();
        let large = format!("struct Large {{\n{fields}}}\n");
        let in_crate = |name: &str| {
            check(&count(&[SourceFile::new(&format!("crates/{name}/src/lib.rs"), &large)]))
        };

        assert_eq!(in_crate("providers"), []);
        let expected = Problem::new("crates/tools: lib.rs: Large", "has 19 fields, more than 18");
        assert_eq!(in_crate("tools"), [expected]);
        let expected =
            Problem::new("crates/knowledge: lib.rs: Large", "has 19 fields, more than 18");
        assert_eq!(in_crate("knowledge"), [expected]);
        let of_a_maker = large.replace("Large", "Request");
        let named = SourceFile::new("crates/api/src/wire/decode/chat.rs", &of_a_maker);
        assert_eq!(check(&count(&[named])), []);
        let of_ours = SourceFile::new("crates/api/src/wire/body.rs", &of_a_maker);
        assert_eq!(check(&count(&[of_ours])).len(), 1);
    }
}
