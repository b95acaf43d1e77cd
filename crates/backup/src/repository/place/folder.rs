//! A repository in a folder.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::super::{LOCK, Purpose, sync, write_durably};
use super::{NewFile, PlaceFiles, ReadAt};
use crate::error::BackupError;

const BUFFER: usize = 1024 * 1024;
const MOST_OPEN: usize = 64;

pub(super) struct FolderFiles {
    root: PathBuf,
}

impl FolderFiles {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn make_folder(&self, name: &str) -> Result<(), BackupError> {
        let path = self.shown(name);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(BackupError::at(&path))
    }
}

impl PlaceFiles for FolderFiles {
    fn shown(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn prepare(&self, ours: &[&str]) -> Result<(), BackupError> {
        self.make_folder("")?;
        for entry in fs::read_dir(&self.root).map_err(BackupError::at(&self.root))? {
            let name = entry.map_err(BackupError::at(&self.root))?.file_name();
            // An unfinished file of a killed process also belongs to the repository.
            let is_ours = |ours: &&str| name == **ours || name == *format!("{ours}.new");
            if name != LOCK && !ours.iter().any(is_ours) {
                return Err(BackupError::NotEmpty { path: self.root.clone() });
            }
        }
        for name in ours.iter().filter(|name| !name.contains('.')) {
            self.make_folder(name)?;
        }
        Ok(())
    }

    fn lock(&self, purpose: Purpose) -> Result<Option<Box<dyn Send>>, BackupError> {
        let path = self.shown(LOCK);
        let (opened, how) = match purpose {
            Purpose::Write => {
                let mut options = OpenOptions::new();
                let options = options.create(true).truncate(false).write(true).mode(0o600);
                (options.open(&path), FlockOperation::NonBlockingLockExclusive)
            }
            Purpose::Read => (File::open(&path), FlockOperation::NonBlockingLockShared),
        };
        let file = match opened {
            Ok(file) => file,
            // A copy on a read-only medium has no lock file, and cannot have a writer.
            Err(error) if purpose == Purpose::Read && error.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(BackupError::at(&path)(error)),
        };
        match rustix::fs::flock(&file, how) {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(Errno::WOULDBLOCK) => Err(BackupError::Busy { path: self.root.clone() }),
            Err(error) => Err(BackupError::at_errno(&path)(error)),
        }
    }

    fn list(&self, folder: &str, extension: &str) -> Result<Vec<String>, BackupError> {
        let path = self.shown(folder);
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(BackupError::at(&path))? {
            let name = PathBuf::from(entry.map_err(BackupError::at(&path))?.file_name());
            let is_wanted = name.extension().is_some_and(|found| found == extension);
            // The repository's own names are text, so other names are skipped.
            if let Some(name) = name.to_str().filter(|_| is_wanted) {
                names.push(format!("{folder}/{name}"));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, BackupError> {
        let path = self.shown(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(BackupError::at(&path)(error)),
        }
    }

    fn open(&self, name: &str) -> Result<Box<dyn ReadAt>, BackupError> {
        let path = self.shown(name);
        Ok(Box::new(File::open(&path).map_err(BackupError::at(&path))?))
    }

    fn most_open(&self) -> usize {
        MOST_OPEN
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BackupError> {
        let (path, fresh) = (self.shown(name), self.shown(&format!("{name}.new")));
        write_durably(&fresh, &bytes).map_err(BackupError::at(&fresh))?;
        fs::rename(&fresh, &path).map_err(BackupError::at(&path))?;
        sync(path.parent().unwrap_or(&self.root))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(self.shown(name))?;
        Ok(Box::new(BufWriter::with_capacity(BUFFER, file)))
    }

    /// Replaces the end in place; the bytes before it do not change.
    fn replace_end(&self, name: &str, kept: u64, end: &[u8]) -> Result<(), BackupError> {
        let path = self.shown(name);
        let replaced = OpenOptions::new().write(true).open(&path).and_then(|file| {
            file.set_len(kept)?;
            file.write_all_at(end, kept)?;
            file.sync_all()
        });
        replaced.map_err(BackupError::at(&path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), BackupError> {
        let path = self.shown(from);
        fs::rename(&path, self.shown(to)).map_err(BackupError::at(&path))
    }

    fn remove(&self, name: &str) -> Result<(), BackupError> {
        let path = self.shown(name);
        fs::remove_file(&path).map_err(BackupError::at(&path))
    }

    fn sync(&self, folder: &str) -> Result<(), BackupError> {
        sync(&self.shown(folder))
    }
}

impl NewFile for BufWriter<File> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(self, bytes)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.get_ref().sync_all()
    }
}
