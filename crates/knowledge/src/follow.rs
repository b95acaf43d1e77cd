//! The followers of the chunk table: they read what changed since they last looked.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use onyx_storage::{
    ChunkId, Contents, Group, OutlinedChunk, SourceChange, SourceId, StorePosition, StoredVector,
};
use tokio::sync::OwnedMutexGuard;

use crate::search::outline::Outline;
use crate::text::TextIndex;
use crate::vectors::VectorSet;
use crate::{Index, KnowledgeError};

#[derive(Default)]
pub(crate) struct Followers {
    pub(crate) text: Option<TextIndex>,
    pub(crate) vectors: Option<FollowedVectors>,
    pub(crate) outline: Option<FollowedOutline>,
    pub(crate) groups: Vec<Group>,
    /// What is written and not committed yet, up to here.
    uncommitted: Option<u64>,
}

pub(crate) struct FollowedVectors {
    epoch: u64,
    seq: u64,
    pub(crate) model: String,
    pub(crate) set: VectorSet,
}

pub(crate) struct FollowedOutline {
    epoch: u64,
    seq: u64,
    pub(crate) outline: Outline,
}

/// Has a follower seen everything?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lag {
    None,
    Some,
}

/// When followers commit what they took up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Somebody is about to search.
    Now,
    /// At the end, or when it is much: every commit makes a part of its own that is merged later.
    Seldom,
}

const CHANGES_AT_ONCE: u32 = 64;
const VECTORS_AT_ONCE: u32 = 1_000;
const OUTLINED_AT_ONCE: u32 = 4_000;
/// Chunks that are much: so many are read again after a crash.
const MUCH: usize = 20_000;
/// A search waits for as much of the following as this; the rest follows behind it.
const PATIENCE: Duration = Duration::from_millis(400);

/// What one changed source means to the followers.
struct Update {
    change: SourceChange,
    contents: Option<Contents>,
    vectors: Vec<StoredVector>,
    outline: Vec<OutlinedChunk>,
}

impl Index {
    pub(crate) async fn follow_to_the_end(&self) -> Result<(), KnowledgeError> {
        loop {
            let followers = self.lock_followers().await;
            let (followers, lag) = self.follow(followers, Commit::Seldom).await?;
            drop(followers);
            match lag {
                Lag::None => return Ok(()),
                Lag::Some => tokio::task::yield_now().await,
            }
        }
    }

    pub(crate) async fn lock_followers(&self) -> OwnedMutexGuard<Followers> {
        std::sync::Arc::clone(&self.inner.followers).lock_owned().await
    }

    /// Brings the followers as far as patience lasts.
    pub(crate) async fn follow(
        &self,
        followers: OwnedMutexGuard<Followers>,
        commit: Commit,
    ) -> Result<(OwnedMutexGuard<Followers>, Lag), KnowledgeError> {
        let began = Instant::now();
        let standing = self.inner.store.chunks.standing().await?;
        let last = standing.last_change;
        if last == 0 {
            // Nothing was ever indexed: nothing need be opened to find it.
            let mut followers = followers;
            *followers = Followers::default();
            return Ok((followers, Lag::None));
        }
        let mut followers = self.open_followers(followers, standing, commit).await?;
        let mut lag = Lag::None;
        while followers.seen() < last {
            let changes =
                self.inner.store.chunks.changes(followers.seen(), CHANGES_AT_ONCE).await?;
            if changes.is_empty() {
                break;
            }
            let updates = self.read_updates(&followers, changes).await?;
            followers = on_a_thread(followers, move |followers| followers.take(&updates)).await?;
            if began.elapsed() > PATIENCE {
                lag = Lag::Some;
                break;
            }
        }
        let due = lag == Lag::None || commit == Commit::Now || followers.holds_much();
        if followers.uncommitted.is_some() && due {
            followers = on_a_thread(followers, Followers::commit).await?;
            followers.groups = self.inner.store.chunks.groups().await?;
        }
        Ok((followers, lag))
    }

