//! What a session's log does not say (its name, its place among forks, who answers). It is kept
//! beside the log as `<session>.json`, because losing the database must not lose what a person
//! chose.

use onyx_types::{AgentId, LaneOrder, SessionId, SessionKey, SessionOrigin, Timestamp, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Area, Expect, Files, ObjectKey, SessionMeta, SessionStatus, StoreError, TitleSource};

/// The largest details file that is read. A file that Onyx wrote is far smaller.
const LONGEST: u64 = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionDetails {
    #[serde(default)]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) titled_by: TitleSource,
    pub(crate) status: SessionStatus,
    #[serde(default)]
    pub(crate) origin: SessionOrigin,
    /// The agents that answer; if the list is empty, the agent in whose folder the log lies.
    #[serde(default)]
    pub(crate) agents: Vec<AgentId>,
    #[serde(default)]
    pub(crate) mode: LaneOrder,
    pub(crate) root: SessionId,
    #[serde(default)]
    pub(crate) fork_turn: Option<TurnId>,
    /// When the session was created. The log cannot tell, because a fork begins with turns that are
    /// older than itself.
    pub(crate) created_at: Timestamp,
    /// Fields that a newer version of Onyx wrote. They are preserved as they are.
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

impl SessionDetails {
    fn of(meta: &SessionMeta) -> Self {
        Self {
            title: meta.title.clone(),
            titled_by: meta.titled_by,
            status: meta.status,
            origin: meta.origin,
            agents: meta.agents.clone(),
            mode: meta.mode,
            root: meta.root,
            fork_turn: meta.fork_turn,
            created_at: meta.created_at,
            more: Map::new(),
        }
    }
}

/// Writes the parts of the row that the log does not contain into the file beside the log. Two
/// writers of the same session must not call this at once: callers take turns.
pub async fn keep_details(
    files: &dyn Files,
    key: &SessionKey,
    meta: &SessionMeta,
) -> Result<(), StoreError> {
    let more = match read_details(files, key).await {
        Ok(facts) => facts.map(|facts| facts.more).unwrap_or_default(),
        // A file that cannot be read is replaced, because the row is known to be right.
        Err(StoreError::Damaged(_)) => Map::new(),
        Err(error) => return Err(error),
    };
    let facts = SessionDetails { more, ..SessionDetails::of(meta) };
    let mut bytes = serde_json::to_vec_pretty(&facts)
        .map_err(|error| StoreError::Failed(format!("a session's settings: {error}")))?;
    bytes.push(b'\n');
    objects(files, key)?.put(&place(key)?, &bytes, Expect::Anything).await?;
    Ok(())
}

/// Reads the details of a session. `None`: there is no file, because the log says everything.
/// `Damaged`: the file cannot be read.
pub(crate) async fn read_details(
    files: &dyn Files,
    key: &SessionKey,
) -> Result<Option<SessionDetails>, StoreError> {
    let found = match objects(files, key)?.get(&place(key)?, LONGEST).await {
        Ok(found) => found,
        Err(StoreError::NotFound) => None,
        Err(StoreError::Refused(why)) => return Err(StoreError::Damaged(why)),
        Err(error) => return Err(error),
    };
    let Some(object) = found else { return Ok(None) };
    serde_json::from_slice(&object.bytes)
        .map(Some)
        .map_err(|error| StoreError::Damaged(format!("{}.json: {error}", key.session)))
}

/// Removes the details of a session. Removing a file that does not exist is no error.
pub async fn forget_details(files: &dyn Files, key: &SessionKey) -> Result<(), StoreError> {
    match objects(files, key)?.delete(&place(key)?, Expect::Anything).await {
        Ok(()) | Err(StoreError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

fn objects(
    files: &dyn Files,
    key: &SessionKey,
) -> Result<std::sync::Arc<dyn crate::Objects>, StoreError> {
    files.objects(&Area::Person(key.person.clone()))
}

fn place(key: &SessionKey) -> Result<ObjectKey, StoreError> {
    format!("sessions/{}/{}.json", key.agent, key.session)
        .parse()
        .map_err(|error: crate::ObjectKeyError| StoreError::Failed(error.to_string()))
}
