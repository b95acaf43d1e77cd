//! What a person chose for their agents: `people/<person>/agent.json`, and the standing
//! instructions in `vault/agents.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use onyx_storage::{Area, Change, Expect, FileLookup, Files, FoundObject, ObjectKey, StoreError};
use onyx_types::{Author, Clock, ErrorCode, Fault, Origin, PersonId, Zone};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

/// How Anthropic's models are called: with a key, or through the person's subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeMode {
    /// Agents use their models as configured.
    #[default]
    AnthropicApiKey,
    /// The run goes through the subscription gateway.
    GatewaySubscription,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    pub runtime_mode: RuntimeMode,
    /// Whether a run may use the agent's own model when the gateway cannot be reached.
    pub fallback: bool,
    pub flags: BTreeMap<String, bool>,
    /// The standing instructions.
    pub prompt: String,
    /// The chosen time zone. `None`: the one that the config names for the person counts, else the
    /// server's.
    pub timezone: Option<Zone>,
}

/// Changes to a person's preferences; `None` leaves a setting as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreferencesPatch {
    pub runtime_mode: Option<RuntimeMode>,
    pub fallback: Option<bool>,
    /// Flags to change, each on its own; `None` removes one.
    pub flags: BTreeMap<String, Option<bool>>,
    pub prompt: Option<String>,
    /// `Some(None)` removes the person's choice.
    pub timezone: Option<Option<Zone>>,
}

/// The preferences file as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    runtime_mode: RuntimeMode,
    #[serde(default = "allowed")]
    fallback: bool,
    #[serde(default)]
    flags: BTreeMap<String, bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timezone: Option<Zone>,
    /// Fields of a newer version, which are written back as they are.
    #[serde(flatten)]
    more: Map<String, Value>,
}

fn allowed() -> bool {
    true
}

const FILE: &str = "agent.json";
const INSTRUCTIONS: &str = "vault/agents.md";
const LONGEST_FILE: u64 = 64 * 1024;
/// The most bytes of the standing instructions that go into a prompt.
const LONGEST_PROMPT: usize = 256 * 1024;
const MOST_FLAGS: usize = 100;
/// A listener that falls further behind is told that it missed changes.
const MOST_UNHEARD: usize = 64;
/// The files of how many people are read at once.
const READ_TOGETHER: usize = 128;

/// Reads and changes people's preferences.
#[derive(Clone)]
pub struct PreferenceFiles {
    files: Arc<dyn Files>,
    clock: Arc<dyn Clock>,
    /// This lock is held while a file changes, so that the later of two changes does not undo the
    /// earlier.
    changing: Arc<tokio::sync::Mutex<()>>,
    /// The people whose time zone was changed here, for the other gateways.
    zone_changes: broadcast::Sender<PersonId>,
}

impl PreferenceFiles {
    pub(crate) fn new(files: Arc<dyn Files>, clock: Arc<dyn Clock>) -> Self {
        let zone_changes = broadcast::Sender::new(MOST_UNHEARD);
        Self { files, clock, changing: Arc::default(), zone_changes }
    }

    pub async fn get(&self, person: &PersonId) -> Result<Preferences, Fault> {
        let (file, prompt) = self.read(person).await?;
        Ok(settings(file, prompt))
    }

    /// Changes the settings that the patch names and returns all settings as they are then.
    pub async fn change(
        &self,
        person: &PersonId,
        patch: PreferencesPatch,
    ) -> Result<Preferences, Fault> {
        let _changing = self.changing.lock().await;
        let (mut file, mut prompt) = self.read(person).await?;
        let objects = self.files.objects(&Area::Person(person.clone()))?;
        if let Some(text) = patch.prompt.filter(|text| *text != prompt) {
            self.keep_instructions(person, &text).await?;
            prompt = text;
        }
        file.runtime_mode = patch.runtime_mode.unwrap_or(file.runtime_mode);
        file.fallback = patch.fallback.unwrap_or(file.fallback);
        let changes_zone = patch.timezone.is_some();
        if let Some(zone) = patch.timezone {
            file.timezone = zone;
        }
        for (name, flag) in patch.flags {
            match flag {
                Some(flag) => file.flags.insert(name, flag),
                None => file.flags.remove(&name),
            };
        }
        if file.flags.len() > MOST_FLAGS {
            let message = format!("flags: at most {MOST_FLAGS} are allowed");
            return Err(Fault::new(ErrorCode::TooLarge, message));
        }
        let bytes = serde_json::to_vec_pretty(&file)
            .map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        objects.put(&key(FILE)?, &bytes, Expect::Anything).await?;
        self.use_zone(person, &file);
        if changes_zone {
            // Sending fails only when no other gateway is told.
            let _ = self.zone_changes.send(person.clone());
        }
        Ok(settings(file, prompt))
    }

