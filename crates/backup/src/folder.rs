//! A folder that is accessed by its handle. Names are opened one at a time and links are never
//! followed, so that nothing that is put in a place meanwhile leads elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(crate) struct Folder(File);

impl Folder {
    /// Opens a folder. Links on the way to it are the owner's own and are followed.
    pub(crate) fn open(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?.into()))
    }

    pub(crate) fn folder(&self, name: &OsStr) -> Result<Self, Errno> {
        Ok(Self(openat(&self.0, name, FOLDER, Mode::empty())?.into()))
    }

    /// Opens a file without blocking, so that a fifo in the file's place cannot hang this process.
    pub(crate) fn file(&self, name: &OsStr) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Creates a file; fails if the name exists.
    pub(crate) fn create(&self, name: &OsStr) -> Result<File, Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Creates a folder that only its owner can access; an existing one is left unchanged.
    pub(crate) fn make_folder(&self, name: &OsStr) -> Result<Self, Errno> {
        match self.folder(name) {
            Err(Errno::NOENT) => {}
            known => return known,
        }
        match mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn make_link(&self, name: &OsStr, target: &Path) -> Result<(), Errno> {
        symlinkat(target, &self.0, name)
    }

    pub(crate) fn link_target(&self, name: &OsStr) -> Result<PathBuf, Errno> {
        let target = readlinkat(&self.0, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    pub(crate) fn has(&self, name: &OsStr) -> Result<bool, Errno> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The folder of a path beneath this one; created if it is missing.
    pub(crate) fn make_parent_of(&self, path: &Path) -> Result<Self, Errno> {
        let mut folder = Self(openat(&self.0, ".", FOLDER, Mode::empty())?.into());
        for part in path.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(name) = part else { return Err(Errno::XDEV) };
            folder = folder.make_folder(name)?;
        }
        Ok(folder)
    }

    /// The entries, in the byte order of their names.
    pub(crate) fn entries(&self) -> Result<Vec<(OsString, FileType)>, Errno> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    match statat(&self.0, &name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        // The entry was removed meanwhile.
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(error),
                    }
                }
                known => known,
            };
            entries.push((name, kind));
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(entries)
    }

    pub(crate) fn as_file(&self) -> &File {
        &self.0
    }
}
