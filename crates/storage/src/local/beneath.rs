//! Opens only files beneath a directory handle: with openat2 on Linux, and folder by folder on
//! other systems and older kernels. This is the only file of this crate that turns a relative path
//! into an open file or a changed directory.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fstat, mkdirat, openat, renameat_with,
    statat, unlinkat,
};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, openat2};
use rustix::io::Errno;

use crate::StoreError;

use super::ops::FileOps;

#[cfg(target_os = "linux")]
const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How often in a row opening a path is tried. The kernel answers EAGAIN when a rename raced with
/// its walk; more races than this look like an attack.
#[cfg(target_os = "linux")]
const RACES: usize = 64;

/// The path that means the folder of a handle itself.
pub(super) const HERE: &str = ".";

/// What a file is opened for. No kind of access follows a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAccess {
    Read,
    /// Reads at any offset and writes at the end.
    Append,
    /// Does what `Append` does, and creates the file if it does not exist.
    AppendOrCreate,
    /// Creates the file; fails if it exists.
    CreateNew,
}

impl FileAccess {
    fn flags(self) -> OFlags {
        // Opening is non-blocking, so that a fifo put in a file's place cannot hang the opener.
        let common = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        common
            | match self {
                Self::Read => OFlags::RDONLY,
                Self::Append => OFlags::RDWR | OFlags::APPEND,
                Self::AppendOrCreate => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
                Self::CreateNew => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            }
    }

    fn mode(self) -> Mode {
        match self {
            // openat2 refuses a mode when no file is created.
            Self::Read | Self::Append => Mode::empty(),
            Self::AppendOrCreate | Self::CreateNew => Mode::RUSR | Mode::WUSR,
        }
    }
}

/// A directory by its handle. Renaming the directory or putting a link in its place does not change
/// what the handle refers to.
#[derive(Debug)]
pub(crate) struct Dir {
    file: File,
}

