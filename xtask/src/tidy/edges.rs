//! Checks which crate may depend on which, and which outside crates only certain crates may use.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Problem, SourceFile};

/// The document whose code map is the only source of the layers.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The programs, on which nothing may depend, not even a test.
const PROGRAMS: &[&str] = &["onyx", "onyx-bench", "xtask"];
/// The crate with helpers for tests, which the product may not depend on.
const TEST_SUPPORT: &str = "onyx-test-support";

/// Outside crates that only the named crates may use, so that their kind of work stays in one
/// place.
const DOORS: &[(&str, &[&str])] = &[
    // `onyx-import` reads databases, because some programs that people come from store their data
    // in one.
    ("rusqlite", &["onyx-storage", "onyx-import"]),
    ("reqwest", &["onyx-providers", "onyx-egress", "onyx", "onyx-test-support", "onyx-bench"]),
    ("axum", &["onyx-api", "onyx", "onyx-test-support"]),
    ("clap", &["onyx", "onyx-bench"]),
    ("anyhow", &["onyx", "onyx-bench", "xtask"]),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The name of the needed package.
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Product,
    Test,
}

pub(super) fn parse(metadata: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    packages.iter().map(parse_package).collect()
}

fn parse_package(package: &Value) -> Result<Package> {
    let name = package["name"].as_str().context("a package without a name")?.to_owned();
    let dependencies =
        package["dependencies"].as_array().context("a package without dependencies")?;
    let dependencies = dependencies.iter().map(parse_dependency).collect::<Result<_>>()?;
    Ok(Package { name, dependencies })
}

fn parse_dependency(dependency: &Value) -> Result<Dependency> {
    let name = dependency["name"].as_str().context("a dependency without a name")?.to_owned();
    let kind = if dependency["kind"] == "dev" { Kind::Test } else { Kind::Product };
    Ok(Dependency { name, kind })
}

pub(super) fn check(files: &[SourceFile], packages: &[Package]) -> Vec<Problem> {
    let text = files.iter().find(|file| file.path == ARCHITECTURE).map_or("", |file| &file.text);
    let layers = layers(text);
    let mut problems = upward(&layers);
    for package in packages {
        match layers.iter().find(|layer| layer.name == package.name) {
            Some(layer) => problems.extend(check_package(package, layer, &layers)),
            None => problems.push(Problem::new(&package.name, UNPLACED)),
        }
    }
    problems
}

const UNPLACED: &str = "is not in the code map of ARCHITECTURE.md: say there what it may see";

/// A row of the code map.
#[derive(Debug, PartialEq, Eq)]
struct Layer {
    name: String,
    sees: Sees,
}

#[derive(Debug, PartialEq, Eq)]
enum Sees {
    /// Everything except other programs and crates for tests.
    All,
    Only(Vec<String>),
}

/// The rows of the table whose third column has the heading "sees", from top to bottom.
fn layers(architecture: &str) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut is_in_table = false;
    for line in architecture.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells.as_slice() {
            ["", "crate", _, "sees", ..] => is_in_table = true,
            ["", name, _, sees, ..] if is_in_table => {
                if let Some(name) = package_name(name) {
                    layers.push(Layer { name, sees: seen(sees) });
                }
            }
            _ => is_in_table = false,
        }
    }
    layers
}

/// The package of a crate's folder. The folder `crates/tools` contains the package `onyx-tools`,
/// and `crates/onyx` the binary.
fn package_name(cell: &str) -> Option<String> {
    let path = cell.strip_prefix('`')?.strip_suffix('`')?;
    Some(match path.strip_prefix("crates/") {
        Some("onyx") | None => path.trim_start_matches("crates/").to_owned(),
        Some(name) => format!("onyx-{name}"),
    })
}

fn seen(cell: &str) -> Sees {
    match cell {
        "all" => Sees::All,
        "nothing" => Sees::Only(Vec::new()),
        names => Sees::Only(names.split(", ").map(|name| format!("onyx-{name}")).collect()),
    }
}

/// Finds layers that see a layer that is not below them.
fn upward(layers: &[Layer]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (row, layer) in layers.iter().enumerate() {
        let Sees::Only(names) = &layer.sees else { continue };
        for name in names {
            if !layers[row + 1..].iter().any(|lower| lower.name == *name) {
                let rule = format!("sees {name}, which does not stand below it in the code map");
                problems.push(Problem::new(&layer.name, rule));
            }
        }
    }
    problems
}

fn check_package(package: &Package, layer: &Layer, layers: &[Layer]) -> Vec<Problem> {
    let is_forbidden = |dependency: &&Dependency| !is_allowed(package, dependency, layer, layers);
    let problem = |dependency: &Dependency| {
        Problem::new(&package.name, format!("may not depend on {}", dependency.name))
    };
    let mut problems: Vec<Problem> =
        package.dependencies.iter().filter(is_forbidden).map(problem).collect();
    let Sees::Only(names) = &layer.sees else { return problems };
    for name in names {
        if !package.dependencies.iter().any(|dependency| dependency.name == *name) {
            let rule = format!("may see {name} by the code map and does not need it");
            problems.push(Problem::new(&package.name, rule));
        }
    }
    problems
}

