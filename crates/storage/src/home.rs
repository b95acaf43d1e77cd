use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use onyx_types::{AgentId, PersonId, SystemClock};
use rustix::fs::{FileType, FlockOperation, OFlags};
use rustix::io::Errno;

use crate::blocking::{Blocking, lock};
use crate::local::{Dir, FileOps, KnownFiles, LocalObjects, PathLocks, SystemFiles};
use crate::objects::{Area, FileLookup, Files, FoundObject};
use crate::{MemoryOrigins, Objects, Origins, StoreError};

/// The paths in a home. Knowing them does not require owning the home, so commands that go through
/// the socket use them too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomePaths {
    root: PathBuf,
}

impl HomePaths {
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("onyx.json")
    }

    pub fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    pub fn socket(&self) -> PathBuf {
        self.root.join("onyx.sock")
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("onyx.db")
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("onyx.lock")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    pub fn index(&self) -> PathBuf {
        self.cache().join("index.db")
    }

    /// The file that exists while everything is being moved into the home from a server.
    pub fn moving(&self) -> PathBuf {
        self.root.join("moving")
    }

    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The folder of an area, for people and for watching. The program itself reads the files
    /// through `Home::objects`.
    pub fn area(&self, area: &Area) -> PathBuf {
        self.root.join(area.path())
    }
}

/// A home that this process owns. No other process can open it until this is dropped.
#[derive(Debug)]
pub struct Home {
    paths: HomePaths,
    root: Arc<Dir>,
    ops: Arc<dyn FileOps>,
    locks: Arc<PathLocks>,
    blocking: Blocking,
    areas: Mutex<HashMap<Area, LocalObjects>>,
    known: Arc<KnownFiles>,
    origins: OriginsSlot,
    /// The lock on the home. The kernel releases it when the process ends, even after a crash.
    _lock: File,
}

/// Where origins are recorded: in the ledger, once it is set. In a home that is used without its
/// ledger, they are kept in memory and lost with the process.
#[derive(Default)]
struct OriginsSlot(OnceLock<Arc<dyn Origins>>);

impl std::fmt::Debug for OriginsSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OriginsSlot").finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another process owns the home. The command line reaches that process through the socket.
    #[error("{} is in use by {}", home.display(), holder(*pid))]
    InUse { home: PathBuf, pid: Option<u32> },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

const FOLDERS: [&str; 5] = ["agents", "people", "shared", "models", "cache"];
/// The most areas that are remembered, because each holds a directory open. An area that is in use
/// stays open when it is forgotten here.
const MOST_AREAS: usize = 128;

