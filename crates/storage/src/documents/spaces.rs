//! Spaces. A space is a folder of its owner with a `space.json` that holds its name. A folder that
//! a person created by hand is a space too.

use std::sync::Arc;

use onyx_types::{AgentId, Hash, PersonId, SessionId, SpaceId, Tier, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Area, Change, Expect, Files, History, Object, ObjectKey, Objects, StoreError};

const LARGEST: u64 = 64 * 1024;
const MOST_SPACES: usize = 1_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    pub id: SpaceId,
    pub name: String,
    pub default_agent: Option<AgentId>,
    /// The conversation with the default agent about this space.
    pub companion: Option<SessionId>,
    /// Whether its conversations may use only models of this machine.
    pub local_only: bool,
    pub created: Option<Timestamp>,
    /// The highest tier that agents have in the space, whatever their tier elsewhere.
    pub tier: Tier,
    /// The hash of `space.json`, which is its ETag; `None` if the folder has no such file.
    pub version: Option<Hash>,
    /// The reason why `space.json` cannot be read. The space then has its folder's name.
    pub damage: Option<String>,
}

/// Changes to a space; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceChange {
    pub name: Option<String>,
    /// The agent that answers by default; `Some(None)`: no particular one.
    pub default_agent: Option<Option<AgentId>>,
    pub companion: Option<SessionId>,
    pub local_only: Option<bool>,
    pub tier: Option<Tier>,
}

/// The content of `space.json`. Keys of newer versions and other programs are preserved.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Card {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    companion: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    local_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tier: Option<Tier>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// The spaces of one person.
pub struct Spaces {
    person: Arc<dyn Objects>,
    history: History,
}

impl Spaces {
    pub fn new(files: &dyn Files, person: &PersonId) -> Result<Self, StoreError> {
        let area = Area::Person(person.clone());
        Ok(Self { person: files.objects(&area)?, history: files.history(person)? })
    }

    /// Lists the spaces, ordered by name.
    pub async fn list(&self) -> Result<Vec<Space>, StoreError> {
        let root: ObjectKey = "spaces".parse()?;
        let folders = match self.person.list(Some(&root), MOST_SPACES).await {
            Err(StoreError::NotFound) => return Ok(Vec::new()),
            folders => folders?,
        };
        let mut spaces = Vec::new();
        for folder in folders.iter().filter(|folder| folder.is_folder) {
            // Folders whose names are not ids are not spaces, so they are left out.
            let Some(id) = folder.key.parts().last().and_then(|name| name.parse().ok()) else {
                continue;
            };
            spaces.extend(self.get(&id).await?);
        }
        spaces.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.id.cmp(&b.id)));
        Ok(spaces)
    }

    /// Reads a space. A space whose card cannot be read is returned too, because its content is not
    /// affected.
    pub async fn get(&self, id: &SpaceId) -> Result<Option<Space>, StoreError> {
        let (object, unreadable) = match self.object(id).await {
            Ok(object) => (object, None),
            // The card is too large, or is not a plain file.
            Err(error @ StoreError::Refused(_)) => (None, Some(error.to_string())),
            Err(error) => return Err(error),
        };
        if object.is_none() && !self.has_folder(id).await? {
            return Ok(None);
        }
        let (card, damage) = match card_of(object.as_ref()) {
            Ok(card) => (card, unreadable),
            Err(error) => (Card::default(), Some(error.to_string())),
        };
        Ok(Some(Space {
            id: id.clone(),
            name: card.name.unwrap_or_else(|| id.to_string()),
            default_agent: card.default_agent,
            companion: card.companion,
            // A card that cannot be read may have restricted the space to local models, so the
            // space counts as restricted.
            local_only: card.local_only.unwrap_or(damage.is_some()),
            created: card.created,
            // The most cautious tier is used when none is set or the setting cannot be read.
            tier: card.tier.unwrap_or(Tier::Suggest),
            version: object.map(|object| object.hash),
            damage,
        }))
    }

    /// Creates or changes a space. `Conflict` when its card is not the version that the caller saw;
    /// `Damaged` when the card cannot be read, because its content must not be overwritten.
    pub async fn put(
        &self,
        id: &SpaceId,
        change: &SpaceChange,
        seen: Option<Hash>,
        by: Change,
    ) -> Result<Space, StoreError> {
        let object = self.object(id).await?;
        if object.as_ref().map(|object| object.hash) != seen {
            return Err(StoreError::Conflict);
        }
        let mut card = card_of(object.as_ref())?;
        card.created = card.created.or(Some(by.ts));
        card.name = change.name.clone().or(card.name);
        card.default_agent = change.default_agent.clone().unwrap_or(card.default_agent);
        card.companion = change.companion.or(card.companion);
        card.local_only = change.local_only.or(card.local_only);
        card.tier = change.tier.or(card.tier);
        let mut bytes = serde_json::to_vec_pretty(&card)
            .map_err(|error| StoreError::Failed(format!("space.json: {error}")))?;
        bytes.push(b'\n');
        let key = card_key(id)?;
        self.history.keep(&key, object.as_ref(), Some(&bytes), by).await?;
        self.person.put(&key, &bytes, seen.map_or(Expect::Absent, Expect::Is)).await?;
        self.get(id).await?.ok_or(StoreError::NotFound)
    }

    /// Removes the space with everything in it; all contents are kept in the history. The card is
    /// removed last, so if this is cut off, the space still exists and can be removed again.
    pub async fn remove(&self, id: &SpaceId, by: Change) -> Result<(), StoreError> {
        let folder: ObjectKey = format!("spaces/{id}").parse()?;
        let (mut files, mut folders) = (Vec::new(), vec![folder.clone()]);
        while let Some(folder) = folders.pop() {
            for child in self.person.list(Some(&folder), usize::MAX).await? {
                if child.is_folder { &mut folders } else { &mut files }.push(child.key);
            }
        }
        let card = card_key(id)?;
        files.sort_by_key(|file| *file == card);
        for file in files {
            let Some(object) = self.person.get(&file, u64::MAX).await? else { continue };
            let origin = by.origin.max(self.history.origin(&file, &object).await?);
            let by = Change { origin, ..by.clone() };
            self.history.keep(&file, Some(&object), None, by).await?;
            match self.person.delete(&file, Expect::Is(object.hash)).await {
                Ok(()) | Err(StoreError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        self.person.remove_empty(&folder).await
    }

    async fn object(&self, id: &SpaceId) -> Result<Option<Object>, StoreError> {
        match self.person.get(&card_key(id)?, LARGEST).await {
            Err(StoreError::NotFound) => Ok(None),
            found => found,
        }
    }

    async fn has_folder(&self, id: &SpaceId) -> Result<bool, StoreError> {
        match self.person.list(Some(&format!("spaces/{id}").parse()?), 1).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn card_of(object: Option<&Object>) -> Result<Card, StoreError> {
    let Some(object) = object else { return Ok(Card::default()) };
    serde_json::from_slice(&object.bytes)
        .map_err(|error| StoreError::Damaged(format!("space.json: {error}")))
}

fn card_key(id: &SpaceId) -> Result<ObjectKey, StoreError> {
    Ok(format!("spaces/{id}/space.json").parse()?)
}
