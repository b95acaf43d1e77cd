//! The files of a package. They are read once, so that the files that are checked are the files
//! that run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use onyx_storage::ObjectKey;
use onyx_tools::{ZipLimits, files_of_zip};
use onyx_types::{ErrorCode, Fault, Hash};

const MOST_FILES: usize = 2_000;
/// The most bytes of all files of a package together.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// How deep folders may be nested.
const DEEPEST: usize = 12;
/// A folder is a package if it contains one of these files.
pub(super) const MANIFESTS: [&str; 2] = ["plugin.json", "manifest.yaml"];

/// All files of a package, by their path in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl PackageFiles {
    /// A package from files that a person uploads. It may be in a folder within them.
    pub fn of_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, Fault> {
        let (mut all, mut left) = (BTreeMap::new(), MOST_BYTES);
        for (path, bytes) in files {
            left = left.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
            // A path that leads out of the package is an error and not just left out, because
            // otherwise the package would not be the one that the owner reviewed.
            let key: Result<ObjectKey, _> = path.parse();
            let key =
                key.map_err(|error| Fault::new(ErrorCode::InvalidRequest, error.to_string()))?;
            // The files of version control are not part of a package.
            if key.parts().any(|part| part == ".git") {
                continue;
            }
            all.insert(path, bytes);
            if all.len() > MOST_FILES {
                return Err(too_large());
            }
        }
        Self { files: all }.without_folders_above()
    }

    /// A package from a ZIP archive.
    pub fn of_zip(bytes: &[u8]) -> Result<Self, Fault> {
        // The limit counts folders too, because an archive lists them as entries.
        let limits = ZipLimits { bytes: MOST_BYTES, entries: 2 * MOST_FILES };
        Self::of_files(files_of_zip(bytes, &limits, too_large)?)
    }

    /// Reads a package from a folder on this machine, or says why the folder is none. Links are
    /// left out, because their targets are not part of the package.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, String> {
        let (mut files, mut left) = (BTreeMap::new(), MOST_BYTES);
        walk(folder, &mut |path, file| {
            let bytes = fs::read(file).map_err(|error| format!("{path}: {error}"))?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| format!("it has more than {} MiB", MOST_BYTES / (1024 * 1024)))?;
            files.insert(path, bytes);
            Ok(())
        })?;
        Ok(Self { files })
    }

    pub(crate) fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// A hash of all names and contents.
    pub(crate) fn hash(&self) -> Hash {
        let parts = self.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes]);
        Hash::of_parts(parts)
    }

    /// Writes all files into an existing, empty folder.
    pub(crate) fn write_to(&self, folder: &Path) -> io::Result<()> {
        for (path, bytes) in self.iter() {
            let file = folder.join(path);
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&file, bytes)?;
            let mode = if is_program(bytes) { 0o755 } else { 0o644 };
            fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Removes the folders above the manifest, which archives and repositories often have.
    fn without_folders_above(self) -> Result<Self, Fault> {
        let is_manifest = |path: &&String| {
            let name = path.rsplit('/').next().unwrap_or_default();
            MANIFESTS.contains(&name)
        };
        let depth = |path: &&String| path.matches('/').count();
        let Some(manifest) = self.files.keys().filter(is_manifest).min_by_key(depth) else {
            let message = "The package has no plugin.json and no manifest.yaml.";
            return Err(Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("A plugin is a folder with a plugin.json."));
        };
        let Some((root, _)) = manifest.rsplit_once('/') else { return Ok(self) };
        let root = format!("{root}/");
        let inside = self.files.into_iter().filter_map(|(path, bytes)| {
            let path = path.strip_prefix(&root)?.to_owned();
            Some((path, bytes))
        });
        Ok(Self { files: inside.collect() })
    }
}

/// A fingerprint that is made without reading the contents. A different value means that they may
/// have changed.
pub(crate) fn fingerprint(folder: &Path) -> Hash {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let looked = walk(folder, &mut |path, file| {
        let meta = file.metadata().map_err(|error| error.to_string())?;
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let changed = changed.map(|time| time.as_nanos()).unwrap_or_default();
        seen.insert(path, format!("{} {changed}", meta.len()));
        Ok(())
    });
    let flaw = looked.err().unwrap_or_default();
    let parts = seen.iter().flat_map(|(path, facts)| [path.as_bytes(), facts.as_bytes()]);
    Hash::of_parts(parts.chain([flaw.as_bytes()]))
}

/// Visits every file below a folder, with its path in that folder.
fn walk(
    root: &Path,
    each: &mut dyn FnMut(String, &Path) -> Result<(), String>,
) -> Result<(), String> {
    let mut folders = vec![(root.to_owned(), 1)];
    let mut count = 0;
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| error.to_string())?;
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            let path = entry.path();
            if kind.is_dir() {
                if depth == DEEPEST {
                    return Err("its folders are nested too deeply".to_owned());
                }
                if entry.file_name() != ".git" {
                    folders.push((path, depth + 1));
                }
            } else if kind.is_file() {
                count += 1;
                if count > MOST_FILES {
                    return Err(format!("it has more than {MOST_FILES} files"));
                }
                let name = path.strip_prefix(root).unwrap_or(&path);
                let name = name.to_str().ok_or("a file's name is not valid text")?;
                each(name.to_owned(), &path)?;
            }
        }
    }
    Ok(())
}

fn is_program(bytes: &[u8]) -> bool {
    bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF")
}

fn too_large() -> Fault {
    let most = MOST_BYTES / (1024 * 1024);
    let message = format!("A plugin has at most {MOST_FILES} files and {most} MiB.");
    Fault::new(ErrorCode::TooLarge, message)
}
