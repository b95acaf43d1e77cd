//! Artifacts: outputs of tools that were too long for a model, kept whole for a while.
//!
//! The toolbox stores them here; the tool `read_artifact` pages through them and searches in them,
//! and surfaces show them. The name of an artifact carries the origin of its content, so that
//! reading it counts like reading the original. Nothing here decides who may read: each person has
//! artifacts of their own, and every key begins with the person's id.

mod look;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::{Expect, Ledger, ObjectKey, ObjectMeta, Objects, StoreError};
use onyx_types::{
    Artifact, ErrorCode, Fault, Hash, Origin, PersonId, RunId, SessionId, SessionKey, Timestamp,
};
use tokio::sync::broadcast;

pub(crate) use look::{found_in, page_at};

/// How long artifacts are kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most bytes of an artifact: more than any tool gives.
const LARGEST: u64 = 64 * 1024 * 1024;
/// A listener that falls further behind is told that it missed people.
const MOST_UNHEARD: usize = 1_000;
/// The most entries of one folder that are looked at when old artifacts are removed.
const MOST_ENTRIES: usize = 10_000;

/// Whole outputs, under `cache/artifacts`. Cheap to clone.
#[derive(Clone)]
pub struct Artifacts {
    objects: Arc<dyn Objects>,
    /// The people who have artifacts.
    people: Arc<Mutex<BTreeSet<PersonId>>>,
    /// The people whose first artifact this process stored.
    first: broadcast::Sender<PersonId>,
}

/// An output as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOutput {
    pub text: String,
    pub origin: Origin,
    pub kept_at: Timestamp,
}

/// Whether the person had artifacts before, as far as this process knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierArtifacts {
    None,
    Some,
}

impl Artifacts {
    pub fn new(objects: Arc<dyn Objects>) -> Self {
        Self { objects, people: Arc::default(), first: broadcast::Sender::new(MOST_UNHEARD) }
    }

    /// Finds out who has artifacts; called before the first run, and where artifacts of other
    /// gateways may have been missed. Returns whether any of these people had none before.
    pub async fn recall(&self) -> Result<EarlierArtifacts, StoreError> {
        let folders = self.objects.list(None, MOST_ENTRIES).await?;
        let mut before = EarlierArtifacts::Some;
        for folder in folders {
            let Ok(person) = folder.key.as_str().parse::<PersonId>() else { continue };
            if self.are_now_there_for(&person) == EarlierArtifacts::None {
                before = EarlierArtifacts::None;
            }
        }
        Ok(before)
    }

    /// Notes that this person has artifacts, perhaps through another gateway.
    pub fn are_now_there_for(&self, person: &PersonId) -> EarlierArtifacts {
        if self.people().insert(person.clone()) {
            EarlierArtifacts::None
        } else {
            EarlierArtifacts::Some
        }
    }

    /// Subscribes to the people whose first artifact is stored through this process from now on.
    pub fn first_ones(&self) -> broadcast::Receiver<PersonId> {
        self.first.subscribe()
    }

    pub(crate) fn are_there_for(&self, person: &PersonId) -> bool {
        self.people().contains(person)
    }

    pub(crate) async fn keep(
        &self,
        key: &SessionKey,
        run: RunId,
        text: &str,
        origin: Origin,
    ) -> Result<(Artifact, EarlierArtifacts), StoreError> {
        let hash = Hash::of(text.as_bytes()).to_string();
        let (person, session, name) = (&key.person, key.session, &hash[..16]);
        let path = format!("{person}/{session}/{run}/{name}-{}.txt", origin.as_str());
        let path: ObjectKey = path.parse()?;
        self.objects.put(&path, text.as_bytes(), Expect::Anything).await?;
        let before = self.are_now_there_for(person);
        if before == EarlierArtifacts::None {
            // Sending fails only when no other gateway is told.
            let _ = self.first.send(person.clone());
        }
        Ok((Artifact { key: path.to_string(), bytes: text.len() as u64 }, before))
    }

    /// Reads an artifact of this person.
    pub async fn read(&self, person: &PersonId, key: &str) -> Result<KeptOutput, Fault> {
        let missing = || {
            let days = KEPT.as_secs() / (24 * 60 * 60);
            let message = format!("There is no artifact {key}.");
            Fault::new(ErrorCode::NotFound, message)
                .with_hint(format!("Artifacts are kept for {days} days."))
        };
        let path: Result<ObjectKey, _> = key.parse();
        let path = path.map_err(|_| missing())?;
        if path.parts().next() != Some(person.as_str()) {
            return Err(missing());
        }
        let origin = origin_of(&path).ok_or_else(missing)?;
        let object = self.objects.get(&path, LARGEST).await?.ok_or_else(missing)?;
        let text = String::from_utf8_lossy(&object.bytes).into_owned();
        Ok(KeptOutput { text, origin, kept_at: object.modified })
    }

    /// Deletes artifacts that are past their time, and those of sessions that no longer exist.
    /// Returns how many it deleted.
    pub async fn expire(&self, now: Timestamp, ledger: &dyn Ledger) -> Result<usize, Fault> {
        let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let oldest = Timestamp::from_millis(now.as_millis() - kept);
        let mut removed = 0;
        for folder in self.objects.list(None, MOST_ENTRIES).await? {
            let Ok(person) = folder.key.as_str().parse::<PersonId>() else { continue };
            for session in self.objects.list(Some(&folder.key), MOST_ENTRIES).await? {
                let last = session.key.parts().last().unwrap_or_default();
                let Ok(id) = last.parse::<SessionId>() else { continue };
                let is_gone = ledger.session(&person, id).await?.is_none();
                let over = |file: &ObjectMeta| is_gone || file.modified < oldest;
                removed += self.remove(&session.key, over).await?;
            }
        }
        Ok(removed)
    }

    async fn remove(
        &self,
        session: &ObjectKey,
        is_over: impl Fn(&ObjectMeta) -> bool,
    ) -> Result<usize, Fault> {
        let mut removed = 0;
        for run in self.objects.list(Some(session), MOST_ENTRIES).await? {
            for file in self.objects.list(Some(&run.key), MOST_ENTRIES).await? {
                if is_over(&file) {
                    self.objects.delete(&file.key, Expect::Anything).await?;
                    removed += 1;
                }
            }
        }
        if removed > 0 {
            // Only folders without artifacts are removed.
            self.objects.remove_empty(session).await?;
        }
        Ok(removed)
    }

    fn people(&self) -> MutexGuard<'_, BTreeSet<PersonId>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The origin of an artifact's content, which its name carries.
fn origin_of(key: &ObjectKey) -> Option<Origin> {
    let name = key.parts().last()?.strip_suffix(".txt")?;
    let (_, origin) = name.split_once('-')?;
    [Origin::Person, Origin::Agent, Origin::AgentTainted, Origin::External]
        .into_iter()
        .find(|known| known.as_str() == origin)
}
