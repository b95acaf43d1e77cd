use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use onyx_types::{Hash, Timestamp};
use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

use crate::blocking::lock;
use crate::{Expect, FileEnd, Object, ObjectKey, ObjectMeta, StoreError};

use super::beneath::{Dir, FileAccess, HERE, classify, plain_file};
use super::ops::{AppendFault, FileOps, append_whole};

/// The prefix of unfinished writes. Names that begin with it are never listed, nor read or written
/// by a key.
const UNFINISHED: &str = ".onyx-tmp-";

/// The blocking part of `LocalObjects`.
pub(crate) struct ObjectFiles {
    root: Dir,
    ops: Arc<dyn FileOps>,
    locks: Arc<PathLocks>,
    /// The path that is put before a key in the name of its lock. If one root of a home lies inside
    /// another, both then lock the same file by the same name.
    lock_prefix: String,
}

impl ObjectFiles {
    pub(crate) fn new(
        root: Dir,
        ops: Arc<dyn FileOps>,
        locks: Arc<PathLocks>,
        lock_prefix: String,
    ) -> Self {
        Self { root, ops, locks, lock_prefix }
    }

    pub(crate) fn is_at(&self, folder: &Dir) -> Result<bool, StoreError> {
        self.root.is_same(folder)
    }

    pub(crate) fn get(
        &self,
        key: &ObjectKey,
        max_bytes: u64,
    ) -> Result<Option<Object>, StoreError> {
        refuse_unfinished(key)?;
        match self.root.open(key.as_str(), FileAccess::Read) {
            Ok(file) => read(&file, max_bytes).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(classify(error)),
        }
    }

    pub(crate) fn end(
        &self,
        key: &ObjectKey,
        max_bytes: u64,
    ) -> Result<Option<FileEnd>, StoreError> {
        refuse_unfinished(key)?;
        match self.root.open(key.as_str(), FileAccess::Read) {
            Ok(file) => read_end(file, max_bytes).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(classify(error)),
        }
    }

    pub(crate) fn put(
        &self,
        key: &ObjectKey,
        bytes: &[u8],
        expect: Expect,
    ) -> Result<Hash, StoreError> {
        refuse_unfinished(key)?;
        let (parent, name) = self.make_parent(key)?;
        let _locked = self.lock(key);
        let current = check(&parent, name, expect)?;
        let unfinished = self.locks.unfinished_name();
        let written =
            self.write_new(&parent, &unfinished, bytes, current.as_ref()).and_then(|()| {
                match expect {
                    // Renaming without replacing also protects files of programs that do not know
                    // our lock.
                    Expect::Absent => parent.rename_new(&unfinished, &parent, name),
                    Expect::Anything | Expect::Is(_) => parent.replace(&unfinished, name),
                }
            });
        if let Err(error) = written {
            // If the temporary file cannot be removed now, a later listing of the folder removes
            // it.
            parent.remove(&unfinished).ok();
            return Err(error);
        }
        parent.sync(&*self.ops)?;
        Ok(Hash::of(bytes))
    }