impl Home {
    /// Takes ownership of the home and creates it if needed, accessible to its owner alone.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        Self::open_with(path, Arc::new(SystemFiles))
    }

    pub fn open_with(path: &Path, ops: Arc<dyn FileOps>) -> Result<Self, HomeError> {
        make_folder(path)?;
        let paths = Self::paths_only(path);
        let lock = take_lock(&paths)?;
        for folder in FOLDERS {
            make_folder(&path.join(folder))?;
        }
        let root = Dir::open_root(path).map_err(at(path))?;
        Ok(Self {
            paths,
            root: Arc::new(root),
            ops,
            locks: Arc::new(PathLocks::new().map_err(at(path))?),
            blocking: Blocking::new(),
            areas: Mutex::default(),
            // The cache gets the system clock, because it compares the time with those of files,
            // which come from the system too.
            known: Arc::new(KnownFiles::new(Arc::new(SystemClock::new()))),
            origins: OriginsSlot::default(),
            _lock: lock,
        })
    }

    /// Returns the paths of a home without creating or owning anything.
    pub fn paths_only(path: &Path) -> HomePaths {
        HomePaths { root: path.to_owned() }
    }

    pub fn paths(&self) -> &HomePaths {
        &self.paths
    }

    /// Lists the folders in a folder by name. Names that are not ids are left out, because Onyx did
    /// not create them.
    fn names_in<T: std::str::FromStr + Ord>(&self, folder: &str) -> Result<Vec<T>, StoreError> {
        let folder = match self.root.open_dir(folder) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::Failed(error.to_string())),
        };
        let children = folder.children()?.into_iter();
        let folders = children.filter(|(_, kind)| *kind == FileType::Directory);
        let mut names: Vec<T> = folders.filter_map(|(name, _)| name.parse().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Makes the home record origins in this ledger from now on.
    pub(crate) fn keep_origins_in(&self, origins: Arc<dyn Origins>) {
        // Setting it twice cannot matter: a home is opened once, and a second ledger would be of
        // the same file.
        let _ = self.origins.0.set(origins);
    }

    pub(crate) fn root(&self) -> Arc<Dir> {
        Arc::clone(&self.root)
    }

    pub(crate) fn ops(&self) -> Arc<dyn FileOps> {
        Arc::clone(&self.ops)
    }

    pub(crate) fn blocking(&self) -> Blocking {
        self.blocking.clone()
    }

    fn local(&self, area: &Area) -> Result<LocalObjects, StoreError> {
        let path = area.path();
        let root = self.root.make_dirs(&*self.ops, &path)?;
        let mut areas = lock(&self.areas);
        // The folder is compared, because a person may have moved it away and created another of
        // the same name.
        if let Some(objects) = areas.get(area)
            && objects.is_at(&root)?
        {
            return Ok(objects.clone());
        }
        if areas.len() >= MOST_AREAS {
            areas.clear();
        }
        let objects = LocalObjects::beneath(
            root,
            self.ops(),
            Arc::clone(&self.locks),
            format!("{path}/"),
            self.blocking(),
        );
        areas.insert(area.clone(), objects.clone());
        Ok(objects)
    }
}

#[async_trait]
impl Files for Home {
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError> {
        Ok(Arc::new(self.local(area)?))
    }

    async fn find(
        &self,
        wanted: Vec<(Area, FileLookup)>,
    ) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
        if let Some(found) = self.known.all(&self.root, &wanted) {
            return Ok(found.into_iter().map(Ok).collect());
        }
        let mut roots: HashMap<Area, LocalObjects> = HashMap::new();
        let mut lookups = Vec::with_capacity(wanted.len());
        for asked in wanted {
            let root = match roots.entry(asked.0.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let root = self.local(new.key())?;
                    new.insert(root)
                }
            };
            lookups.push((root.clone(), asked));
        }
        let (known, home) = (Arc::clone(&self.known), Arc::clone(&self.root));
        let look = move || {
            let found = lookups
                .into_iter()
                .map(|(root, asked)| known.look(&home, asked, |wanted| root.find(wanted)));
            Ok(found.collect())
        };
        self.blocking.run(look).await
    }

    fn origins(&self) -> Arc<dyn Origins> {
        Arc::clone(self.origins.0.get_or_init(|| Arc::<MemoryOrigins>::default()))
    }

    async fn people(&self) -> Result<Vec<PersonId>, StoreError> {
        self.names_in("people")
    }

    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        self.names_in("agents")
    }
}

fn make_folder(path: &Path) -> Result<(), HomeError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path))
}

fn take_lock(paths: &HomePaths) -> Result<File, HomeError> {
    let path = paths.lock();
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path)
        .map_err(at(&path))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            // The process id is only for the message, so failing to read it does not matter.
            file.read_to_string(&mut holder).ok();
            let pid = holder.trim().parse().ok();
            return Err(HomeError::InUse { home: paths.root.clone(), pid });
        }
        Err(error) => return Err(at(&path)(error.into())),
    }
    write_pid(&mut file).map_err(at(&path))?;
    Ok(file)
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> HomeError {
    let path = path.to_owned();
    move |source| HomeError::Io { path, source }
}