    async fn open_followers(
        &self,
        mut followers: OwnedMutexGuard<Followers>,
        StorePosition { epoch, last_change: last, served_vectors }: StorePosition,
        commit: Commit,
    ) -> Result<OwnedMutexGuard<Followers>, KnowledgeError> {
        // Ahead of the table: its last commits were lost with the power.
        let usable = |text: &TextIndex| {
            text.followed.epoch == epoch && text.followed.seq <= last && text.is_there()
        };
        if !followers.text.as_ref().is_some_and(usable) {
            let folder = self.inner.settings.home.join("cache/text");
            followers = on_a_thread(followers, move |followers| {
                followers.text = None;
                followers.uncommitted = None;
                followers.text = Some(TextIndex::open(&folder, epoch, last)?);
                Ok(())
            })
            .await?;
            followers.groups = self.inner.store.chunks.groups().await?;
        }
        // What only searches need is loaded by the first of them, so that a start with much in the
        // index costs no more than one with little.
        let wanted = |is_there: bool| commit == Commit::Now || is_there;
        if followers.outline.as_ref().is_some_and(|outline| outline.epoch != epoch) {
            followers.outline = None;
        }
        if followers.outline.is_none() && wanted(false) {
            followers.outline = Some(self.load_outline(epoch).await?);
        }
        if !wanted(followers.vectors.is_some()) {
            return Ok(followers);
        }
        let model = self.serving(served_vectors).map(|serving| serving.model);
        let known = followers.vectors.as_ref().map(|vectors| (vectors.epoch, &vectors.model));
        if known != model.as_ref().map(|model| (epoch, model)) {
            followers.vectors = match model {
                Some(model) => Some(self.load_vectors(epoch, model).await?),
                None => None,
            };
        }
        Ok(followers)
    }

    async fn load_vectors(
        &self,
        epoch: u64,
        model: String,
    ) -> Result<FollowedVectors, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        // What changes while this reads is followed from before it.
        let seq = chunks.last_change().await?;
        let mut set = VectorSet::default();
        let mut after = ChunkId::default();
        loop {
            let page = chunks.vectors_after(&model, after, VECTORS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = last.chunk;
            page.iter().for_each(|vector| set.add(vector));
        }
        Ok(FollowedVectors { epoch, seq, model, set })
    }

    async fn load_outline(&self, epoch: u64) -> Result<FollowedOutline, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        let seq = chunks.last_change().await?;
        let mut outline = Outline::default();
        let mut after = ChunkId::default();
        loop {
            let page = chunks.outline_after(after, OUTLINED_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = last.chunk;
            page.iter().for_each(|chunk| outline.add(chunk));
        }
        Ok(FollowedOutline { epoch, seq, outline })
    }

    async fn read_updates(
        &self,
        followers: &Followers,
        changes: Vec<SourceChange>,
    ) -> Result<Vec<Update>, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        let of = |wanted: &dyn Fn(&SourceChange) -> bool| -> Vec<SourceId> {
            changes.iter().filter(|change| wanted(change)).map(|change| change.source).collect()
        };
        let texts = of(&|change| followers.wants_text(change));
        let mut contents: HashMap<SourceId, Contents> = HashMap::with_capacity(texts.len());
        for (source, held) in texts.iter().zip(chunks.contents(&texts).await?) {
            contents.extend(held.map(|held| (*source, held)));
        }
        let mut vectors: HashMap<SourceId, Vec<StoredVector>> = HashMap::new();
        if let Some(followed) = &followers.vectors {
            let wanted = of(&|change| followed.wants(change));
            for vector in chunks.vectors_of(&followed.model, &wanted).await? {
                vectors.entry(vector.source).or_default().push(vector);
            }
        }
        let mut outlined: HashMap<SourceId, Vec<OutlinedChunk>> = HashMap::new();
        if let Some(followed) = &followers.outline {
            let wanted = of(&|change| followed.wants(change));
            for chunk in chunks.outline_of(&wanted).await? {
                outlined.entry(chunk.source).or_default().push(chunk);
            }
        }
        let update = |change: SourceChange| Update {
            outline: outlined.remove(&change.source).unwrap_or_default(),
            contents: contents.remove(&change.source),
            vectors: vectors.remove(&change.source).unwrap_or_default(),
            change,
        };
        Ok(changes.into_iter().map(update).collect())
    }

    /// The text index is made anew by the next follow.
    pub(crate) async fn forget_text(&self) -> Result<(), KnowledgeError> {
        let folder = self.inner.settings.home.join("cache/text");
        let followers = self.lock_followers().await;
        let forgotten = on_a_thread(followers, move |followers| {
            followers.text = None;
            followers.uncommitted = None;
            match std::fs::remove_dir_all(folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                Ok(()) | Err(_) => Ok(()),
            }
        });
        forgotten.await.map(drop)
    }

    /// Gives back what is only needed for writing.
    pub(crate) async fn rest(&self) {
        let followers = self.lock_followers().await;
        let rested = on_a_thread(followers, |followers| {
            // What nobody came to commit would go with the writer.
            followers.commit()?;
            followers.text.as_mut().map_or(Ok(()), TextIndex::rest)
        });
        if let Err(error) = rested.await {
            tracing::warn!(%error, "the text index could not be put to rest");
        }
    }
}