    /// Writes a whole, durable file under a temporary name, with the mode of the file that it will
    /// replace.
    fn write_new(
        &self,
        parent: &Dir,
        name: &str,
        bytes: &[u8],
        replaced: Option<&Stat>,
    ) -> Result<(), StoreError> {
        let file = parent.open(name, FileAccess::CreateNew).map_err(classify)?;
        if let Some(stat) = replaced {
            let mode = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
            rustix::fs::fchmod(&file, mode).map_err(classify)?;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.ops.write(&file, rest) {
                Ok(0) => return Err(StoreError::Full),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.ops.sync_all(&file)?)
    }

    pub(crate) fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError> {
        refuse_unfinished(key)?;
        let (parent, name) = self.make_parent(key)?;
        let _locked = self.lock(key);
        let created = parent.stat(name)?.is_none();
        let file = parent.open(name, FileAccess::AppendOrCreate).map_err(classify)?;
        let stat = plain_file(&file)?;
        refuse_hard_link(&stat)?;
        let len = size(&stat)?;
        append_whole(&*self.ops, &file, bytes, len).map_err(|fault| match fault {
            AppendFault::TakenBack(error) | AppendFault::Stuck(error) => StoreError::from(error),
        })?;
        self.ops.sync_data(&file)?;
        if created { parent.keep_new(&*self.ops, name) } else { Ok(()) }
    }

    pub(crate) fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError> {
        refuse_unfinished(key)?;
        let (parent, name) = self.open_parent(key)?;
        let _locked = self.lock(key);
        check(&parent, name, expect)?.ok_or(StoreError::NotFound)?;
        parent.remove(name)?;
        Ok(parent.sync(&*self.ops)?)
    }

    pub(crate) fn remove_empty(&self, folder: &ObjectKey) -> Result<(), StoreError> {
        let (parent, name) = self.open_parent(folder)?;
        remove_empty_dirs(&parent, name)?;
        Ok(parent.sync(&*self.ops)?)
    }

    pub(crate) fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError> {
        refuse_unfinished(from)?;
        refuse_unfinished(to)?;
        let (old_parent, old_name) = self.open_parent(from)?;
        let _locked = self.lock_two(from, to);
        check(&old_parent, old_name, expect)?.ok_or(StoreError::NotFound)?;
        let (new_parent, new_name) = self.make_parent(to)?;
        old_parent.rename_new(old_name, &new_parent, new_name)?;
        new_parent.sync(&*self.ops)?;
        Ok(old_parent.sync(&*self.ops)?)
    }

    pub(crate) fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        let dir = self.root.open_dir(folder.map_or(HERE, ObjectKey::as_str)).map_err(classify)?;
        let mut names = Vec::new();
        for (name, kind) in dir.children()? {
            if name.starts_with(UNFINISHED) {
                self.sweep(&dir, &name);
            } else if matches!(kind, FileType::RegularFile | FileType::Directory) {
                names.push(name);
            }
        }
        names.sort_unstable();
        let mut listed = Vec::new();
        for name in names {
            if listed.len() == limit {
                break;
            }
            listed.extend(describe(&dir, folder, &name)?);
        }
        Ok(listed)
    }

    /// Removes a file that a crash left unfinished. This happens during listings, because walking a
    /// whole vault for such files at every start would cost more than the start itself.
    fn sweep(&self, dir: &Dir, name: &str) {
        if !name.starts_with(&self.locks.unfinished_prefix())
            && let Err(error) = dir.remove(name)
        {
            tracing::debug!(name, %error, "an unfinished write could not be removed");
        }
    }

    fn make_parent<'a>(&self, key: &'a ObjectKey) -> Result<(Dir, &'a str), StoreError> {
        let (folder, name) = split(key);
        let parent = match folder {
            Some(folder) => self.root.make_dirs(&*self.ops, folder)?,
            None => self.root.open_dir(HERE).map_err(classify)?,
        };
        Ok((parent, name))
    }

    fn open_parent<'a>(&self, key: &'a ObjectKey) -> Result<(Dir, &'a str), StoreError> {
        let (folder, name) = split(key);
        let parent = self.root.open_dir(folder.unwrap_or(HERE)).map_err(classify)?;
        Ok((parent, name))
    }

    fn lock(&self, key: &ObjectKey) -> MutexGuard<'_, ()> {
        lock(&self.locks.stripes[self.stripe(key)])
    }

    /// Locks two keys, always in the same order, so that two renames cannot wait for each other.
    fn lock_two(
        &self,
        one: &ObjectKey,
        other: &ObjectKey,
    ) -> (MutexGuard<'_, ()>, Option<MutexGuard<'_, ()>>) {
        let (one, other) = (self.stripe(one), self.stripe(other));
        let first = lock(&self.locks.stripes[one.min(other)]);
        let second = (one != other).then(|| lock(&self.locks.stripes[one.max(other)]));
        (first, second)
    }

    fn stripe(&self, key: &ObjectKey) -> usize {
        let path = format!("{}{key}", self.lock_prefix);
        crc32fast::hash(path.as_bytes()) as usize % STRIPES
    }
}

const STRIPES: usize = 64;

/// What all roots of one home share, because one root may list a folder of another: locks by path,
/// and the names of unfinished writes. Two paths may share a lock, but one path always has the same
/// lock.
#[derive(Debug)]
pub(crate) struct PathLocks {
    stripes: [Mutex<()>; STRIPES],
    /// A value that tells this process's unfinished writes from those that a crash left behind.
    token: u64,
    next: AtomicU64,
}

impl PathLocks {
    pub(crate) fn new() -> io::Result<Self> {
        let token =
            getrandom::u64().map_err(|error| io::Error::other(format!("no entropy: {error}")))?;
        let stripes = std::array::from_fn(|_| Mutex::new(()));
        Ok(Self { stripes, token, next: AtomicU64::new(0) })
    }

