//! A home with content of every kind, and a place for backups beside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use onyx_backup::{
    BackupError, BackupPlace, BackupReport, BackupRequest, Encryption, Passphrase, RestoreReport,
    RestoreRequest, Source, WhenDamaged, back_up, list, restore_home,
};
use onyx_test_support::ManualClock;
use onyx_types::{Cancel, Clock as _, SystemClock};
use tempfile::TempDir;

use crate::test_bucket::TestBucket;

pub(crate) const SESSION: &str = "people/owner/sessions/main/0193b0c0-0000-7000-8000-000000000001";

pub(crate) struct World {
    folder: TempDir,
    pub(crate) bucket: Option<TestBucket>,
    pub(crate) clock: ManualClock,
}

/// Everything in a folder, by path: kind, permissions and content.
pub(crate) type Tree = BTreeMap<String, (u32, String, Vec<u8>)>;

impl World {
    pub(crate) fn new() -> Self {
        Self::with(None)
    }

    /// A world whose backups go to a bucket of its own.
    pub(crate) fn with_bucket() -> Self {
        Self::with(Some(TestBucket::make()))
    }

    fn with(bucket: Option<TestBucket>) -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap(), bucket, clock: clock() };
        fs::create_dir(world.home()).unwrap();
        world.fill();
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    /// The place of the backups: the folder beside the home, or a bucket.
    pub(crate) fn place(&self) -> BackupPlace {
        match &self.bucket {
            Some(bucket) => bucket.place(),
            None => BackupPlace::Folder(self.backups()),
        }
    }

    pub(crate) fn other(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn fill(&self) {
        self.write("onyx.json", "{}\n");
        self.write("token", "a-token\n");
        self.write("agents/main/SOUL.md", "You are calm.\n");
        self.write("people/owner/vault/note.md", "one\n");
        self.write("people/owner/vault/empty", "");
        self.write("people/owner/vault/Ünïcode name.md", "text\n");
        let large: Vec<u8> =
            (0..700_000_u32).flat_map(|n| n.wrapping_mul(2654435761).to_le_bytes()).collect();
        self.write("people/owner/vault/large.bin", large);
        self.write(
            &format!("{SESSION}.json"),
            "{\"title\":\"Tea\",\"root\":\"x\",\"fork_turn\":\"y\"}",
        );
        self.write(&format!("{SESSION}.jsonl"), turn("hello") + &turn("again"));
        fs::create_dir_all(self.home().join("shared/empty folder")).unwrap();
        symlink("/etc/hostname", self.home().join("people/owner/vault/link")).unwrap();
        symlink("note.md", self.home().join("people/owner/vault/alias.md")).unwrap();
        let script = self.home().join("people/owner/vault/run.sh");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        self.write("cache/index.db", "derived");
        self.write("models/weights.gguf", "weights");
        self.write("onyx.lock", "1\n");
        self.write("onyx.sock.key", "key");
        let database = rusqlite::Connection::open(self.home().join("onyx.db")).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        database
            .execute_batch("CREATE TABLE rows (text TEXT); INSERT INTO rows VALUES ('kept')")
            .unwrap();
    }

    pub(crate) fn back_up(&self) -> BackupReport {
        self.try_back_up(None, None).unwrap()
    }

    pub(crate) fn try_back_up(
        &self,
        passphrase: Option<&Passphrase>,
        keep: Option<usize>,
    ) -> Result<BackupReport, BackupError> {
        let encryption = if passphrase.is_some() { Encryption::Wanted } else { Encryption::AsItIs };
        back_up(&BackupRequest {
            home: &self.home(),
            server: None,
            to: &self.place(),
            passphrase,
            encryption,
            keep,
            clock: &self.clock,
            stop: &Cancel::new(),
        })
    }

    /// Moves the clock on, so that ids sort and times of change are settled.
    pub(crate) fn later(&self) {
        self.clock.advance(Duration::from_secs(60));
    }

    pub(crate) fn restore(&self, to: &str) -> Result<RestoreReport, BackupError> {
        self.restore_snapshot(to, None, None)
    }

    pub(crate) fn restore_snapshot(
        &self,
        to: &str,
        snapshot: Option<&str>,
        passphrase: Option<&Passphrase>,
    ) -> Result<RestoreReport, BackupError> {
        restore_home(&RestoreRequest {
            source: Source { place: &self.place(), snapshot, passphrase },
            home: &self.other(to),
            when_damaged: WhenDamaged::Stop,
            stop: &Cancel::new(),
        })
    }

    /// Backs up a large file after each of its changes, keeping two snapshots. Both must be
    /// restorable, and at most a quarter of the packs may be waste; `size` reports the size of the
    /// packs.
    pub(crate) fn keep_two_snapshots_of(&self, changes: u8, size: impl Fn() -> u64) {
        for number in 0..changes {
            let bytes: Vec<u8> = (0..400_000_u32)
                .map(|at| (at.wrapping_mul(31 + u32::from(number)) >> 7) as u8)
                .collect();
            self.write("people/owner/vault/changing.bin", bytes);
            self.try_back_up(None, Some(2)).unwrap();
            self.later();
        }
        let listing = list(&self.place(), None).unwrap();
        assert_eq!((listing.snapshots.len(), listing.damaged.len()), (2, 0));
        for snapshot in &listing.snapshots {
            self.restore_snapshot(&snapshot.id, Some(&snapshot.id), None).unwrap();
        }
        assert_eq!(restored(&self.other(&listing.snapshots[1].id)), self.kept());
        let size = size();
        assert!(size < (2_800_000 + 2 * 400_000) * 5 / 4 + 200_000, "{size}");
    }

    /// The content of a backup of the home, except the database.
    pub(crate) fn kept(&self) -> Tree {
        let mut tree = tree(&self.home());
        let is_out = |path: &str| {
            let out =
                ["cache", "models", "onyx.lock", "onyx.sock.key", "onyx.db", "last-backup.json"];
            out.iter().any(|name| path == *name || path.starts_with(&format!("{name}/")))
                || path.starts_with("onyx.db-")
        };
        tree.retain(|path, _| !is_out(path));
        tree
    }
}

