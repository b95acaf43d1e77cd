//! Edits by other programs, as the system tells of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use onyx_storage::SourceKey;
use onyx_types::PersonId;

use crate::Index;
use crate::files::places::PERSON_FOLDERS;
use crate::index::Inner;
use crate::status::Watching;

/// Watches folders until it is dropped.
pub(crate) struct Watcher {
    home: PathBuf,
    watcher: Result<RecommendedWatcher, String>,
    watched: BTreeSet<PathBuf>,
    failed: Option<String>,
}

impl Watcher {
    pub(crate) fn new(index: &Index) -> Self {
        let home = index.inner.settings.home.clone();
        let hear = Listener { home: home.clone(), index: Arc::downgrade(&index.inner) };
        let watcher = notify::recommended_watcher(move |event| hear.take(event));
        let watcher = watcher.map_err(|error| error.to_string());
        Self { home, watcher, watched: BTreeSet::new(), failed: None }
    }

    pub(crate) fn state(&self) -> Watching {
        match (&self.watcher, &self.failed) {
            (Err(reason), _) | (Ok(_), Some(reason)) => {
                Watching::Failing { reason: reason.clone() }
            }
            (Ok(_), None) => Watching::On,
        }
    }

    /// Watches what is there and not watched yet; whose folders are new?
    pub(crate) fn watch(&mut self, people: &[PersonId]) -> Vec<PersonId> {
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
        // A folder that was moved away and made again is another one.
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
                    tracing::warn!(%error, "edits are seen when a session starts: files cannot be watched");
                }
                self.failed = Some(error.to_string());
                false
            }
        }
    }
}

struct Listener {
    home: PathBuf,
    index: Weak<Inner>,
}

impl Listener {
    fn take(&self, event: notify::Result<notify::Event>) {
        let Some(inner) = self.index.upgrade() else { return };
        let index = Index { inner };
        let event = match event {
            Ok(event) if event.need_rescan() => return index.look_through_everything(),
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "edits may have been missed: everything is looked through");
                return index.look_through_everything();
            }
        };
        let Some(whole_folders) = folders_too(&event.kind) else { return };
        for path in &event.paths {
            let Some(key) = self.key(path) else { continue };
            // A folder came, went or was moved: all in it has.
            let folder = whole_folders && !path.is_file();
            match (folder, &key.person) {
                (true, Some(person)) => index.folders_changed(person.clone()),
                (true, None) => index.look_through_everything(),
                (false, _) => {}
            }
            index.file_changed(key);
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

/// `None`: nothing was changed. Else: may it have been a folder?
fn folders_too(kind: &EventKind) -> Option<bool> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(false),
        EventKind::Access(_) => None,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) => Some(true),
        EventKind::Remove(RemoveKind::File) | EventKind::Modify(_) => Some(false),
        EventKind::Remove(_) | EventKind::Any | EventKind::Other => Some(true),
    }
}
