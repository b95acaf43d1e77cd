//! A cache of files that were read lately, each with a mark of its state then. Comparing the mark
//! costs far less than opening and reading, and needs no other thread. Every run looks up the files
//! of its prompt, and these rarely change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use onyx_types::Clock;
use rustix::fs::FileType;

use crate::blocking::lock;
use crate::objects::{Area, FileLookup, FoundObject};
use crate::{ObjectKey, StoreError};

use super::beneath::{Dir, PathStat};

/// The bound on the size of all entries together. When it is exceeded, all entries are dropped.
const MOST_BYTES: usize = 1024 * 1024;
const LARGEST: usize = 32 * 1024;
/// About how many bytes an entry takes in addition to its content.
const OVERHEAD: usize = 512;
/// A file that changed this recently may change again without its times showing it, because the
/// coarsest times that file systems keep are two seconds apart. Such a file is read every time.
const SETTLED_MS: i128 = 3_000;

pub(crate) struct KnownFiles {
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<(Area, FileLookup), Arc<CachedFile>>,
    bytes: usize,
}

struct CachedFile {
    path: String,
    mark: Mark,
    found: FoundObject,
}

/// The state of a path. Any change of the file, or of what has its name, gives another mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Absent,
    File { device: u64, inode: u64, size: i64, modified: i128, changed: i128 },
}

impl Mark {
    /// Takes the mark of a path. `None`: the path has to be opened to tell what is there.
    fn of(home: &Dir, path: &str) -> Option<Self> {
        match home.stat_path(path) {
            PathStat::Absent => Some(Self::Absent),
            PathStat::There(stat) => (FileType::from_raw_mode(stat.st_mode)
                == FileType::RegularFile)
                .then(|| Self::File {
                    device: stat.st_dev,
                    inode: stat.st_ino,
                    size: stat.st_size,
                    modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
                    changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
                }),
            PathStat::Unclear => None,
        }
    }

    fn is_settled(&self, now_ms: i64) -> bool {
        match self {
            Self::Absent => true,
            Self::File { modified, changed, .. } => {
                (*modified).max(*changed) / 1_000_000 + SETTLED_MS < i128::from(now_ms)
            }
        }
    }
}

fn nanoseconds(seconds: i64, nanoseconds: impl Into<i128>) -> i128 {
    i128::from(seconds) * 1_000_000_000 + nanoseconds.into()
}

impl KnownFiles {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Mutex::default() }
    }

    /// Returns everything that is wanted, if all of it is cached and unchanged; otherwise `None`.
    pub(crate) fn all(
        &self,
        home: &Dir,
        wanted: &[(Area, FileLookup)],
    ) -> Option<Vec<FoundObject>> {
        let known: Vec<Arc<CachedFile>> = {
            let table = lock(&self.table);
            wanted.iter().map(|asked| table.entries.get(asked).cloned()).collect::<Option<_>>()?
        };
        let unchanged = |known: Arc<CachedFile>| {
            (Mark::of(home, &known.path) == Some(known.mark)).then(|| known.found.clone())
        };
        known.into_iter().map(unchanged).collect()
    }

    /// Looks a file up and remembers the result. The mark is taken before reading, so that a change
    /// during reading makes the mark an old one.
    pub(crate) fn look(
        &self,
        home: &Dir,
        asked: (Area, FileLookup),
        find: impl FnOnce(&FileLookup) -> Result<FoundObject, StoreError>,
    ) -> Result<FoundObject, StoreError> {
        let path = format!("{}/{}", asked.0.path(), key_of(&asked.1).as_str());
        let mark = Mark::of(home, &path);
        let now = self.clock.wall().as_millis();
        let found = find(&asked.1);
        let fits = match (&mark, &found) {
            (Some(Mark::Absent), Ok(FoundObject::Nothing)) => true,
            (Some(Mark::File { .. }), Ok(FoundObject::File(object))) => {
                object.bytes.len() <= LARGEST
            }
            (Some(Mark::File { .. }), Ok(FoundObject::End(end))) => end.bytes.len() <= LARGEST,
            _ => false,
        };
        match (mark, &found) {
            (Some(mark), Ok(found)) if fits && mark.is_settled(now) => {
                lock(&self.table).keep(asked, CachedFile { path, mark, found: found.clone() });
            }
            _ => lock(&self.table).forget(&asked),
        }
        found
    }
}

