//! An export on disk: a folder, a ZIP archive that is unpacked into a temporary folder, or a single
//! file.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;
use zip::ZipArchive;

use crate::error::ImportError;

/// The most bytes of one file that is read whole.
const LARGEST_FILE: u64 = 1024 * 1024 * 1024;
/// The most bytes that an archive may unpack to.
const LARGEST_ARCHIVE: u64 = 4 * 1024 * 1024 * 1024;
const MOST_FILES: usize = 200_000;

#[derive(Debug)]
pub(crate) struct OpenedExport {
    root: PathBuf,
    /// The name of the file, if the export is a single file.
    only: Option<String>,
    unpacked: Option<TempDir>,
}

impl OpenedExport {
    pub(crate) fn at(path: &Path) -> Result<Self, ImportError> {
        let kind = fs::metadata(path).map_err(ImportError::io(path))?;
        if kind.is_dir() {
            return Ok(Self { root: path.to_owned(), only: None, unpacked: None });
        }
        if is_zip(path)? {
            let folder = unpack(path)?;
            let root = single_folder(folder.path())?;
            return Ok(Self { root, only: None, unpacked: Some(folder) });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            return Err(ImportError::io(path)(io::ErrorKind::InvalidInput.into()));
        };
        let root =
            if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
        Ok(Self { root, only: Some(name.to_owned()), unpacked: None })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The file that was named, if a file was named.
    pub(crate) fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// Whether a config in the export may name folders outside. One from an archive may not.
    pub(crate) fn may_look_outside(&self) -> bool {
        self.unpacked.is_none()
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.root.join(file).is_file()
    }

    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.root.join(folder).is_dir()
    }

    pub(crate) fn bytes(&self, file: &str) -> Result<Vec<u8>, ImportError> {
        read_bounded(&self.root.join(file), file)
    }

    /// The names in a folder, in order; empty if it does not exist.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, ImportError> {
        let path = self.root.join(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ImportError::io(&path)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(ImportError::io(&path))?;
            names.extend(entry.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }
}

pub(super) fn read_bounded(path: &Path, shown: &str) -> Result<Vec<u8>, ImportError> {
    let file = File::open(path).map_err(ImportError::io(path))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(ImportError::io(path))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(ImportError::TooLarge(format!("{shown} is larger than 1 GiB")));
    }
    Ok(bytes)
}

fn is_zip(path: &Path) -> Result<bool, ImportError> {
    let mut begin = [0; 4];
    let mut file = File::open(path).map_err(ImportError::io(path))?;
    match file.read_exact(&mut begin) {
        Ok(()) => Ok(begin == *b"PK\x03\x04"),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(ImportError::io(path)(error)),
    }
}

/// Unpacks an archive. Links and names that lead out of the folder are skipped; sizes are counted,
/// not believed.
fn unpack(path: &Path) -> Result<TempDir, ImportError> {
    let shown = path.file_name().map(|name| name.display().to_string()).unwrap_or_default();
    let damaged = |why: &dyn std::fmt::Display| ImportError::broken(&shown, 1, why.to_string());
    let file = File::open(path).map_err(ImportError::io(path))?;
    let mut zip = ZipArchive::new(file).map_err(|error| damaged(&error))?;
    if zip.len() > MOST_FILES {
        return Err(ImportError::TooLarge(format!("{shown} holds more than {MOST_FILES} files")));
    }
    let folder = tempfile::tempdir().map_err(ImportError::io(path))?;
    let mut left = LARGEST_ARCHIVE;
    for index in 0..zip.len() {
        let file = zip.by_index(index).map_err(|error| damaged(&error))?;
        if file.is_dir() || file.is_symlink() {
            continue;
        }
        let name = file.name().map_err(|error| damaged(&error))?.into_owned();
        if !is_inside(&name) {
            return Err(damaged(&format!("{name:?} leads out of the archive")));
        }
        let to = folder.path().join(&name);
        let parent = to.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(ImportError::io(parent))?;
        let mut out = File::create_new(&to).map_err(ImportError::io(&to))?;
        let written =
            io::copy(&mut file.take(left + 1), &mut out).map_err(|error| damaged(&error))?;
        left = left
            .checked_sub(written)
            .ok_or_else(|| ImportError::TooLarge(format!("{shown} unpacks to more than 4 GiB")))?;
    }
    Ok(folder)
}

fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.contains('\\') && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The single folder of an archive that holds nothing else, as archives of a folder often do.
fn single_folder(folder: &Path) -> Result<PathBuf, ImportError> {
    let entries = fs::read_dir(folder).map_err(ImportError::io(folder))?;
    let entries: Vec<_> = entries.flatten().collect();
    match entries.as_slice() {
        [only] if only.path().is_dir() => Ok(only.path()),
        _ => Ok(folder.to_owned()),
    }
}

/// An uploaded export while it arrives: a file in a folder of its own, which is deleted when this
/// value is dropped.
#[derive(Debug)]
pub struct Upload {
    file: File,
    path: PathBuf,
    _folder: TempDir,
}

impl Upload {
    pub fn begin() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("export");
        Ok(Self { file: File::create_new(&path)?, path, _folder: folder })
    }

    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