impl Followers {
    /// Up to where every follower has seen the changes.
    fn seen(&self) -> u64 {
        let text =
            self.text.as_ref().map_or(0, |text| self.uncommitted.unwrap_or(text.followed.seq));
        let vectors = self.vectors.as_ref().map_or(text, |vectors| vectors.seq.min(text));
        self.outline.as_ref().map_or(vectors, |outline| outline.seq.min(vectors))
    }

    fn holds_much(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.uncommitted >= MUCH)
    }

    fn text_seen(&self) -> u64 {
        self.text.as_ref().map_or(0, |text| self.uncommitted.unwrap_or(text.followed.seq))
    }

    fn wants_text(&self, change: &SourceChange) -> bool {
        change.text_seq > self.text_seen()
    }

    fn take(&mut self, updates: &[Update]) -> Result<(), KnowledgeError> {
        for update in updates {
            let change = &update.change;
            if self.wants_text(change)
                && let Some(text) = &mut self.text
            {
                text.put(change.source, update.contents.as_ref())?;
            }
            if let Some(vectors) = self.vectors.as_mut().filter(|vectors| vectors.wants(change)) {
                vectors.replace(change.source, &update.vectors);
            }
            if let Some(outline) = self.outline.as_mut().filter(|outline| outline.wants(change)) {
                outline.outline.remove(change.source);
                update.outline.iter().for_each(|chunk| outline.outline.add(chunk));
            }
        }
        // Only now: within one batch a source stands once.
        if let Some(last) = updates.last() {
            self.uncommitted = Some(self.text_seen().max(last.change.seq));
            if let Some(vectors) = &mut self.vectors {
                vectors.seq = vectors.seq.max(last.change.seq);
            }
            if let Some(outline) = &mut self.outline {
                outline.seq = outline.seq.max(last.change.seq);
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), KnowledgeError> {
        if let (Some(text), Some(seq)) = (&mut self.text, self.uncommitted) {
            text.commit(seq)?;
        }
        self.uncommitted = None;
        Ok(())
    }
}

impl FollowedOutline {
    /// Vectors that come later change nothing in it.
    fn wants(&self, change: &SourceChange) -> bool {
        change.text_seq > self.seq
    }
}

impl FollowedVectors {
    fn wants(&self, change: &SourceChange) -> bool {
        change.seq > self.seq
    }

    fn replace(&mut self, source: SourceId, vectors: &[StoredVector]) {
        self.set.remove(source);
        vectors.iter().for_each(|vector| self.set.add(vector));
    }
}

/// Work that takes long, away from the async threads, with the lock held throughout. An index that
/// failed is opened again at the next look.
async fn on_a_thread(
    mut followers: OwnedMutexGuard<Followers>,
    work: impl FnOnce(&mut Followers) -> Result<(), KnowledgeError> + Send + 'static,
) -> Result<OwnedMutexGuard<Followers>, KnowledgeError> {
    let task = tokio::task::spawn_blocking(move || {
        let worked = work(&mut followers);
        if worked.is_err() {
            followers.text = None;
            followers.uncommitted = None;
        }
        worked.map(|()| followers)
    });
    task.await.map_err(|error| KnowledgeError::Text(error.to_string()))?
}
