//! The persona of an agent: the system prompt (`SOUL.md`) and the inputs for trying it
//! (`tests/<id>.md`). The content before each change is kept in the agent's own history.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use onyx_types::{AgentId, Hash, Origin};

use crate::{Area, Change, Expect, Files, History, ObjectKey, Objects, StoreError};

const SYSTEM_PROMPT: &str = "SOUL.md";
const TESTS: &str = "tests";
const LONGEST_TEXT: u64 = 256 * 1024;
const MOST_TESTS: usize = 200;
const LONGEST_ID: usize = 100;

/// The name of a test input, which is its file's name without `.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestInputId(String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonaText {
    pub text: String,
    pub hash: Hash,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestInput {
    pub id: TestInputId,
    pub content: PersonaText,
}

/// The files of one persona.
pub struct PersonaFiles {
    root: String,
    objects: Arc<dyn Objects>,
    history: History,
}

impl TestInputId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TestInputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TestInputId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let key: ObjectKey = format!("{TESTS}/{text}.md").parse()?;
        if key.parts().count() != 2 || key.is_hidden() || text.len() > LONGEST_ID {
            return Err(StoreError::Refused(format!("{text:?} is not a test input's name")));
        }
        Ok(Self(text.to_owned()))
    }
}

impl PersonaFiles {
    pub fn open(files: &dyn Files, agent: &AgentId) -> Result<Self, StoreError> {
        let area = Area::Agent(agent.clone());
        let objects = files.objects(&area)?;
        Ok(Self { root: area.path(), history: files.history_of(&area)?, objects })
    }

    /// The name of the system prompt in plans and records.
    pub fn system_prompt_name(&self) -> String {
        format!("{}/{SYSTEM_PROMPT}", self.root)
    }

    pub fn test_input_name(&self, id: &TestInputId) -> String {
        format!("{}/{TESTS}/{id}.md", self.root)
    }

    pub async fn system_prompt(&self) -> Result<Option<PersonaText>, StoreError> {
        self.read(&SYSTEM_PROMPT.parse()?).await
    }

    /// Writes the system prompt. `Conflict` when its hash is no longer `base`.
    pub async fn set_system_prompt(
        &self,
        text: &str,
        base: Option<Hash>,
        change: Change,
    ) -> Result<(), StoreError> {
        self.write(&SYSTEM_PROMPT.parse()?, Some(text), base, change).await
    }

    pub async fn test_input_ids(&self) -> Result<Vec<TestInputId>, StoreError> {
        let listed = match self.objects.list(Some(&TESTS.parse()?), MOST_TESTS).await {
            Err(StoreError::NotFound) => return Ok(Vec::new()),
            listed => listed?,
        };
        let files = listed.iter().filter(|entry| !entry.is_folder);
        let names = files.filter_map(|entry| entry.key.parts().last()?.strip_suffix(".md"));
        // A file whose name is not a valid id is not a test input.
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    pub async fn test_inputs(&self) -> Result<Vec<TestInput>, StoreError> {
        let mut inputs = Vec::new();
        for id in self.test_input_ids().await? {
            inputs.extend(self.test_input(&id).await?);
        }
        Ok(inputs)
    }

    pub async fn test_input(&self, id: &TestInputId) -> Result<Option<TestInput>, StoreError> {
        let content = self.read(&test_key(id)?).await?;
        Ok(content.map(|content| TestInput { id: id.clone(), content }))
    }

    /// Returns a free name for a test input, made of the first words of its content.
    pub async fn free_test_input_id(&self, content: &str) -> Result<TestInputId, StoreError> {
        let taken = self.test_input_ids().await?;
        let words: String = content.chars().filter(|letter| letter.is_ascii()).take(60).collect();
        let words = onyx_types::slug(&words);
        let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).take(6).collect();
        let stem = if words.is_empty() { "test".to_owned() } else { words.join("-") };
        let names = (1..).map(|number: usize| match number {
            1 => stem.clone(),
            _ => format!("{stem}-{number}"),
        });
        let mut free = names.filter(|name| taken.iter().all(|id| id.as_str() != name));
        free.next().unwrap_or(stem).parse()
    }

    /// Writes a test input. `base` is the hash of its present content; `None` creates a new one.
    pub async fn put_test_input(
        &self,
        id: &TestInputId,
        content: &str,
        base: Option<Hash>,
        change: Change,
    ) -> Result<(), StoreError> {
        self.write(&test_key(id)?, Some(content), base, change).await
    }

    pub async fn delete_test_input(
        &self,
        id: &TestInputId,
        base: Hash,
        change: Change,
    ) -> Result<(), StoreError> {
        self.write(&test_key(id)?, None, Some(base), change).await
    }

    async fn read(&self, key: &ObjectKey) -> Result<Option<PersonaText>, StoreError> {
        let Some(object) = self.objects.get(key, LONGEST_TEXT).await? else { return Ok(None) };
        let origin = self.history.origin(key, &object).await?;
        let text = String::from_utf8(object.bytes)
            .map_err(|_| StoreError::Refused(format!("{key} is not text")))?;
        Ok(Some(PersonaText { text, hash: object.hash, origin }))
    }

    /// Writes a file. The old content is kept in the history and durable before anything changes.
    async fn write(
        &self,
        key: &ObjectKey,
        text: Option<&str>,
        base: Option<Hash>,
        change: Change,
    ) -> Result<(), StoreError> {
        if text.is_some_and(|text| text.len() as u64 > LONGEST_TEXT) {
            return Err(StoreError::Refused(format!(
                "{key} may have at most {LONGEST_TEXT} bytes"
            )));
        }
        let current = self.objects.get(key, LONGEST_TEXT).await?;
        if current.as_ref().map(|object| object.hash) != base {
            return Err(StoreError::Conflict);
        }
        let after = text.map(str::as_bytes);
        self.history.keep(key, current.as_ref(), after, change).await?;
        let expect = base.map_or(Expect::Absent, Expect::Is);
        match text {
            Some(text) => self.objects.put(key, text.as_bytes(), expect).await.map(|_| ()),
            None => self.objects.delete(key, expect).await,
        }
    }
}

fn test_key(id: &TestInputId) -> Result<ObjectKey, StoreError> {
    Ok(format!("{TESTS}/{id}.md").parse()?)
}
