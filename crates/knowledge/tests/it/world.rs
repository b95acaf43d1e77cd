//! A home on a real disk with its index, and an embedder that knows a few words.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_knowledge::{Chunking, Hit, Index, IndexSettings, Search, SearchResults};
use onyx_storage::{Home, Store};
use onyx_test_support::delays;
use onyx_types::{
    AgentId, Clock, Embedder, EmbedderIdentity, ModelFailure, ModelFailureClass, PersonId, Scope,
    ScopeSet, SystemClock, Zone,
};

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) index: Index,
    clock: Arc<dyn Clock>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap()).await
    }

    pub(crate) async fn at(folder: tempfile::TempDir) -> Self {
        Self::cut(folder, Chunking::default()).await
    }

    /// A world whose people live in this time zone.
    pub(crate) async fn in_zone(name: &str) -> Self {
        Self::with_clock(Arc::new(SystemClock::in_zone(Zone::named(name).unwrap()))).await
    }

    /// A world with this clock, which a test may move.
    pub(crate) async fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self::cut_with(tempfile::tempdir().unwrap(), Chunking::default(), clock).await
    }

    async fn cut(folder: tempfile::TempDir, chunking: Chunking) -> Self {
        Self::cut_with(folder, chunking, Arc::new(SystemClock::new())).await
    }

    async fn cut_with(
        folder: tempfile::TempDir,
        chunking: Chunking,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let home = Home::open(folder.path()).unwrap();
        let mut store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
        let settings = IndexSettings { home: folder.path().to_owned(), chunking };
        let index = Index::new(store.clone(), Arc::clone(&clock), settings);
        index.set_pauses(delays());
        store.files = index.observe(Arc::clone(&store.files));
        Self { folder, store, index, clock }
    }

    /// Opens the same files again, as another process would.
    pub(crate) async fn reopen(self) -> Self {
        self.reopen_cut(Chunking::default()).await
    }

    /// Opens the same files again with another chunking.
    pub(crate) async fn reopen_cut(self, chunking: Chunking) -> Self {
        let Self { folder, store, index, .. } = self;
        drop((store, index));
        // The lock of the home is released with the last of its tasks.
        tokio::task::yield_now().await;
        Self::cut(folder, chunking).await
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file as another program would.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.path(path), text.as_ref());
    }

    pub(crate) async fn find(&self, text: &str) -> Vec<Hit> {
        self.ask(text, &chat("anna")).await.hits
    }

    pub(crate) async fn ask(&self, text: &str, scopes: &ScopeSet) -> SearchResults {
        let search =
            Search { text: text.into(), scopes: scopes.clone(), kinds: Vec::new(), limit: 10 };
        self.index.search(&search).await.unwrap()
    }

    pub(crate) async fn paths(&self, text: &str) -> Vec<String> {
        self.find(text).await.iter().map(Hit::path).collect()
    }
}

pub(crate) fn write(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The scopes that a chat of a person with the agent `main` may see.
pub(crate) fn chat(person: &str) -> ScopeSet {
    let main: AgentId = "main".parse().unwrap();
    let person: PersonId = person.parse().unwrap();
    ScopeSet::new(person, vec![Scope::Person, Scope::Agent(main), Scope::Shared])
}

/// An embedder that knows which of a few words mean the same; every other word has a direction of
/// its own.
#[derive(Default)]
pub(crate) struct Meaning {
    pub(crate) down: AtomicBool,
    pub(crate) calls: AtomicUsize,
}

const DIMS: usize = 96;
const ALIKE: &[&[&str]] = &[
    &["car", "automobile", "vehicle", "auto"],
    &["doctor", "physician", "surgeon", "arzt"],
    &["happy", "glad", "cheerful"],
];

impl Embedder for Meaning {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity { provider: "test".into(), model: "meaning".into(), dims: DIMS }
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        self.calls.fetch_add(texts.len(), Ordering::Relaxed);
        let down = self.down.load(Ordering::Relaxed);
        async move {
            if down {
                Err(ModelFailure::new(ModelFailureClass::Unavailable, "the embedder is away"))
            } else {
                Ok(texts.iter().map(|text| vector(text)).collect())
            }
        }
        .boxed()
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMS];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        let known = ALIKE.iter().position(|words| words.contains(&word));
        let place = known.unwrap_or_else(|| {
            let sum = word.bytes().fold(7_usize, |sum, byte| sum * 31 % 9_973 + usize::from(byte));
            ALIKE.len() + sum % (DIMS - ALIKE.len())
        });
        vector[place] += if known.is_some() { 3.0 } else { 0.5 };
    }
    vector
}