impl Dir {
    /// Opens the root. Links on the way to it are the owner's own, so they are followed.
    pub(crate) fn open_root(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { file: handle.into() })
    }

    pub(crate) fn open(&self, path: &str, access: FileAccess) -> Result<File, Errno> {
        self.open_beneath(path, access.flags(), access.mode())
    }

    pub(crate) fn open_dir(&self, path: &str) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        self.open_beneath(path, flags, Mode::empty()).map(|file| Self { file })
    }

    #[cfg(target_os = "linux")]
    fn open_beneath(&self, path: &str, flags: OFlags, mode: Mode) -> Result<File, Errno> {
        for _ in 0..RACES {
            match openat2(&self.file, path, flags, mode, RESOLVE) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The kernel is old, or the container blocks the call.
                Err(Errno::NOSYS) => return self.open_by_folders(path, flags, mode),
                other => return other.map(File::from),
            }
        }
        Err(Errno::AGAIN)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_beneath(&self, path: &str, flags: OFlags, mode: Mode) -> Result<File, Errno> {
        self.open_by_folders(path, flags, mode)
    }

    /// Opens each folder from the handle of the one before and never through a link, so that a link
    /// that somebody puts on the path meanwhile leads nowhere else.
    fn open_by_folders(&self, path: &str, flags: OFlags, mode: Mode) -> Result<File, Errno> {
        const FOLDER: OFlags =
            OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
        if path == HERE {
            return openat(&self.file, path, flags | OFlags::NOFOLLOW, mode).map(File::from);
        }
        let mut parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| matches!(*part, "" | HERE | "..")) {
            return Err(Errno::XDEV);
        }
        let name = parts.pop().unwrap_or_default();
        let mut folder: Option<File> = None;
        for part in parts {
            let next = openat(folder.as_ref().unwrap_or(&self.file), part, FOLDER, Mode::empty())?;
            folder = Some(next.into());
        }
        let folder = folder.as_ref().unwrap_or(&self.file);
        openat(folder, name, flags | OFlags::NOFOLLOW, mode).map(File::from)
    }

    /// Opens a folder and creates those parts of its path that are missing. New names are durable
    /// when this returns.
    pub(crate) fn make_dirs(&self, ops: &dyn FileOps, path: &str) -> Result<Self, StoreError> {
        match self.open_dir(path) {
            Err(Errno::NOENT) => {}
            other => return other.map_err(classify),
        }
        let mut parts = path.split('/');
        let first = parts.next().unwrap_or_default();
        parts.try_fold(self.make_dir(ops, first)?, |folder, part| folder.make_dir(ops, part))
    }

    fn make_dir(&self, ops: &dyn FileOps, name: &str) -> Result<Self, StoreError> {
        match mkdirat(&self.file, name, Mode::RWXU) {
            Ok(()) => self.sync_or_take_back(ops, name, AtFlags::REMOVEDIR)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(classify(error)),
        }
        self.open_dir(name).map_err(classify)
    }

    /// Whether both handles refer to the same folder.
    pub(crate) fn is_same(&self, other: &Self) -> Result<bool, StoreError> {
        let (one, other) = (fstat(&self.file), fstat(&other.file));
        let (one, other) = (one.map_err(classify)?, other.map_err(classify)?);
        Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
    }

    /// Makes a new file's name durable, or removes the file. Otherwise a caller that tries again
    /// could take a name for kept that a power cut may still remove.
    pub(crate) fn keep_new(&self, ops: &dyn FileOps, name: &str) -> Result<(), StoreError> {
        self.sync_or_take_back(ops, name, AtFlags::empty())
    }

    fn sync_or_take_back(
        &self,
        ops: &dyn FileOps,
        name: &str,
        how: AtFlags,
    ) -> Result<(), StoreError> {
        self.sync(ops).map_err(|error| {
            if let Err(stuck) = unlinkat(&self.file, name, how) {
                tracing::warn!(name, %stuck, "a name that is not durable could not be removed");
            }
            StoreError::from(error)
        })
    }

    /// Makes changes of names in this folder durable.
    pub(crate) fn sync(&self, ops: &dyn FileOps) -> io::Result<()> {
        ops.sync_all(&self.file)
    }

    /// Returns what a direct child is, without following a link. `None` when there is no such
    /// child.
    pub(crate) fn stat(&self, name: &str) -> Result<Option<Stat>, StoreError> {
        match statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(classify(error)),
        }
    }

    /// Returns what a path is, without opening it. Links in the folders of the path are followed,
    /// so this must only be used to compare with what was opened before.
    pub(crate) fn stat_path(&self, path: &str) -> PathStat {
        match statat(&self.file, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => PathStat::There(stat),
            Err(Errno::NOENT) => PathStat::Absent,
            Err(_) => PathStat::Unclear,
        }
    }

    /// Removes a direct child that is not a directory. `false` when there was none.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, StoreError> {
        match unlinkat(&self.file, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(classify(error)),
        }
    }

    /// Removes a direct child that is an empty directory. `false` when it is not empty or is gone.
    pub(crate) fn remove_dir(&self, name: &str) -> Result<bool, StoreError> {
        match unlinkat(&self.file, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(classify(error)),
        }
    }

    /// Renames a direct child and replaces any file that has the new name.
    pub(crate) fn replace(&self, from: &str, to: &str) -> Result<(), StoreError> {
        renameat_with(&self.file, from, &self.file, to, RenameFlags::empty()).map_err(classify)
    }

    /// Renames a direct child into a folder; `Conflict` when the new name is taken.
    pub(crate) fn rename_new(&self, from: &str, into: &Self, to: &str) -> Result<(), StoreError> {
        match renameat_with(&self.file, from, &into.file, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(StoreError::Conflict),
            Err(error) => Err(classify(error)),
        }
    }

    /// Lists names and kinds of the direct children, unsorted. Names that are not UTF-8 are left
    /// out, because no key can name them.
    pub(crate) fn children(&self) -> Result<Vec<(String, FileType)>, StoreError> {
        let mut children = Vec::new();
        let mut listing = rustix::fs::Dir::read_from(&self.file).map_err(classify)?;
        while let Some(entry) = listing.read() {
            let entry = entry.map_err(classify)?;
            let Ok(name) = entry.file_name().to_str() else {
                tracing::debug!(name = ?entry.file_name(), "a file name that is not UTF-8");
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match self.stat(name)? {
                    Some(stat) => FileType::from_raw_mode(stat.st_mode),
                    None => continue,
                },
                kind => kind,
            };
            children.push((name.to_owned(), kind));
        }
        Ok(children)
    }
}