    /// Subscribes to the people whose time zone is changed through this gateway from now on.
    pub fn own_zone_changes(&self) -> broadcast::Receiver<PersonId> {
        self.zone_changes.subscribe()
    }

    /// Reads the time zones that people chose. It is called before the first request, and where
    /// changes by other gateways may have been missed.
    pub async fn follow_zones(&self) -> Result<(), Fault> {
        let key = key(FILE)?;
        let people = self.files.people().await?;
        for some in people.chunks(READ_TOGETHER) {
            let lookup = |person: &PersonId| {
                let file = FileLookup::File { key: key.clone(), max_bytes: LONGEST_FILE };
                (Area::Person(person.clone()), file)
            };
            // A change of this gateway must not be replaced by what the file held before it.
            let _changing = self.changing.lock().await;
            let found = self.files.find(some.iter().map(lookup).collect()).await?;
            for (person, found) in some.iter().zip(found) {
                match content(found).and_then(|bytes| parsed(person, bytes)) {
                    Ok(file) => self.use_zone(person, &file),
                    // A file that cannot be read must not keep the other people's time zones from
                    // being used. Its own reader gets the error.
                    Err(fault) => tracing::warn!(%person, %fault, "the time zone is not known"),
                }
            }
        }
        Ok(())
    }

    /// Reads the time zone that a person chose, perhaps through another gateway.
    pub async fn follow_zone(&self, person: &PersonId) -> Result<(), Fault> {
        // A change of this gateway must not be replaced by what the file held before it.
        let _changing = self.changing.lock().await;
        let (file, _) = self.read(person).await?;
        self.use_zone(person, &file);
        Ok(())
    }

    fn use_zone(&self, person: &PersonId, file: &File) {
        if let Some(zones) = self.clock.zones() {
            zones.choose(person, file.timezone.clone());
        }
    }

    /// The time zone of a person: their own choice, else the config's or the server's.
    pub fn zone_of(&self, person: &PersonId) -> Zone {
        self.clock.zone_of(person)
    }

    async fn keep_instructions(&self, person: &PersonId, text: &str) -> Result<(), Fault> {
        if text.len() > LONGEST_PROMPT {
            let message = format!("prompt: at most {LONGEST_PROMPT} bytes are allowed");
            return Err(Fault::new(ErrorCode::TooLarge, message));
        }
        let files = &self.files;
        let change = Change {
            ts: self.clock.wall(),
            author: Author::Person(person.clone()),
            origin: Origin::Person,
            run: None,
            tool: "settings".to_owned(),
        };
        let path = key(INSTRUCTIONS)?;
        let objects = files.objects(&Area::Person(person.clone()))?;
        let before = objects.get(&path, LONGEST_PROMPT as u64).await?;
        let after = Some(text.as_bytes());
        files.history(person)?.keep(&path, before.as_ref(), after, change).await?;
        objects.put(&path, text.as_bytes(), Expect::Anything).await?;
        Ok(())
    }

    async fn read(&self, person: &PersonId) -> Result<(File, String), Fault> {
        let area = Area::Person(person.clone());
        let file = FileLookup::File { key: key(FILE)?, max_bytes: LONGEST_FILE };
        let prompt = FileLookup::File { key: key(INSTRUCTIONS)?, max_bytes: LONGEST_PROMPT as u64 };
        let wanted = vec![(area.clone(), file), (area, prompt)];
        let mut found = self.files.find(wanted).await?.into_iter();
        let mut next = || found.next().map_or(Ok(None), content);
        let (file, prompt) = (next()?, next()?);
        let file = parsed(person, file)?;
        let prompt = prompt.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok((file, prompt.unwrap_or_default()))
    }
}

fn settings(file: File, prompt: String) -> Preferences {
    let File { runtime_mode, fallback, flags, timezone, more: _ } = file;
    Preferences { runtime_mode, fallback, flags, prompt, timezone }
}

/// The bytes of a file that was looked up; `None` if there is none.
fn content(found: Result<FoundObject, StoreError>) -> Result<Option<Vec<u8>>, Fault> {
    match found {
        Ok(FoundObject::File(object)) => Ok(Some(object.bytes)),
        Ok(FoundObject::Nothing | FoundObject::End(_) | FoundObject::Folder(_))
        | Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A person's preferences file; without one, all settings have their defaults.
fn parsed(person: &PersonId, file: Option<Vec<u8>>) -> Result<File, Fault> {
    let file = file.unwrap_or_else(|| b"{}".to_vec());
    serde_json::from_slice(&file).map_err(|error| {
        let message = format!("people/{person}/{FILE} cannot be read: {error}");
        Fault::new(ErrorCode::StorageFailed, message).with_hint("Fix the file or remove it.")
    })
}

fn key(path: &str) -> Result<ObjectKey, StoreError> {
    Ok(path.parse()?)
}
