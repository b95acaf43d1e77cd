//! Turns, keys and homes for the tests.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{AuditEntry, FileOps, Home, Lease, Store, SystemFiles};
use onyx_test_support::ManualClock;
use onyx_types::{
    Actor, Author, IdGenerator, LaneId, Origin, RunId, SessionKey, Timestamp, Turn, TurnBody,
    UserContent,
};
use serde_json::{Map, json};

pub(crate) const TTL: Duration = Duration::from_secs(30);

/// Makes ids and turns that are the same in every run of a test.
pub(crate) struct Maker {
    mint: IdGenerator,
    now: Timestamp,
}

impl Maker {
    pub(crate) fn new() -> Self {
        Self { mint: IdGenerator::new(7), now: Timestamp::from_millis(1_767_225_600_000) }
    }

    pub(crate) fn tick(&mut self) -> Timestamp {
        self.now = self.now.saturating_add(Duration::from_millis(10));
        self.now
    }

    pub(crate) fn key(&mut self) -> SessionKey {
        let session = self.mint.session(self.now);
        SessionKey { person: "anna".parse().unwrap(), agent: "main".parse().unwrap(), session }
    }

    pub(crate) fn run(&mut self) -> RunId {
        self.mint.run(self.now)
    }

    pub(crate) fn user(&mut self, text: &str) -> Turn {
        self.turn(TurnBody::User(UserContent::Text(text.to_owned()).into()))
    }

    pub(crate) fn users<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Vec<Turn> {
        texts.into_iter().map(|text| self.user(text)).collect()
    }

    pub(crate) fn turn(&mut self, body: TurnBody) -> Turn {
        let ts = self.tick();
        Turn {
            id: self.mint.turn(ts),
            ts,
            run: None,
            lane: LaneId(0),
            author: Author::Person("anna".parse().unwrap()),
            origin: Origin::Person,
            body,
            extra: Map::new(),
        }
    }

    /// Makes a turn with a type and fields that this version does not know.
    pub(crate) fn future_turn(&mut self) -> Turn {
        let known = self.user("hello");
        let mut value = serde_json::to_value(&known).unwrap();
        value["type"] = json!("hologram");
        value["beams"] = json!([1, {"deep": true}]);
        serde_json::from_value(value).unwrap()
    }
}

/// Files that are never synced, for tests that try thousands of logs and lose no power.
#[derive(Debug)]
struct Unsynced;

impl FileOps for Unsynced {
    fn sync_data(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// An embedded store in a folder of its own.
pub(crate) struct TempStore {
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) folder: tempfile::TempDir,
}

impl TempStore {
    pub(crate) async fn new() -> Self {
        Self::with_ops(Arc::new(SystemFiles)).await
    }

    pub(crate) async fn unsynced() -> Self {
        Self::with_ops(Arc::new(Unsynced)).await
    }

    pub(crate) async fn with_ops(ops: Arc<dyn FileOps>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new());
        let store = open(&folder.path().join("home"), ops, Arc::clone(&clock)).await;
        Self { store, clock, folder }
    }

    /// Opens the store again as after the end of the process: everything in memory is gone.
    pub(crate) async fn reopen(self) -> Self {
        self.reopen_after(|| {}).await
    }

    /// Opens the store again, and calls a function while it is closed.
    pub(crate) async fn reopen_after(self, meanwhile: impl FnOnce()) -> Self {
        let Self { store, clock, folder } = self;
        drop(store);
        meanwhile();
        let store =
            open(&folder.path().join("home"), Arc::new(SystemFiles), Arc::clone(&clock)).await;
        Self { store, clock, folder }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn log_path(&self, key: &SessionKey) -> PathBuf {
        log_path(&self.home(), key)
    }

    pub(crate) async fn lease(&self, key: &SessionKey) -> Lease {
        self.store.leases.acquire(key, TTL).await.unwrap()
    }
}

pub(crate) fn log_path(home: &Path, key: &SessionKey) -> PathBuf {
    home.join(format!("people/{}/sessions/{}/{}.jsonl", key.person, key.agent, key.session))
}

async fn open(home: &Path, ops: Arc<dyn FileOps>, clock: Arc<ManualClock>) -> Store {
    let home = Home::open_with(home, ops).unwrap();
    Store::open_embedded(home, clock).await.unwrap()
}

pub(crate) fn audit_entry(make: &mut Maker, person: &str) -> AuditEntry {
    AuditEntry {
        ts: make.tick(),
        person: person.parse().unwrap(),
        actor: Actor::Agent("main".parse().unwrap()),
        agent: None,
        session: None,
        run: None,
        tool: None,
        effect: None,
        decision: None,
        diff_summary: "+1 -0".into(),
        result: "ok".into(),
    }
}