/// The result of asking what a path is.
pub(crate) enum PathStat {
    There(Stat),
    Absent,
    /// The path could not be checked. Opening it gives the reason.
    Unclear,
}

/// Returns the status of an open file if it is a plain file; devices, fifos, sockets and folders
/// are refused.
pub(crate) fn plain_file(file: &File) -> Result<Stat, StoreError> {
    let stat = fstat(file).map_err(classify)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        FileType::Directory => Err(StoreError::Refused("it is a folder".to_owned())),
        _ => Err(StoreError::Refused("it is not a plain file".to_owned())),
    }
}

/// Turns an errno into an error. A link on the path or a path that leads outside is a refusal, not
/// a failure.
pub(crate) fn classify(error: Errno) -> StoreError {
    match error {
        Errno::NOENT => StoreError::NotFound,
        Errno::NOSPC | Errno::DQUOT => StoreError::Full,
        Errno::LOOP => StoreError::Refused("there is a symbolic link on the path".to_owned()),
        Errno::XDEV => StoreError::Refused("the path leads out of its folder".to_owned()),
        Errno::NOTDIR => StoreError::Refused("a part of the path is not a folder".to_owned()),
        Errno::ISDIR => StoreError::Refused("it is a folder".to_owned()),
        Errno::NXIO | Errno::NODEV => StoreError::Refused("it is not a plain file".to_owned()),
        Errno::NAMETOOLONG => StoreError::Refused("the path is too long".to_owned()),
        other => StoreError::Failed(io::Error::from(other).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    struct Vault {
        home: tempfile::TempDir,
        root: Dir,
    }

    /// Creates a vault with a folder and a note, and a secret outside of it.
    fn vault() -> Vault {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("vault");
        std::fs::create_dir_all(path.join("folder/deep")).unwrap();
        std::fs::create_dir_all(home.path().join("outside/deep")).unwrap();
        std::fs::write(path.join("folder/deep/note"), "inside").unwrap();
        std::fs::write(home.path().join("outside/deep/note"), "secret").unwrap();
        let root = Dir::open_root(&path).unwrap();
        Vault { home, root }
    }

    fn read(root: &Dir, path: &str) -> Result<String, Errno> {
        let (flags, mode) = (FileAccess::Read.flags(), FileAccess::Read.mode());
        let mut text = String::new();
        root.open_by_folders(path, flags, mode)?.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn folder_by_folder_nothing_leads_out_either() {
        let Vault { home, root } = vault();
        assert_eq!(read(&root, "folder/deep/note").unwrap(), "inside");
        let inside = home.path().join("vault");
        symlink("../outside", inside.join("link")).unwrap();
        symlink("../../outside/deep/note", inside.join("folder/alias")).unwrap();
        symlink("folder", inside.join("own")).unwrap();
        for path in [
            "link/deep/note",
            "folder/alias",
            "own/deep/note",
            "../outside/deep/note",
            "folder/../../outside/deep/note",
            "/etc/passwd",
            "folder//deep/note",
            "./folder/deep/note",
            "",
            "folder/deep/note/x",
            "none/note",
        ] {
            assert!(read(&root, path).is_err(), "{path}");
        }
    }

    #[test]
    fn folder_by_folder_a_swapped_folder_leads_nowhere() {
        let Vault { home, root } = vault();
        let (folder, aside) = (home.path().join("vault/folder"), home.path().join("aside"));
        let over = AtomicBool::new(false);
        let (mut inside, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::fs::rename(&folder, &aside).unwrap();
                    symlink("../outside", &folder).unwrap();
                    std::fs::remove_file(&folder).unwrap();
                    std::fs::rename(&aside, &folder).unwrap();
                }
            });
            let began = std::time::Instant::now();
            // The loop goes on until both outcomes have happened, because on a busy machine the
            // threads may not have met yet.
            while inside + refused < 20_000
                || (inside.min(refused) == 0 && began.elapsed().as_secs() < 20)
            {
                match read(&root, "folder/deep/note") {
                    Ok(text) => {
                        assert_eq!(text, "inside");
                        inside += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        assert!(inside > 0 && refused > 0, "{inside} reads, {refused} refused");
    }
}
