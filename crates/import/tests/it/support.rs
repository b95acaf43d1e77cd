//! Fixtures, and a home to write into.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_import::{BrokenFiles, Import, ImportReport, Item, Kind, Mode, Source, Writer, read};
use onyx_storage::{Home, Store};
use onyx_types::{AgentId, PersonId, SystemClock};
use tempfile::TempDir;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A copy that a test may change. The repository holds databases as the SQL statements that create
/// them.
pub(crate) fn copy_of(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&fixture(name), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else if let Some(name) = name.strip_suffix(".sql") {
            let database = rusqlite::Connection::open(to.join(name)).unwrap();
            database.execute_batch(&fs::read_to_string(&path).unwrap()).unwrap();
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

pub(crate) fn read_copy(source: Source, folder: &Path) -> Import {
    read(source, folder, BrokenFiles::Stop).unwrap()
}

pub(crate) fn person() -> PersonId {
    "owner".parse().unwrap()
}

pub(crate) fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

/// An empty home.
pub(crate) struct TestHome {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

impl TestHome {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let store = Store::open_embedded(home, Arc::new(SystemClock::new())).await.unwrap();
        Self { store, folder }
    }

    /// Writes everything except the parts of the config.
    pub(crate) async fn bring(&self, source: Source, import: &Import, mode: Mode) -> ImportReport {
        let clock = SystemClock::new();
        let writer = Writer {
            store: &self.store,
            clock: &clock,
            person: person(),
            default_agent: agent("main"),
            source,
            mode,
        };
        let mut report = ImportReport { dry_run: mode == Mode::DryRun, ..ImportReport::default() };
        for item in &import.items {
            match (writer.write(item).await.unwrap(), item) {
                (Some(written), item) => {
                    let (kind, name) = item.described().unwrap();
                    report.add(kind, name, written.outcome, written.why);
                }
                (None, Item::Note(note)) => report.note(note.clone()),
                (None, _) => {}
            }
        }
        report
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

/// Every file below a folder with its content.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The number of items of each kind.
pub(crate) fn kinds(import: &Import) -> BTreeMap<Kind, usize> {
    let mut kinds = BTreeMap::new();
    for (kind, _) in import.items.iter().filter_map(Item::described) {
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

/// The items that were left out or renamed, one line each.
pub(crate) fn notes(import: &Import) -> Vec<String> {
    let notes = import.items.iter().filter_map(|item| match item {
        Item::Note(note) => Some(format!("{} -> {}", note.what, note.why)),
        _ => None,
    });
    notes.collect()
}
