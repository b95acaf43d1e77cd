//! Channels of a space. `channels/<channel>.json` says what a channel is for, which agents work in
//! it and which threads it has. A thread is a session of the same id.

use std::sync::Arc;

use onyx_types::{AgentId, ChannelId, Hash, PersonId, SessionId, SpaceId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Area, Change, Expect, Files, History, Object, ObjectKey, Objects, StoreError};

const LARGEST: u64 = 4 * 1024 * 1024;
const MOST_LISTED: usize = 1_000;
/// How often a change is tried when others change the file at the same time.
const TRIES: usize = 5;

#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    pub id: ChannelId,
    pub space: SpaceId,
    pub card: ChannelCard,
    /// The hash of the channel's file, which is its ETag.
    pub version: Hash,
}

/// The content of a channel's file. Keys of newer versions and other programs are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelCard {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// The coworkers in the order in which they were assigned.
    #[serde(default)]
    pub coworkers: Vec<Coworker>,
    /// The threads, oldest first.
    #[serde(default)]
    pub threads: Vec<Thread>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coworker {
    pub agent: AgentId,
    #[serde(default)]
    pub primary: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub id: ThreadId,
    pub title: String,
    pub created: Timestamp,
}

impl Thread {
    /// The session of the thread; `None` for a thread that a person wrote by hand.
    pub fn session(&self) -> Option<SessionId> {
        self.id.as_str().parse().ok()
    }
}

impl ChannelCard {
    pub fn new(name: String, purpose: String, created: Timestamp) -> Self {
        Self { name, purpose, created: Some(created), ..Self::default() }
    }

    /// The agent that answers when none is named: the coworker marked as default, else the first in
    /// the list.
    pub fn primary(&self) -> Option<&AgentId> {
        let marked = self.coworkers.iter().find(|coworker| coworker.primary);
        marked.or(self.coworkers.first()).map(|coworker| &coworker.agent)
    }

    pub fn thread(&self, id: &ThreadId) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.id == *id)
    }
}

/// The channels of one person.
pub struct Channels {
    person: Arc<dyn Objects>,
    history: History,
}

impl Channels {
    pub fn new(files: &dyn Files, person: &PersonId) -> Result<Self, StoreError> {
        let area = Area::Person(person.clone());
        Ok(Self { person: files.objects(&area)?, history: files.history(person)? })
    }

    /// Lists the channels by space and id. A channel that cannot be read is logged and left out, so
    /// that the others can still be seen.
    pub async fn list(&self, space: Option<&SpaceId>) -> Result<Vec<Channel>, StoreError> {
        let spaces = match space {
            Some(space) => vec![space.clone()],
            None => folders(&*self.person, "spaces").await?,
        };
        let mut channels = Vec::new();
        for space in spaces {
            for id in channel_ids(&*self.person, &space).await? {
                match self.read(&space, &id).await {
                    Ok(channel) => channels.extend(channel),
                    Err(error) => tracing::warn!(%space, %id, %error, "a channel cannot be read"),
                }
            }
        }
        Ok(channels)
    }

    pub async fn get(&self, id: &ChannelId) -> Result<Option<Channel>, StoreError> {
        for space in folders(&*self.person, "spaces").await? {
            if let Some(channel) = self.read(&space, id).await? {
                return Ok(Some(channel));
            }
        }
        Ok(None)
    }

    /// Finds the channel that lists a thread.
    pub async fn with_thread(&self, thread: &ThreadId) -> Result<Option<Channel>, StoreError> {
        let mut all = self.list(None).await?.into_iter();
        Ok(all.find(|channel| channel.card.thread(thread).is_some()))
    }

    /// Creates a channel. `Conflict` when the space has one of that id.
    pub async fn create(
        &self,
        space: &SpaceId,
        id: &ChannelId,
        card: &ChannelCard,
        by: Change,
    ) -> Result<Channel, StoreError> {
        self.write(space, id, None, card, by).await?;
        self.read(space, id).await?.ok_or(StoreError::NotFound)
    }

    /// Reads the channel, changes it and writes it; starts again if the file was changed in
    /// between. `NotFound` when there is no such channel, `Conflict` when it is not the version
    /// that the caller saw.
    pub async fn change(
        &self,
        id: &ChannelId,
        seen: Option<Hash>,
        by: Change,
        change: impl Fn(&mut ChannelCard) + Send,
    ) -> Result<Channel, StoreError> {
        for _ in 0..TRIES {
            let Channel { space, mut card, version, .. } =
                self.get(id).await?.ok_or(StoreError::NotFound)?;
            if seen.is_some_and(|seen| seen != version) {
                return Err(StoreError::Conflict);
            }
            change(&mut card);
            match self.write(&space, id, Some(version), &card, by.clone()).await {
                Err(StoreError::Conflict) if seen.is_none() => {}
                Err(error) => return Err(error),
                Ok(()) => return self.read(&space, id).await?.ok_or(StoreError::NotFound),
            }
        }
        Err(StoreError::Conflict)
    }

