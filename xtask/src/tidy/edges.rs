//! Which crate may depend on which, and which outside crates stay behind one door.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Problem;

/// Every crate of the workspace and the crates of the workspace that it may see.
const LAYERS: &[(&str, &[&str])] = &[
    ("onyx-types", &[]),
    ("onyx-surface", &["onyx-types"]),
    ("onyx-extract", &["onyx-types"]),
    ("onyx-storage", &["onyx-types"]),
    ("onyx-providers", &["onyx-types"]),
    ("onyx-bedrock", &["onyx-types", "onyx-providers"]),
    ("onyx-egress", &[]),
    ("onyx-sources", &["onyx-types", "onyx-storage", "onyx-extract", "onyx-egress"]),
    ("onyx-local", &["onyx-types", "onyx-providers"]),
    ("onyx-sandbox", &[]),
    ("onyx-knowledge", &["onyx-types", "onyx-storage", "onyx-extract"]),
    ("onyx-identity", &["onyx-types", "onyx-storage"]),
    ("onyx-backup", &["onyx-types", "onyx-storage"]),
    ("onyx-import", &["onyx-types", "onyx-storage"]),
    (
        "onyx-tools",
        &[
            "onyx-types",
            "onyx-storage",
            "onyx-egress",
            "onyx-sandbox",
            "onyx-knowledge",
            "onyx-extract",
        ],
    ),
    ("onyx-mcp", &["onyx-types", "onyx-storage", "onyx-egress", "onyx-sandbox", "onyx-tools"]),
    ("onyx-agent", &["onyx-types", "onyx-storage", "onyx-knowledge", "onyx-tools"]),
    (
        "onyx-connectors",
        &["onyx-types", "onyx-surface", "onyx-storage", "onyx-egress", "onyx-sandbox"],
    ),
    (
        "onyx-plugins",
        &[
            "onyx-types",
            "onyx-storage",
            "onyx-egress",
            "onyx-sandbox",
            "onyx-tools",
            "onyx-mcp",
            "onyx-connectors",
        ],
    ),
    (
        "onyx-api",
        &[
            "onyx-types",
            "onyx-surface",
            "onyx-extract",
            "onyx-storage",
            "onyx-sources",
            "onyx-knowledge",
            "onyx-identity",
            "onyx-import",
            "onyx-tools",
            "onyx-mcp",
            "onyx-agent",
            "onyx-connectors",
            "onyx-plugins",
        ],
    ),
    (
        "onyx",
        &[
            "onyx-types",
            "onyx-extract",
            "onyx-storage",
            "onyx-sources",
            "onyx-providers",
            "onyx-bedrock",
            "onyx-egress",
            "onyx-local",
            "onyx-sandbox",
            "onyx-knowledge",
            "onyx-identity",
            "onyx-backup",
            "onyx-import",
            "onyx-tools",
            "onyx-mcp",
            "onyx-agent",
            "onyx-api",
            "onyx-connectors",
            "onyx-plugins",
        ],
    ),
    ("onyx-test-support", &["onyx-types", "onyx-storage"]),
    ("onyx-bench", &["onyx-types", "onyx-storage", "onyx-test-support"]),
    ("xtask", &["onyx-types"]),
];

/// Programs: nothing may depend on them, not even a test.
const PROGRAMS: &[&str] = &["onyx", "onyx-bench", "xtask"];

/// Outside crates that only the named crates may use, so that what they do has one place.
const DOORS: &[(&str, &[&str])] = &[
    // Some of the homes that people move from are databases.
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
    /// Its name among the packages.
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

pub(super) fn check(packages: &[Package]) -> Vec<Problem> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Package) -> Vec<Problem> {
    let Some((_, may_see)) = LAYERS.iter().find(|(name, _)| *name == package.name) else {
        let rule =
            "is not in the table of layers (xtask/src/tidy/edges.rs): say there what it may see";
        return vec![Problem::new(&package.name, rule)];
    };
    package
        .dependencies
        .iter()
        .filter_map(|dependency| forbidden(package, dependency, may_see))
        .collect()
}

fn forbidden(package: &Package, dependency: &Dependency, may_see: &[&str]) -> Option<Problem> {
    let target = dependency.name.as_str();
    let ours = LAYERS.iter().any(|(name, _)| *name == target);
    let allowed = match dependency.kind {
        Kind::Test => !PROGRAMS.contains(&target),
        Kind::Product if ours => may_see.contains(&target),
        Kind::Product => DOORS
            .iter()
            .all(|(name, owners)| *name != target || owners.contains(&package.name.as_str())),
    };
    (!allowed).then(|| Problem::new(&package.name, format!("may not depend on {target}")))
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

    fn problems(name: &str, dependencies: &[(&str, Kind)]) -> Vec<Problem> {
        check(&[package(name, dependencies)])
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
            problems("onyx-agent", &[("onyx-tools", Kind::Product), ("serde", Kind::Product)]),
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
    fn a_crate_nobody_placed_is_reported() {
        assert_eq!(problems("onyx-misc", &[]).len(), 1);
    }

    #[test]
    fn the_table_of_layers_has_no_cycle() {
        for (position, (name, may_see)) in LAYERS.iter().enumerate() {
            for seen in *may_see {
                let earlier = LAYERS[..position].iter().any(|(lower, _)| lower == seen);
                assert!(earlier, "{name} sees {seen}, which does not stand before it");
            }
        }
    }
}