impl Table {
    fn keep(&mut self, asked: (Area, FileLookup), known: CachedFile) {
        self.forget(&asked);
        let weight = known.weight();
        if self.bytes + weight > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += weight;
        self.entries.insert(asked, Arc::new(known));
    }

    fn forget(&mut self, asked: &(Area, FileLookup)) {
        if let Some(known) = self.entries.remove(asked) {
            self.bytes -= known.weight();
        }
    }
}

impl CachedFile {
    fn weight(&self) -> usize {
        OVERHEAD
            + match &self.found {
                FoundObject::File(object) => object.bytes.len(),
                FoundObject::End(end) => end.bytes.len(),
                FoundObject::Nothing | FoundObject::Folder(_) => 0,
            }
    }
}

fn key_of(wanted: &FileLookup) -> &ObjectKey {
    match wanted {
        FileLookup::File { key, .. }
        | FileLookup::End { key, .. }
        | FileLookup::Folder { key, .. } => key,
    }
}

impl std::fmt::Debug for KnownFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownFiles").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use onyx_types::{Hash, Now, SystemClock, Timestamp};

    use super::*;
    use crate::Object;

    /// A clock that is an hour ahead, so that no file counts as changed just now.
    #[derive(Debug)]
    struct MuchLater(SystemClock);

    impl Clock for MuchLater {
        fn now(&self) -> Now {
            let now = self.0.now();
            Now { wall: Timestamp::from_millis(now.wall.as_millis() + 3_600_000), ..now }
        }
    }

    struct World {
        folder: tempfile::TempDir,
        home: Dir,
        known: KnownFiles,
        reads: Cell<usize>,
    }

    impl World {
        fn new(clock: Arc<dyn Clock>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("shared")).unwrap();
            let home = Dir::open_root(folder.path()).unwrap();
            Self { folder, home, known: KnownFiles::new(clock), reads: Cell::new(0) }
        }

        fn path(&self) -> std::path::PathBuf {
            self.folder.path().join("shared/note.md")
        }

        /// Looks the file up in the way that `Home::find` does.
        fn text(&self) -> Option<String> {
            let asked = (
                Area::Shared,
                FileLookup::File { key: "note.md".parse().unwrap(), max_bytes: 1_000 },
            );
            let found = match self.known.all(&self.home, std::slice::from_ref(&asked)) {
                Some(mut found) => found.remove(0),
                None => self.known.look(&self.home, asked, |_| Ok(self.read())).unwrap(),
            };
            match found {
                FoundObject::File(object) => Some(String::from_utf8(object.bytes).unwrap()),
                FoundObject::Nothing | FoundObject::End(_) | FoundObject::Folder(_) => None,
            }
        }

        fn read(&self) -> FoundObject {
            self.reads.set(self.reads.get() + 1);
            fs::read(self.path()).map_or(FoundObject::Nothing, |bytes| {
                let hash = Hash::of(&bytes);
                let (modified, changed) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
                FoundObject::File(Object { hash, bytes, modified, changed })
            })
        }
    }

    #[test]
    fn a_file_is_read_once_and_again_after_every_kind_of_change() {
        let world = World::new(Arc::new(MuchLater(SystemClock::new())));
        let seen = |text: Option<&str>, reads: usize| {
            assert_eq!(world.text().as_deref(), text);
            assert_eq!(world.text().as_deref(), text);
            assert_eq!(world.reads.get(), reads);
        };
        seen(None, 1);
        fs::write(world.path(), "one").unwrap();
        seen(Some("one"), 2);
        fs::write(world.path(), "longer").unwrap();
        seen(Some("longer"), 3);
        // The new file has the same length and times, but another inode.
        let other = world.folder.path().join("other");
        fs::write(&other, "LONGER").unwrap();
        let times = fs::FileTimes::new()
            .set_modified(fs::metadata(world.path()).unwrap().modified().unwrap());
        fs::File::options().write(true).open(&other).unwrap().set_times(times).unwrap();
        fs::rename(&other, world.path()).unwrap();
        seen(Some("LONGER"), 4);
        fs::remove_file(world.path()).unwrap();
        seen(None, 5);
    }

    #[test]
    fn a_file_that_was_changed_just_now_is_read_every_time() {
        let world = World::new(Arc::new(SystemClock::new()));
        fs::write(world.path(), "one").unwrap();
        assert_eq!((world.text(), world.text()), (Some("one".into()), Some("one".into())));
        assert_eq!(world.reads.get(), 2);
    }
}