fn is_allowed(package: &Package, dependency: &Dependency, layer: &Layer, layers: &[Layer]) -> bool {
    let target = dependency.name.as_str();
    if dependency.kind == Kind::Test {
        return !PROGRAMS.contains(&target);
    }
    if !layers.iter().any(|layer| layer.name == target) {
        let owners = DOORS.iter().find(|(name, _)| *name == target).map(|(_, owners)| *owners);
        return owners.is_none_or(|owners| owners.contains(&package.name.as_str()));
    }
    match &layer.sees {
        Sees::All => !PROGRAMS.contains(&target) && target != TEST_SUPPORT,
        Sees::Only(names) => names.iter().any(|name| name == target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Kind)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|(name, kind)| Dependency { name: (*name).to_owned(), kind: *kind })
            .collect();
        Package { name: name.to_owned(), dependencies }
    }

    const MAP: &str = "\
| crate | holds | sees | must not hold |
|---|---|---|---|
| `crates/onyx` | the binary | all | logic |
| `crates/api` | routes | types, agent | providers |
| `crates/agent` | the step function | types, storage | HTTP |
| `crates/test-support` | fakes | types | product code |
| `crates/providers` | wires | types | turns |
| `crates/storage` | logs | types | policy |
| `crates/types` | ids | nothing | I/O |

| you want to know | start reading at |
| `crates/bench` | elsewhere | all | |
";

    fn in_map(map: &str, packages: &[Package]) -> Vec<Problem> {
        check(&[SourceFile::new(ARCHITECTURE, map)], packages)
    }

    /// The problems of a package that has all dependencies that its layer sees, and these in
    /// addition.
    fn problems(name: &str, dependencies: &[(&str, Kind)]) -> Vec<Problem> {
        let mut package = package(name, dependencies);
        let rows = layers(MAP);
        let layer = rows.iter().find(|layer| layer.name == name).unwrap();
        if let Sees::Only(names) = &layer.sees {
            let needed =
                names.iter().map(|name| Dependency { name: name.clone(), kind: Kind::Product });
            package.dependencies.extend(needed);
        }
        in_map(MAP, &[package])
    }

    #[test]
    fn metadata_is_read_with_the_kind_of_each_dependency() {
        let metadata = r#"{"packages": [{"name": "onyx-agent",
            "manifest_path": "/somewhere/agent/Cargo.toml", "dependencies": [
            {"name": "onyx-types", "kind": null},
            {"name": "onyx-test-support", "kind": "dev"},
            {"name": "cc", "kind": "build"}
        ]}]}"#;

        let expected = package(
            "onyx-agent",
            &[
                ("onyx-types", Kind::Product),
                ("onyx-test-support", Kind::Test),
                ("cc", Kind::Product),
            ],
        );
        assert_eq!(parse(metadata).unwrap(), [expected]);
    }

    #[test]
    fn an_edge_of_the_table_is_fine() {
        assert_eq!(
            problems("onyx-agent", &[("onyx-storage", Kind::Product), ("serde", Kind::Product)]),
            []
        );
    }

    #[test]
    fn the_agent_may_not_see_the_providers_but_its_tests_may() {
        let refused = [Problem::new("onyx-agent", "may not depend on onyx-providers")];
        assert_eq!(problems("onyx-agent", &[("onyx-providers", Kind::Product)]), refused);
        assert_eq!(problems("onyx-agent", &[("onyx-providers", Kind::Test)]), []);
    }

    #[test]
    fn test_support_enters_the_product_nowhere() {
        let refused = [Problem::new("onyx-api", "may not depend on onyx-test-support")];
        assert_eq!(problems("onyx-api", &[("onyx-test-support", Kind::Product)]), refused);
        assert_eq!(problems("onyx-api", &[("onyx-test-support", Kind::Test)]), []);
    }

    #[test]
    fn nothing_depends_on_a_program() {
        let refused = [Problem::new("onyx-api", "may not depend on onyx")];
        assert_eq!(problems("onyx-api", &[("onyx", Kind::Test)]), refused);
    }

    #[test]
    fn sql_stays_in_storage() {
        let refused = [Problem::new("onyx-api", "may not depend on rusqlite")];
        assert_eq!(problems("onyx-api", &[("rusqlite", Kind::Product)]), refused);
        assert_eq!(problems("onyx-storage", &[("rusqlite", Kind::Product)]), []);
    }

    #[test]
    fn the_binary_sees_all_but_other_programs_and_what_belongs_to_tests() {
        assert_eq!(problems("onyx", &[("onyx-providers", Kind::Product)]), []);
        let refused = [Problem::new("onyx", "may not depend on onyx-test-support")];
        assert_eq!(problems("onyx", &[("onyx-test-support", Kind::Product)]), refused);
    }

    #[test]
    fn a_crate_nobody_placed_is_reported() {
        assert_eq!(
            in_map(MAP, &[package("onyx-misc", &[])]),
            [Problem::new("onyx-misc", UNPLACED)]
        );
        assert_eq!(
            in_map(MAP, &[package("onyx-bench", &[])]),
            [Problem::new("onyx-bench", UNPLACED)]
        );
    }

    #[test]
    fn a_layer_that_sees_one_above_it_is_reported() {
        let map =
            MAP.replace("| policy |", "| policy |\n| `crates/knowledge` | an index | storage | |");
        let rule = "sees onyx-storage, which does not stand below it in the code map";
        assert_eq!(in_map(&map, &[]), [Problem::new("onyx-knowledge", rule)]);
    }

    #[test]
    fn an_edge_that_nobody_needs_is_reported() {
        let unused = package("onyx-agent", &[("onyx-types", Kind::Product)]);
        let rule = "may see onyx-storage by the code map and does not need it";
        assert_eq!(in_map(MAP, &[unused]), [Problem::new("onyx-agent", rule)]);
    }
}
