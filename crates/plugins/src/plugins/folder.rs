//! The folder of plugins, the copies that programs run from, and the data that plugins keep.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_types::{ErrorCode, Fault, Hash};

use crate::package::{Package, PackageFiles, PackageFolders, fingerprint};

use super::replacement::{remove_folder, replace, restore_interrupted};

/// The packages in the folder, by the name of each one's folder.
pub(super) type PackagesByFolder = BTreeMap<String, Result<Arc<Package>, String>>;

pub(super) struct PluginFolder {
    /// The folder of plugins, in which each folder is a plugin.
    folder: PathBuf,
    /// The folder from which accepted packages are run.
    cache: PathBuf,
}

impl PluginFolder {
    /// Opens the folder. A plugin whose replacement was interrupted is there again afterwards.
    pub(super) fn new(folder: PathBuf, cache: PathBuf) -> Self {
        restore_interrupted(&folder);
        Self { folder, cache }
    }

    pub(super) async fn packages(&self) -> Result<PackagesByFolder, Fault> {
        let root = self.folder.clone();
        let read = move || {
            let all = folders(&root).into_iter();
            let package = |(name, path): (String, PathBuf)| {
                let package = Package::of_folder(&path).and_then(|package| {
                    if package.name == name {
                        return Ok(Arc::new(package));
                    }
                    Err(format!("its folder must be named {}", package.name))
                });
                (name, package)
            };
            all.map(package).collect()
        };
        let found = tokio::task::spawn_blocking(read).await;
        found.map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))
    }

    /// A fingerprint of each plugin that changes with its files, made without reading all of them.
    pub(super) async fn fingerprints(&self) -> BTreeMap<String, Hash> {
        let root = self.folder.clone();
        let look = move || {
            let folders = folders(&root).into_iter();
            folders.map(|(name, path)| (name, fingerprint(&path))).collect()
        };
        // A folder that cannot be read now is read at the next check.
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Adds a package to the folder, replacing one of the same name.
    pub(super) async fn put(&self, package: Package) -> Result<(), Fault> {
        let root = self.folder.clone();
        write(move || put(&root, &package)).await
    }

    /// Removes a plugin with its data.
    pub(super) async fn remove(&self, name: &str) -> Result<(), Fault> {
        let folders = [self.folder.join(name), self.data_folder(name), self.cache.join(name)];
        write(move || folders.iter().try_for_each(|folder| remove_folder(folder))).await
    }

    /// Copies exactly the accepted files to the folder from which programs run, so that a later
    /// change in the plugin's folder does not affect them.
    pub(super) async fn lay_out(&self, package: &Arc<Package>) -> Result<PackageFolders, String> {
        let package = Arc::clone(package);
        let root = self.cache.join(&package.name);
        let data = self.data_folder(&package.name);
        let lay_out = move || {
            fs::create_dir_all(&data).map_err(|error| error.to_string())?;
            let copy = root.join(package.hash.to_string());
            if !holds(&copy, &package.hash) {
                write_copy(&root, &copy, &package.files).map_err(|error| error.to_string())?;
            }
            let real =
                |path: &Path| onyx_sandbox::real_path(path).map_err(|error| error.to_string());
            Ok(PackageFolders { root: real(&copy)?, data: real(&data)? })
        };
        let laid: Result<Result<PackageFolders, String>, _> =
            tokio::task::spawn_blocking(lay_out).await;
        laid.map_err(|error| error.to_string())?
            .map_err(|why| format!("its files cannot be written: {why}"))
    }

    /// The folder of a plugin's data. It is kept when the plugin is updated. It is hidden, so that
    /// it is not taken for a plugin itself.
    fn data_folder(&self, name: &str) -> PathBuf {
        self.folder.join(".data").join(name)
    }
}

async fn write(work: impl FnOnce() -> std::io::Result<()> + Send + 'static) -> Result<(), Fault> {
    let written = tokio::task::spawn_blocking(work).await;
    let written = written.map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
    written.map_err(|error| {
        let message = format!("The folder of plugins cannot be written: {error}");
        Fault::new(ErrorCode::StorageFailed, message)
    })
}

/// The folders that may be plugins; empty if the home has no folder of plugins.
fn folders(root: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        (is_folder && !name.starts_with('.')).then(|| (name, entry.path()))
    });
    named.collect()
}

/// Writes the package beside its final place and then moves it there in one step, so that a crash
/// leaves the whole old version or the whole new one.
fn put(root: &Path, package: &Package) -> std::io::Result<()> {
    let place = root.join(&package.name);
    let new = root.join(format!(".new-{}", package.name));
    remove_folder(&new)?;
    fs::create_dir_all(&new)?;
    package.files.write_to(&new)?;
    if place.exists() { replace(&new, &place) } else { fs::rename(&new, &place) }
}

fn holds(copy: &Path, hash: &Hash) -> bool {
    PackageFiles::of_folder(copy).is_ok_and(|files| files.hash() == *hash)
}

/// Writes a copy under another name first, so that a crash leaves no incomplete copy under the
/// final name.
fn write_copy(root: &Path, copy: &Path, files: &PackageFiles) -> std::io::Result<()> {
    fs::create_dir_all(root)?;
    let half = root.join(".half");
    for old in [&half, &copy.to_owned()] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir(&half)?;
    files.write_to(&half)?;
    fs::rename(&half, copy)
}
