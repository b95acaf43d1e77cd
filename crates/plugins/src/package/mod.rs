//! A package: its files, the facts in them, and the grants it asks for. Nothing here runs any of
//! its programs.

mod files;
mod manifest;
mod onyx_manifest;
mod servers;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use onyx_types::Hash;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use manifest::Manifest;

pub use files::PackageFiles;
pub(crate) use files::fingerprint;
pub(crate) use manifest::is_plugin_name;
pub(crate) use onyx_manifest::OnyxManifest;
pub use onyx_manifest::{ConnectorPart, GrantedFolders, Grants, Hook, HookEvent};
pub(crate) use servers::PackageFolders;
pub use servers::ServerPart;

/// The folder in a package that holds our manifest.
const NAMESPACE: &str = "dev.onyx";
const LONGEST_SETTINGS: usize = 64 * 1024;

/// A package with its current files.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) description: String,
    pub(crate) onyx: OnyxManifest,
    pub(crate) servers: Vec<ServerPart>,
    /// The names of the folders in `skills/`.
    pub(crate) skills: Vec<String>,
    /// Errors in the package that do not make it unusable.
    pub(crate) problems: Vec<String>,
    pub(crate) files: PackageFiles,
    /// The hash of all files of the package.
    pub(crate) hash: Hash,
    /// The text that the owner reviews: everything that the package offers and asks for, and its
    /// files.
    pub(crate) content: String,
}

/// The facts of a plugin's accepted files, even if the files have changed since.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AcceptedFacts {
    pub(crate) hooks: Vec<Hook>,
    pub(crate) grants: Grants,
}

impl AcceptedFacts {
    /// Reads the facts; `None` if the stored text cannot be read.
    pub(crate) fn of(content: &str) -> Option<Self> {
        serde_json::from_str(content).ok()
    }
}

impl Package {
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, String> {
        Self::of_files(PackageFiles::of_folder(folder)?)
    }

    pub(crate) fn of_files(files: PackageFiles) -> Result<Self, String> {
        let mut problems = Vec::new();
        let contains = |path: &str| files.contains(path);
        let (manifest, onyx) = manifests(&files, &mut problems)?;
        onyx.check(&contains)?;
        let servers = match files.get("mcp.json") {
            Some(bytes) => servers::read(bytes, &contains, &onyx.grants, &mut problems),
            None => Vec::new(),
        };
        let skills: BTreeSet<String> =
            files.iter().filter_map(|(path, _)| skill_of(path)).collect();
        let Manifest { name, version, description } = manifest;
        let mut package = Self {
            name,
            version,
            description,
            onyx,
            servers,
            skills: skills.into_iter().collect(),
            problems,
            hash: files.hash(),
            files,
            content: String::new(),
        };
        package.content = package.written()?;
        Ok(package)
    }

    /// The parts of the package in a canonical form, so that a diff shows any change of them.
    fn written(&self) -> Result<String, String> {
        let onyx = serde_json::to_value(&self.onyx).map_err(|error| error.to_string())?;
        let mut all = Map::new();
        all.insert("name".to_owned(), json!(self.name));
        all.insert("version".to_owned(), json!(self.version));
        all.insert("description".to_owned(), json!(self.description));
        all.extend(onyx.as_object().cloned().unwrap_or_default());
        all.insert("mcp_servers".to_owned(), json!(self.servers));
        all.insert("skills".to_owned(), json!(self.skills));
        let files: BTreeMap<&str, String> =
            self.files.iter().map(|(path, bytes)| (path, Hash::of(bytes).to_string())).collect();
        all.insert("files".to_owned(), json!(files));
        serde_json::to_string_pretty(&all).map_err(|error| error.to_string())
    }

    /// Whether the package has a program for connectors or hooks.
    pub(crate) fn has_program(&self) -> bool {
        !self.onyx.connectors.is_empty() || !self.onyx.hooks.is_empty()
    }

    /// Says why the config does not fit the plugin's `config_schema`; `None` if it fits.
    pub(crate) fn config_flaw(&self, config: &Map<String, Value>) -> Option<String> {
        let value = Value::Object(config.clone());
        if value.to_string().len() > LONGEST_SETTINGS {
            return Some("its settings are too long".to_owned());
        }
        let schema = self.onyx.config_schema.as_ref()?;
        // The schema was compiled successfully when the package was read.
        let validator = jsonschema::validator_for(schema).ok()?;
        let flaw = validator.iter_errors(&value).next()?;
        let place = match flaw.instance_path().as_str() {
            "" => format!("plugins.{}", self.name),
            path => format!("plugins.{}{}", self.name, path.replace('/', ".")),
        };
        // The message must not contain the value, because that may be a secret.
        Some(format!("{place}: {}", flaw.masked()))
    }

    /// The files of one skill of the package, with their paths in a folder of skills.
    pub(crate) fn skill(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let root = "skills/";
        let own = format!("{root}{name}/");
        let inside = self.files.iter().filter(|(path, _)| path.starts_with(&own));
        inside.map(|(path, bytes)| (path[root.len()..].to_owned(), bytes.to_vec())).collect()
    }
}

/// Reads `plugin.json` with our folder, or else `manifest.yaml`.
fn manifests(
    files: &PackageFiles,
    problems: &mut Vec<String>,
) -> Result<(Manifest, OnyxManifest), String> {
    if let Some(bytes) = files.get("plugin.json") {
        let manifest = Manifest::of_json(bytes, problems);
        let manifest = manifest.map_err(|why| format!("plugin.json: {why}"))?;
        let place = format!("{NAMESPACE}/onyx.json");
        let onyx = match files.get(&place) {
            Some(bytes) => {
                serde_json::from_slice(bytes).map_err(|error| format!("{place}: {error}"))?
            }
            None => OnyxManifest::default(),
        };
        return Ok((manifest, onyx));
    }
    match files.get("manifest.yaml") {
        Some(bytes) => yaml::read(bytes, problems).map_err(|why| format!("manifest.yaml: {why}")),
        None => Err("it has no plugin.json and no manifest.yaml".to_owned()),
    }
}

/// The skill that a file belongs to. Only folders directly in `skills/` with a `SKILL.md` are
/// skills.
fn skill_of(path: &str) -> Option<String> {
    let (name, file) = path.strip_prefix("skills/")?.split_once('/')?;
    (file == "SKILL.md").then(|| name.to_owned())
}