    /// Removes the channel. Its content is kept in the history first.
    pub async fn remove(&self, channel: &Channel, by: Change) -> Result<(), StoreError> {
        let key = key(&channel.space, &channel.id)?;
        let object = self.object(&key).await?.ok_or(StoreError::NotFound)?;
        self.history.keep(&key, Some(&object), None, by).await?;
        self.person.delete(&key, Expect::Is(object.hash)).await?;
        self.sweep(&format!("spaces/{}/channels/{}", channel.space, channel.id)).await
    }

    /// Removes the folder of a thread if nothing is left in it.
    pub async fn sweep_thread(&self, space: &SpaceId, thread: &ThreadId) -> Result<(), StoreError> {
        self.sweep(&format!("spaces/{space}/threads/{thread}")).await
    }

    async fn sweep(&self, folder: &str) -> Result<(), StoreError> {
        match self.person.remove_empty(&folder.parse()?).await {
            Err(StoreError::NotFound) => Ok(()),
            swept => swept,
        }
    }

    async fn write(
        &self,
        space: &SpaceId,
        id: &ChannelId,
        seen: Option<Hash>,
        card: &ChannelCard,
        by: Change,
    ) -> Result<(), StoreError> {
        let key = key(space, id)?;
        let before = self.object(&key).await?;
        if before.as_ref().map(|object| object.hash) != seen {
            return Err(StoreError::Conflict);
        }
        let mut bytes = serde_json::to_vec_pretty(card)
            .map_err(|error| StoreError::Failed(format!("{key}: {error}")))?;
        bytes.push(b'\n');
        self.history.keep(&key, before.as_ref(), Some(&bytes), by).await?;
        self.person.put(&key, &bytes, seen.map_or(Expect::Absent, Expect::Is)).await.map(drop)
    }

    async fn read(&self, space: &SpaceId, id: &ChannelId) -> Result<Option<Channel>, StoreError> {
        let Some(object) = self.object(&key(space, id)?).await? else { return Ok(None) };
        let mut card = card_of(&object, id)?;
        if card.name.is_empty() {
            card.name = id.to_string();
        }
        Ok(Some(Channel { id: id.clone(), space: space.clone(), card, version: object.hash }))
    }

    async fn object(&self, key: &ObjectKey) -> Result<Option<Object>, StoreError> {
        match self.person.get(key, LARGEST).await {
            Err(StoreError::NotFound) => Ok(None),
            found => found,
        }
    }
}

/// Finds the space whose channels list a thread.
pub async fn space_of_thread(
    person: &dyn Objects,
    thread: &str,
) -> Result<Option<SpaceId>, StoreError> {
    for space in folders::<SpaceId>(person, "spaces").await? {
        for id in channel_ids(person, &space).await? {
            let Some(object) = person.get(&key(&space, &id)?, LARGEST).await? else { continue };
            // A channel that cannot be read must not hide the others.
            let Ok(card) = card_of(&object, &id) else { continue };
            if card.threads.iter().any(|known| known.id.as_str() == thread) {
                return Ok(Some(space));
            }
        }
    }
    Ok(None)
}

fn card_of(object: &Object, id: &ChannelId) -> Result<ChannelCard, StoreError> {
    serde_json::from_slice(&object.bytes)
        .map_err(|error| StoreError::Damaged(format!("{id}.json: {error}")))
}

fn key(space: &SpaceId, id: &ChannelId) -> Result<ObjectKey, StoreError> {
    Ok(format!("spaces/{space}/channels/{id}.json").parse()?)
}

async fn channel_ids(person: &dyn Objects, space: &SpaceId) -> Result<Vec<ChannelId>, StoreError> {
    let folder = format!("spaces/{space}/channels").parse()?;
    let files = match person.list(Some(&folder), MOST_LISTED).await {
        Err(StoreError::NotFound) => return Ok(Vec::new()),
        files => files?,
    };
    let names = files
        .iter()
        .filter(|file| !file.is_folder)
        .filter_map(|file| file.key.parts().last()?.strip_suffix(".json")?.parse().ok());
    Ok(names.collect())
}

/// Lists the folders whose names are ids.
async fn folders<Id: std::str::FromStr>(
    person: &dyn Objects,
    path: &str,
) -> Result<Vec<Id>, StoreError> {
    let children = match person.list(Some(&path.parse()?), MOST_LISTED).await {
        Err(StoreError::NotFound) => return Ok(Vec::new()),
        children => children?,
    };
    let ids = children.iter().filter(|child| child.is_folder);
    Ok(ids.filter_map(|child| child.key.parts().last()?.parse().ok()).collect())
}