/// A clock ahead of the files' own, so that written files are settled.
fn clock() -> ManualClock {
    ManualClock::at(SystemClock::new().wall().saturating_add(Duration::from_secs(3600)))
}

pub(crate) fn turn(text: &str) -> String {
    format!(
        "{{\"id\":\"0193b0c0-0000-7000-8000-00000000000a\",\"ts\":\"2026-11-17T08:00:00.000Z\",\
         \"type\":\"user\",\"author\":\"person:owner\",\"origin\":\"person\",\
         \"content\":\"{text}\"}}\n"
    )
}

/// Everything beneath a folder, without following links.
pub(crate) fn tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    gather(folder, folder, &mut tree);
    tree
}

fn gather(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let mode = metadata.permissions().mode() & 0o777;
        if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap().display().to_string();
            tree.insert(name, (0, format!("link to {target}"), Vec::new()));
        } else if metadata.is_dir() {
            tree.insert(name, (mode, "folder".to_owned(), Vec::new()));
            gather(root, &path, tree);
        } else {
            let modified = metadata.modified().unwrap();
            let modified = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
            let content = fs::read(&path).unwrap_or_default();
            tree.insert(name, (mode, format!("file of {modified}"), content));
        }
    }
}

/// The content of a restored home, except its database and the note of the last backup.
pub(crate) fn restored(folder: &Path) -> Tree {
    let mut tree = tree(folder);
    tree.retain(|path, _| path != "onyx.db" && path != "last-backup.json");
    tree
}

pub(crate) fn rows(database: &Path) -> Vec<String> {
    let database = rusqlite::Connection::open(database).unwrap();
    let mut statement = database.prepare("SELECT text FROM rows").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

pub(crate) fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}
