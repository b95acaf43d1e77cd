//! Lists the files below a folder of a workspace.

use std::fs;
use std::path::Path;

use super::opened::read_bounded;
use crate::error::ImportError;

/// The deepest folder that is read; people do not nest files deeper.
const DEEPEST: usize = 24;
/// The largest file that is imported; larger ones are named in the report.
const LARGEST: u64 = 16 * 1024 * 1024;
const MOST_FILES: usize = 20_000;
/// Folders whose content programs can make again.
const NOT_WORTH_IT: [&str; 3] = ["node_modules", "target", "__pycache__"];

pub(crate) struct FoundFile {
    /// The path below the folder, separated by `/`.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
}

/// All files below a folder, in order, and those left out with the reason.
pub(crate) fn walk(
    folder: &Path,
    left_out: &mut Vec<(String, String)>,
) -> Result<Vec<FoundFile>, ImportError> {
    let mut walk = Walk { files: Vec::new(), left_out };
    walk.folder(folder, "", DEEPEST)?;
    Ok(walk.files)
}

struct Walk<'a> {
    files: Vec<FoundFile>,
    left_out: &'a mut Vec<(String, String)>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, below: &str, deeper: usize) -> Result<(), ImportError> {
        let entries = fs::read_dir(folder).map_err(ImportError::io(folder))?;
        let mut entries =
            entries.collect::<Result<Vec<_>, _>>().map_err(ImportError::io(folder))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().map_err(ImportError::io(&entry.path()))?;
            let Ok(name) = entry.file_name().into_string() else {
                self.skip(&entry.path().display().to_string(), "its name is not UTF-8");
                continue;
            };
            let path = format!("{below}{name}");
            if name.starts_with('.') {
                self.skip(&path, "it is hidden");
            } else if kind.is_symlink() {
                self.skip(&path, "it is a link");
            } else if kind.is_dir() && NOT_WORTH_IT.contains(&name.as_str()) {
                self.skip(&path, "programs can make it again");
            } else if kind.is_dir() && deeper == 0 {
                self.skip(&path, "it is in too many nested folders");
            } else if kind.is_dir() {
                self.folder(&entry.path(), &format!("{path}/"), deeper - 1)?;
            } else if kind.is_file() {
                self.file(&entry, path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, entry: &fs::DirEntry, path: String) -> Result<(), ImportError> {
        let size = entry.metadata().map_err(ImportError::io(&entry.path()))?.len();
        if size > LARGEST {
            self.skip(&path, "it is larger than 16 MiB");
        } else if self.files.len() == MOST_FILES {
            self.skip(&path, "there are more than 20,000 files");
        } else {
            let content = read_bounded(&entry.path(), &path)?;
            self.files.push(FoundFile { path, content });
        }
        Ok(())
    }

    fn skip(&mut self, path: &str, why: &str) {
        self.left_out.push((path.to_owned(), why.to_owned()));
    }
}
