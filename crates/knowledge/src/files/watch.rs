//! Notices edits by other programs, as the operating system reports them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use onyx_storage::SourceKey;
use onyx_types::PersonId;

use crate::files::changes::FileChanges;
use crate::files::places::{PERSON_FOLDERS, is_hidden};
use crate::status::Watching;

/// Watches the folders of a home, from the first call of `watch` until it is stopped.
pub(crate) struct FolderWatch {
    home: PathBuf,
    changes: Arc<FileChanges>,
    watcher: Mutex<Option<Watcher>>,
}

impl FolderWatch {
    pub(crate) fn new(home: PathBuf, changes: Arc<FileChanges>) -> Self {
        Self { home, changes, watcher: Mutex::default() }
    }

    /// Watches the folders that are not watched yet. It is called again and again, because people
    /// and folders are added at any time.
    pub(crate) async fn watch(self: &Arc<Self>, people: Vec<PersonId>) {
        let watch = Arc::clone(self);
        let watched = tokio::task::spawn_blocking(move || watch.watch_now(&people));
        if let Err(error) = watched.await {
            tracing::warn!(%error, "files could not be watched");
        }
    }

    fn watch_now(&self, people: &[PersonId]) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = || Watcher::new(self.home.clone(), Arc::clone(&self.changes));
        let new = watcher.get_or_insert_with(begin).watch(people);
        drop(watcher);
        // Files that were written before the watch began were not reported, so they must be looked
        // through.
        new.into_iter().for_each(|person| self.changes.folders_changed(person));
    }

    pub(crate) fn stop(&self) {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn state(&self) -> Watching {
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher.as_ref().map_or(Watching::Off, Watcher::state)
    }
}

/// Watches folders until it is dropped.
struct Watcher {
    home: PathBuf,
    watcher: Result<RecommendedWatcher, String>,
    watched: BTreeSet<PathBuf>,
    failed: Option<String>,
}

impl Watcher {
    fn new(home: PathBuf, changes: Arc<FileChanges>) -> Self {
        let listener = Listener { home: home.clone(), changes };
        let watcher = notify::recommended_watcher(move |event| listener.take(event));
        let watcher = watcher.map_err(|error| error.to_string());
        Self { home, watcher, watched: BTreeSet::new(), failed: None }
    }

    fn state(&self) -> Watching {
        match (&self.watcher, &self.failed) {
            (Err(reason), _) | (Ok(_), Some(reason)) => {
                Watching::Failing { reason: reason.clone() }
            }
            (Ok(_), None) => Watching::On,
        }
    }

    /// Watches the folders that exist and are not watched yet. Returns the people for whom folders
    /// were added.
    fn watch(&mut self, people: &[PersonId]) -> Vec<PersonId> {
        let root = self.home.join("people");
        self.add(root.clone(), RecursiveMode::NonRecursive);
        self.add(self.home.join("shared"), RecursiveMode::Recursive);
        let mut new = Vec::new();
        for person in people {
            let folder = root.join(person.as_str());
            self.add(folder.clone(), RecursiveMode::NonRecursive);
            let added = PERSON_FOLDERS
                .iter()
                .filter(|name| self.add(folder.join(name), RecursiveMode::Recursive))
                .count();
            if added > 0 {
                new.push(person.clone());
            }
        }
        // A folder that was moved away and created again must be watched again.
        self.watched.retain(|path| path.is_dir());
        new
    }

    fn add(&mut self, path: PathBuf, mode: RecursiveMode) -> bool {
        let Ok(watcher) = &mut self.watcher else { return false };
        if self.watched.contains(&path) || !path.is_dir() {
            return false;
        }
        match watcher.watch(&path, mode) {
            Ok(()) => self.watched.insert(path),
            Err(error) => {
                if self.failed.is_none() {
                    tracing::warn!(%error, "files cannot be watched: edits are found when a session starts");
                }
                self.failed = Some(error.to_string());
                false
            }
        }
    }
}