    fn unfinished_prefix(&self) -> String {
        format!("{UNFINISHED}{:016x}-", self.token)
    }

    fn unfinished_name(&self) -> String {
        format!("{}{}", self.unfinished_prefix(), self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Splits a key into the path of its folder and its last part.
fn remove_empty_dirs(parent: &Dir, name: &str) -> Result<(), StoreError> {
    let dir = parent.open_dir(name).map_err(classify)?;
    for (child, kind) in dir.children()? {
        if kind == FileType::Directory {
            remove_empty_dirs(&dir, &child)?;
        }
    }
    parent.remove_dir(name).map(drop)
}

fn split(key: &ObjectKey) -> (Option<&str>, &str) {
    match key.as_str().rsplit_once('/') {
        Some((folder, name)) => (Some(folder), name),
        None => (None, key.as_str()),
    }
}

fn refuse_unfinished(key: &ObjectKey) -> Result<(), StoreError> {
    if key.parts().any(|part| part.starts_with(UNFINISHED)) {
        return Err(StoreError::Refused(format!("names beginning with {UNFINISHED} are reserved")));
    }
    Ok(())
}

/// Returns what has the name now, if it may be overwritten and is as expected.
fn check(parent: &Dir, name: &str, expect: Expect) -> Result<Option<Stat>, StoreError> {
    let current = parent.stat(name)?;
    if let Some(stat) = &current {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => refuse_hard_link(stat)?,
            FileType::Directory => return Err(StoreError::Refused("it is a folder".to_owned())),
            FileType::Symlink => return Err(classify(Errno::LOOP)),
            _ => return Err(classify(Errno::NXIO)),
        }
    }
    let holds = match (expect, &current) {
        (Expect::Anything, _) | (Expect::Absent, None) => true,
        (Expect::Absent, Some(_)) | (Expect::Is(_), None) => false,
        (Expect::Is(hash), Some(_)) => {
            let file = parent.open(name, FileAccess::Read).map_err(classify)?;
            read(&file, u64::MAX)?.hash == hash
        }
    };
    if holds { Ok(current) } else { Err(StoreError::Conflict) }
}

/// Refuses a file that has more than one name: another name may lie outside the root, and openat2
/// cannot notice that.
fn refuse_hard_link(stat: &Stat) -> Result<(), StoreError> {
    if stat.st_nlink > 1 {
        return Err(StoreError::Refused("the file has another hard link".to_owned()));
    }
    Ok(())
}

fn read(file: &File, max_bytes: u64) -> Result<Object, StoreError> {
    let stat = plain_file(file)?;
    let too_large = || StoreError::Refused(format!("it is larger than {max_bytes} bytes"));
    let expected = size(&stat)?;
    if expected > max_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    // The file may grow while it is read, so reading is bounded as well.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large());
    }
    Ok(Object { hash: Hash::of(&bytes), bytes, modified: modified(&stat), changed: changed(&stat) })
}

fn read_end(mut file: File, max_bytes: u64) -> Result<FileEnd, StoreError> {
    let stat = plain_file(&file)?;
    let before = size(&stat)?.saturating_sub(max_bytes);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(FileEnd { bytes, before, changed: changed(&stat) })
}

fn describe(
    dir: &Dir,
    folder: Option<&ObjectKey>,
    name: &str,
) -> Result<Option<ObjectMeta>, StoreError> {
    let key = match folder {
        Some(folder) => folder.join(name),
        None => name.parse(),
    };
    let Ok(key) = key else {
        tracing::debug!(name, "a file name that no key can have");
        return Ok(None);
    };
    // A file that was removed since it was listed is left out.
    let Some(stat) = dir.stat(name)? else { return Ok(None) };
    let is_folder = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => false,
        FileType::Directory => true,
        _ => return Ok(None),
    };
    let (modified, changed) = (modified(&stat), changed(&stat));
    Ok(Some(ObjectMeta { key, size: size(&stat)?, modified, changed, is_folder }))
}

fn size(stat: &Stat) -> Result<u64, StoreError> {
    u64::try_from(stat.st_size).map_err(|error| StoreError::Failed(error.to_string()))
}

fn changed(stat: &Stat) -> Timestamp {
    let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or(0);
    Timestamp::from_millis(stat.st_ctime.saturating_mul(1000).saturating_add(nanos / 1_000_000))
}

fn modified(stat: &Stat) -> Timestamp {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Timestamp::from_millis(stat.st_mtime.saturating_mul(1000).saturating_add(nanos / 1_000_000))
}
