use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{
    Area, Expect, Files, MemoryOrigins, Object, ObjectKey, ObjectMeta, Objects, Origins, StoreError,
};
use onyx_types::{AgentId, Clock, Hash, PersonId, Timestamp};

use super::{Disk, MemoryDisk, Op, Turnstile, perform};

/// No file system records times here, so every file may be newer than any known time.
const NEWEST: Timestamp = Timestamp::from_millis(i64::MAX);

/// Every file by its path in the home.
pub(super) type Folder = BTreeMap<String, File>;

#[derive(Clone)]
pub(super) struct File {
    bytes: Vec<u8>,
    modified: Timestamp,
}

pub(super) struct MemoryFiles {
    disk: MemoryDisk,
    clock: Arc<dyn Clock>,
    turnstile: Arc<dyn Turnstile>,
    origins: Arc<MemoryOrigins>,
}

impl MemoryFiles {
    pub(super) fn new(
        disk: MemoryDisk,
        clock: Arc<dyn Clock>,
        turnstile: Arc<dyn Turnstile>,
    ) -> Self {
        Self { disk, clock, turnstile, origins: Arc::default() }
    }
}

#[async_trait]
impl Files for MemoryFiles {
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError> {
        Ok(Arc::new(MemoryObjects {
            disk: self.disk.clone(),
            clock: Arc::clone(&self.clock),
            turnstile: Arc::clone(&self.turnstile),
            root: area.path(),
        }))
    }

    fn origins(&self) -> Arc<dyn Origins> {
        Arc::clone(&self.origins) as Arc<dyn Origins>
    }

    async fn people(&self) -> Result<Vec<PersonId>, StoreError> {
        let disk = self.disk.lock();
        let in_files = disk.files.keys().filter_map(|path| path.strip_prefix("people/"));
        let mut people: BTreeSet<PersonId> =
            in_files.filter_map(|rest| rest.split('/').next()?.parse().ok()).collect();
        people.extend(disk.logs.keys().map(|key| key.person.clone()));
        Ok(people.into_iter().collect())
    }

    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        let disk = self.disk.lock();
        let in_files = disk.files.keys().filter_map(|path| path.strip_prefix("agents/"));
        let agents: BTreeSet<AgentId> =
            in_files.filter_map(|rest| rest.split('/').next()?.parse().ok()).collect();
        Ok(agents.into_iter().collect())
    }
}

struct MemoryObjects {
    disk: MemoryDisk,
    clock: Arc<dyn Clock>,
    turnstile: Arc<dyn Turnstile>,
    root: String,
}

impl MemoryObjects {
    fn path(&self, key: &ObjectKey) -> String {
        format!("{}/{key}", self.root)
    }

    async fn write<T>(
        &self,
        work: impl FnOnce(&mut Disk) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        perform(&*self.turnstile, Op::WriteFile, || work(&mut self.disk.lock())).await
    }

    fn file(&self, bytes: Vec<u8>) -> File {
        File { bytes, modified: self.clock.wall() }
    }
}

fn is_folder(files: &Folder, path: &str) -> bool {
    let below = format!("{path}/");
    files.range(below.clone()..).next().is_some_and(|(path, _)| path.starts_with(&below))
}

/// Checks that no folder is written as a file, and no file is used as a folder.
fn check_place(files: &Folder, path: &str) -> Result<(), StoreError> {
    let below_a_file = path.match_indices('/').any(|(at, _)| files.contains_key(&path[..at]));
    if is_folder(files, path) || below_a_file {
        return Err(StoreError::Refused(format!("{path} is no file")));
    }
    Ok(())
}

fn check(found: Option<&File>, expect: Expect) -> Result<(), StoreError> {
    let met = match expect {
        Expect::Anything => true,
        Expect::Absent => found.is_none(),
        Expect::Is(hash) => found.is_some_and(|file| Hash::of(&file.bytes) == hash),
    };
    if met { Ok(()) } else { Err(StoreError::Conflict) }
}

#[async_trait]
impl Objects for MemoryObjects {
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError> {
        let path = self.path(key);
        perform(&*self.turnstile, Op::ReadFile, || {
            let disk = self.disk.lock();
            let Some(file) = disk.files.get(&path) else {
                return if is_folder(&disk.files, &path) {
                    Err(StoreError::Refused(format!("{path} is a folder")))
                } else {
                    Ok(None)
                };
            };
            if file.bytes.len() as u64 > max_bytes {
                return Err(StoreError::Refused(format!("{path} is too large")));
            }
            let hash = Hash::of(&file.bytes);
            let (bytes, modified) = (file.bytes.clone(), file.modified);
            Ok(Some(Object { bytes, hash, modified, changed: NEWEST }))
        })
        .await
    }

    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError> {
        let (path, file) = (self.path(key), self.file(bytes.to_vec()));
        self.write(|disk| {
            check_place(&disk.files, &path)?;
            check(disk.files.get(&path), expect)?;
            let hash = Hash::of(&file.bytes);
            disk.files.insert(path, file);
            Ok(hash)
        })
        .await
    }

    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError> {
        let (path, mut fresh) = (self.path(key), self.file(bytes.to_vec()));
        self.write(|disk| {
            check_place(&disk.files, &path)?;
            if let Some(file) = disk.files.get(&path) {
                fresh.bytes.splice(0..0, file.bytes.iter().copied());
            }
            disk.files.insert(path, fresh);
            Ok(())
        })
        .await
    }

    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError> {
        let path = self.path(key);
        self.write(|disk| {
            check_place(&disk.files, &path)?;
            let found = disk.files.get(&path).ok_or(StoreError::NotFound)?;
            check(Some(found), expect)?;
            disk.files.remove(&path);
            Ok(())
        })
        .await
    }

    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError> {
        let (from, to) = (self.path(from), self.path(to));
        self.write(|disk| {
            check_place(&disk.files, &from)?;
            check_place(&disk.files, &to)?;
            let found = disk.files.get(&from).ok_or(StoreError::NotFound)?;
            check(Some(found), expect)?;
            if disk.files.contains_key(&to) {
                return Err(StoreError::Conflict);
            }
            let moved = found.clone();
            disk.files.remove(&from);
            disk.files.insert(to, moved);
            Ok(())
        })
        .await
    }

    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        perform(&*self.turnstile, Op::ReadFile, || {
            let base =
                folder.map_or(format!("{}/", self.root), |key| format!("{}/", self.path(key)));
            let disk = self.disk.lock();
            let mut listed: BTreeMap<String, ObjectMeta> = BTreeMap::new();
            for (path, file) in disk.files.range(base.clone()..) {
                let Some(rest) = path.strip_prefix(&base) else { break };
                let (name, is_folder) = match rest.split_once('/') {
                    Some((name, _)) => (name, true),
                    None => (rest, false),
                };
                let key = match folder {
                    Some(folder) => folder.join(name),
                    None => name.parse(),
                };
                let key = key.map_err(|error| StoreError::Failed(error.to_string()))?;
                let size = if is_folder { 0 } else { file.bytes.len() as u64 };
                let modified = file.modified;
                let meta = ObjectMeta { key, size, modified, changed: NEWEST, is_folder };
                listed.entry(name.to_owned()).or_insert(meta);
            }
            if listed.is_empty() && folder.is_some() {
                return Err(StoreError::NotFound);
            }
            Ok(listed.into_values().take(limit).collect())
        })
        .await
    }
}