struct Listener {
    home: PathBuf,
    changes: Arc<FileChanges>,
}

impl Listener {
    fn take(&self, event: notify::Result<notify::Event>) {
        let event = match event {
            Ok(event) if event.need_rescan() => return self.changes.everything_changed(),
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "edits may have been missed: all files are checked");
                return self.changes.everything_changed();
            }
        };
        let Some(whole_folders) = folders_too(&event.kind) else { return };
        for path in &event.paths {
            let Some(key) = self.key(path) else { continue };
            // Files are written under a hidden name and then renamed. The old name is reported too
            // and is no file any more, so it would count as a folder.
            if is_hidden(&key.path) {
                continue;
            }
            // If a folder is created, removed or moved, all its files change with it.
            if whole_folders && !path.is_file() {
                match &key.person {
                    Some(person) => self.changes.folders_changed(person.clone()),
                    None => self.changes.everything_changed(),
                }
            }
            self.changes.file_changed(key);
        }
    }

    fn key(&self, path: &Path) -> Option<SourceKey> {
        let mut parts = path.strip_prefix(&self.home).ok()?.iter();
        let person = match parts.next()?.to_str()? {
            "people" => Some(parts.next()?.to_str()?.parse().ok()?),
            "shared" => None,
            _ => return None,
        };
        let path: Option<Vec<&str>> = parts.map(|part| part.to_str()).collect();
        Some(SourceKey { person, path: path?.join("/") })
    }
}

/// Whether an event may be about a folder; `None` if it changed nothing.
fn folders_too(kind: &EventKind) -> Option<bool> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(false),
        EventKind::Access(_) => None,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) => Some(true),
        EventKind::Remove(RemoveKind::File) | EventKind::Modify(_) => Some(false),
        EventKind::Remove(_) | EventKind::Any | EventKind::Other => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onyx_storage::{Area, Expect, Home, Store};
    use onyx_test_support::wait_for;
    use onyx_types::SystemClock;

    use super::*;
    use crate::backlog::Backlog;

    /// Waits until the watch has reported a file, and with it everything that happened before.
    async fn reported(backlog: &Backlog, path: &str) {
        wait_for(path, Duration::from_secs(60), async || {
            let taken = backlog.take_file().await?;
            let is_it = taken.key.path == path;
            taken.mark_indexed();
            is_it.then_some(())
        })
        .await;
    }

    #[tokio::test]
    async fn a_file_that_is_written_whole_makes_nobody_look_through_all_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let store = Store::open_embedded(home, Arc::new(SystemClock::new())).await.unwrap();
        let anna: PersonId = "anna".parse().unwrap();
        let vault = store.files.objects(&Area::Vault(anna.clone())).unwrap();
        let put = async |name: &str| {
            vault.put(&name.parse().unwrap(), b"walnut", Expect::Anything).await.unwrap();
        };
        put("before.md").await;
        let backlog = Arc::new(Backlog::new());
        let changes = Arc::new(FileChanges::new(Arc::clone(&backlog)));
        let watch = Arc::new(FolderWatch::new(folder.path().to_owned(), changes));
        watch.watch(vec![anna.clone()]).await;
        assert_eq!(backlog.take_looks().await.people, BTreeSet::from([anna.clone()]));

        let own = folder.path().join("people/anna/vault");
        put("new.md").await;
        put("before.md").await;
        std::fs::create_dir(own.join(".trash")).unwrap();
        std::fs::write(own.join("last.md"), "hazelnut").unwrap();
        reported(&backlog, "vault/last.md").await;
        assert_eq!(backlog.take_looks().await.people, BTreeSet::new());

        // A folder brings files with it that nobody reported, whatever its name was before.
        std::fs::rename(own.join(".trash"), own.join("kept")).unwrap();
        std::fs::write(own.join("end.md"), "hazelnut").unwrap();
        reported(&backlog, "vault/end.md").await;
        assert_eq!(backlog.take_looks().await.people, BTreeSet::from([anna]));
    }
}
