//! The files behind a prompt, and when they are read into it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_storage::{Area, ObjectKey, Objects};
use onyx_tools::DailyLog;
use onyx_types::{AgentId, Fault, SessionId, SessionKey, Timestamp};

use crate::manager::Inner;
use crate::prompt::{PromptSnapshot, PromptSources, UntrustedPiece};
use crate::roster::AgentProfile;

/// A session left alone this long gets a fresh rendering: no provider's cache lives longer.
const IDLE: Duration = Duration::from_secs(60 * 60);
const MOST_KEPT: usize = 128;
const LONGEST_FILE: u64 = 256 * 1024;
const MOST_SKILLS: usize = 64;

/// Rendered prompts of recent sessions.
#[derive(Default)]
pub(crate) struct Snapshots(Mutex<HashMap<(SessionId, AgentId), Kept>>);

struct Kept {
    snapshot: Arc<PromptSnapshot>,
    /// What a person writes; a change here renders anew. What agents write into memory meanwhile
    /// does not: it would throw the provider's cache away at every step.
    written_by_people: PromptSources,
    used: Duration,
}

impl Snapshots {
    /// The session's rendering, made anew if a person edited the files or it lay idle, and what of
    /// the memory may only travel as untrusted text.
    pub(crate) async fn current(
        &self,
        inner: &Inner,
        key: &SessionKey,
        agent: &AgentProfile,
    ) -> Result<(Arc<PromptSnapshot>, Vec<UntrustedPiece>), Fault> {
        let now = inner.clock.now();
        let files = PromptFiles::open(inner, key, agent)?;
        let written = files.written_by_people(agent).await?;
        let id = (key.session, agent.id.clone());
        if let Some(snapshot) = self.unchanged(&id, &written, now.mono) {
            return Ok((snapshot, Vec::new()));
        }
        let mut sources = written.clone();
        let untrusted = files.add_memory(&mut sources, now.wall).await?;
        let snapshot = Arc::new(sources.render());
        self.keep(id, &snapshot, written, now.mono);
        Ok((snapshot, untrusted))
    }

    fn unchanged(
        &self,
        id: &(SessionId, AgentId),
        written: &PromptSources,
        now: Duration,
    ) -> Option<Arc<PromptSnapshot>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get_mut(id)?;
        if now.saturating_sub(found.used) >= IDLE || found.written_by_people != *written {
            return None;
        }
        found.used = now;
        Some(Arc::clone(&found.snapshot))
    }

    fn keep(
        &self,
        id: (SessionId, AgentId),
        snapshot: &Arc<PromptSnapshot>,
        written_by_people: PromptSources,
        used: Duration,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.used).map(|(id, _)| id.clone());
            oldest.map(|id| kept.remove(&id));
        }
        kept.insert(id, Kept { snapshot: Arc::clone(snapshot), written_by_people, used });
    }
}

/// Where one agent's and one person's prompt files are.
struct PromptFiles {
    agent: Arc<dyn Objects>,
    person: Arc<dyn Objects>,
    vault: Arc<dyn Objects>,
    memory: Arc<dyn Objects>,
}

impl PromptFiles {
    fn open(inner: &Inner, key: &SessionKey, agent: &AgentProfile) -> Result<Self, Fault> {
        let files = &inner.store.files;
        Ok(Self {
            agent: files.objects(&Area::Agent(agent.id.clone()))?,
            person: files.objects(&Area::Person(key.person.clone()))?,
            vault: files.objects(&Area::Vault(key.person.clone()))?,
            memory: files.objects(&Area::Memory(key.person.clone(), agent.id.clone()))?,
        })
    }

    async fn written_by_people(&self, agent: &AgentProfile) -> Result<PromptSources, Fault> {
        Ok(PromptSources {
            agent_name: agent.name.clone(),
            identity: text(&self.agent, "IDENTITY.md").await?,
            soul: text(&self.agent, "SOUL.md").await?,
            agents: text(&self.agent, "AGENTS.md").await?,
            tools: text(&self.agent, "TOOLS.md").await?,
            skills: skills(&self.agent).await?,
            user: text(&self.person, "USER.md").await?,
            standing_instructions: text(&self.vault, "agents.md").await?,
            ..PromptSources::default()
        })
    }

    async fn add_memory(
        &self,
        sources: &mut PromptSources,
        now: Timestamp,
    ) -> Result<Vec<UntrustedPiece>, Fault> {
        sources.memory = text(&self.memory, "MEMORY.md").await?;
        let mut untrusted = Vec::new();
        let day = Duration::from_secs(24 * 60 * 60);
        let yesterday = Timestamp::from_millis(now.as_millis() - day.as_millis() as i64);
        for date in [yesterday.utc_date(), now.utc_date()] {
            let path = format!("daily/{date}.md");
            let Some(log) = text(&self.memory, &path).await? else { continue };
            let log = DailyLog::split(&log);
            if !log.trusted.trim().is_empty() {
                sources.daily.push((date, log.trusted));
            }
            if !log.untrusted.trim().is_empty() {
                untrusted.push(UntrustedPiece {
                    scope: "agent".to_owned(),
                    source: path,
                    lines: None,
                    text: log.untrusted,
                });
            }
        }
        Ok(untrusted)
    }
}

async fn text(objects: &Arc<dyn Objects>, path: &str) -> Result<Option<String>, Fault> {
    let key: ObjectKey = match path.parse() {
        Ok(key) => key,
        Err(error) => {
            // A skill's file name that no key can hold; the others still work.
            tracing::warn!(path, %error, "left out of the prompt");
            return Ok(None);
        }
    };
    match objects.get(&key, LONGEST_FILE).await {
        Ok(object) => Ok(object.map(|o| String::from_utf8_lossy(&o.bytes).into_owned())),
        // One file that cannot be read must not silence the agent, and must not go unnoticed.
        Err(onyx_storage::StoreError::Refused(why)) => {
            tracing::warn!(path, why, "left out of the prompt");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// One line a skill: its name and what it says it is for.
async fn skills(agent: &Arc<dyn Objects>) -> Result<Vec<String>, Fault> {
    let Ok(folder) = "skills".parse::<ObjectKey>() else { return Ok(Vec::new()) };
    let entries = match agent.list(Some(&folder), MOST_SKILLS).await {
        Ok(entries) => entries,
        Err(onyx_storage::StoreError::NotFound) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut lines = Vec::new();
    for entry in entries {
        let path = entry.key.as_str();
        let (name, file) = match path.strip_suffix(".md") {
            Some(stem) => (stem, path.to_owned()),
            None if entry.is_folder => (path, format!("{path}/SKILL.md")),
            None => continue,
        };
        let Some(body) = text(agent, &file).await? else { continue };
        let name = name.trim_start_matches("skills/");
        lines.push(format!("- {name}: {}", purpose(&body)));
    }
    Ok(lines)
}

/// `description:` of the front matter, else the first line with words.
fn purpose(skill: &str) -> String {
    let described = skill.lines().find_map(|line| line.strip_prefix("description:"));
    let first = || skill.lines().map(str::trim).find(|l| l.starts_with(char::is_alphanumeric));
    described.or_else(first).unwrap_or("").trim().trim_matches('"').chars().take(160).collect()
}
