//! The files behind a prompt, and when they are read into it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_storage::{Area, End, Files, Found, ObjectKey, ObjectMeta, StoreError, Wanted};
use onyx_tools::DailyLog;
use onyx_types::{AgentId, Fault, PersonId, SessionId, SessionKey, Timestamp};

use crate::runs::Inner;
use crate::prompt::{FileText, MAX_DAILY, PromptSnapshot, PromptSources, UntrustedPiece, bounded};
use crate::agents::roster::AgentProfile;

/// A session left alone this long gets a fresh rendering: no provider's cache lives longer.
const IDLE: Duration = Duration::from_secs(60 * 60);
const MOST_KEPT: usize = 128;
/// How much of the end of a file is read: more than any prompt shows of it.
const LONGEST_END: u64 = 256 * 1024;
const LONGEST_SKILL: u64 = 256 * 1024;
const MOST_SKILLS: usize = 64;

/// Rendered prompts of recent sessions.
#[derive(Default)]
pub(crate) struct Snapshots(Mutex<HashMap<(SessionId, AgentId), Kept>>);

struct Kept {
    snapshot: Arc<PromptSnapshot>,
    /// What a person writes; a change here renders anew. What agents write into memory meanwhile
    /// does not: it would throw the provider's cache away at every step.
    written_by_people: Arc<PromptSources>,
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
        let files = PromptFiles { files: &*inner.store.files, agent, person: &key.person };
        let written = files.written_by_people().await?;
        let id = (key.session, agent.id.clone());
        if let Some(snapshot) = self.unchanged(&id, &written, now.mono) {
            return Ok((snapshot, Vec::new()));
        }
        let mut sources = written.clone();
        let untrusted = files.add_memory(&mut sources, now.wall).await?;
        let rendered = sources.render_with(|text| inner.masked(text));
        Ok((self.keep(id, rendered, written, now.mono), untrusted))
    }

    fn unchanged(
        &self,
        id: &(SessionId, AgentId),
        written: &PromptSources,
        now: Duration,
    ) -> Option<Arc<PromptSnapshot>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get_mut(id)?;
        if now.saturating_sub(found.used) >= IDLE || *found.written_by_people != *written {
            return None;
        }
        found.used = now;
        Some(Arc::clone(&found.snapshot))
    }

    fn keep(
        &self,
        id: (SessionId, AgentId),
        snapshot: PromptSnapshot,
        written_by_people: PromptSources,
        used: Duration,
    ) -> Arc<PromptSnapshot> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.used).map(|(id, _)| id.clone());
            oldest.map(|id| kept.remove(&id));
        }
        // Most sessions of a person with an agent begin with the same words: one copy serves all.
        let alike = kept.values().find(|kept| {
            *kept.snapshot == snapshot && *kept.written_by_people == written_by_people
        });
        let (snapshot, written_by_people) = match alike {
            Some(kept) => (Arc::clone(&kept.snapshot), Arc::clone(&kept.written_by_people)),
            None => (Arc::new(snapshot), Arc::new(written_by_people)),
        };
        kept.insert(id, Kept { snapshot: Arc::clone(&snapshot), written_by_people, used });
        snapshot
    }
}

/// A rendering for one run that does not want the agent's notes about the person.
pub(crate) async fn without_memory(
    inner: &Inner,
    key: &SessionKey,
    agent: &AgentProfile,
) -> Result<Arc<PromptSnapshot>, Fault> {
    let files = PromptFiles { files: &*inner.store.files, agent, person: &key.person };
    let written = files.written_by_people().await?;
    Ok(Arc::new(written.render_with(|text| inner.masked(text))))
}

/// The files behind one agent's prompts for one person, looked up together: a look-up on its own
/// costs more than the reading.
struct PromptFiles<'a> {
    files: &'a dyn Files,
    agent: &'a AgentProfile,
    person: &'a PersonId,
}

impl PromptFiles<'_> {
    async fn written_by_people(&self) -> Result<PromptSources, StoreError> {
        let agent = Area::Agent(self.agent.id.clone());
        let person = Area::Person(self.person.clone());
        let [identity, soul, agents, tools, skills, user, standing_instructions] = self
            .find([
                Place::File(&agent, "IDENTITY.md"),
                Place::File(&agent, "SOUL.md"),
                Place::File(&agent, "AGENTS.md"),
                Place::File(&agent, "TOOLS.md"),
                Place::Folder(&agent, "skills"),
                Place::File(&person, "USER.md"),
                Place::File(&person, "vault/agents.md"),
            ])
            .await?;
        let skills = match skills {
            Found::Folder(entries) => self.skills(&entries).await?,
            Found::Nothing | Found::File(_) | Found::End(_) => Vec::new(),
        };
        Ok(PromptSources {
            agent_name: self.agent.name.clone(),
            identity: text(identity),
            soul: text(soul),
            agents: text(agents),
            tools: text(tools),
            skills,
            user: text(user),
            standing_instructions: text(standing_instructions),
            ..PromptSources::default()
        })
    }

    async fn add_memory(
        &self,
        sources: &mut PromptSources,
        now: Timestamp,
    ) -> Result<Vec<UntrustedPiece>, StoreError> {
        let day = Duration::from_secs(24 * 60 * 60);
        let yesterday = Timestamp::from_millis(now.as_millis() - day.as_millis() as i64);
        let dates = [yesterday.utc_date(), now.utc_date()];
        let folder = Area::Memory(self.person.clone(), self.agent.id.clone());
        let logs = dates.each_ref().map(|date| format!("daily/{date}.md"));
        let [memory, before, today] = self
            .find([
                Place::File(&folder, "MEMORY.md"),
                Place::File(&folder, &logs[0]),
                Place::File(&folder, &logs[1]),
            ])
            .await?;
        sources.memory = text(memory);
        let mut untrusted = Vec::new();
        for (date, log) in dates.into_iter().zip([before, today]) {
            let Some(log) = text(log) else { continue };
            let (before, log) = (log.before, DailyLog::split(&log.text));
            if !log.untrusted.trim().is_empty() {
                untrusted.push(UntrustedPiece {
                    scope: "agent".to_owned(),
                    source: format!("daily/{date}.md"),
                    lines: None,
                    text: bounded(&log.untrusted, before, MAX_DAILY).into_owned(),
                });
            }
            if !log.trusted.trim().is_empty() {
                sources.daily.push((date, FileText { text: log.trusted, before }));
            }
        }
        Ok(untrusted)
    }

    /// One line a skill: its name and what it says it is for.
    async fn skills(&self, entries: &[ObjectMeta]) -> Result<Vec<String>, StoreError> {
        let area = Area::Agent(self.agent.id.clone());
        let mut skills = Vec::new();
        for entry in entries {
            let path = entry.key.as_str();
            let (name, path) = match path.strip_suffix(".md") {
                Some(stem) => (stem, path.to_owned()),
                None if entry.is_folder => (path, format!("{path}/SKILL.md")),
                None => continue,
            };
            if let Err(error) = path.parse::<ObjectKey>() {
                tracing::warn!(path, %error, "left out of the prompt");
                continue;
            }
            skills.push((name.trim_start_matches("skills/"), path));
        }
        let places: Vec<_> = skills.iter().map(|(_, path)| Place::Skill(&area, path)).collect();
        let bodies = self.find_each(&places).await?.into_iter().map(text);
        let described = skills.iter().zip(bodies);
        Ok(described
            .filter_map(|((name, _), body)| Some(format!("- {name}: {}", purpose(&body?.text))))
            .collect())
    }

    async fn find<const N: usize>(&self, places: [Place<'_>; N]) -> Result<[Found; N], StoreError> {
        let mut found = self.find_each(&places).await?.into_iter();
        Ok(std::array::from_fn(|_| found.next().unwrap_or(Found::Nothing)))
    }

    async fn find_each(&self, places: &[Place<'_>]) -> Result<Vec<Found>, StoreError> {
        let wanted = places.iter().map(Place::wanted).collect::<Result<_, _>>()?;
        let answers = self.files.find(wanted).await?;
        let found = answers.into_iter().zip(places).map(|(answer, place)| match answer {
            // One file that cannot be read must not silence the agent, and must not go unnoticed.
            Err(StoreError::Refused(why)) => {
                tracing::warn!(?place, why, "left out of the prompt");
                Ok(Found::Nothing)
            }
            other => other,
        });
        found.collect()
    }
}

/// What is looked up.
#[derive(Debug)]
enum Place<'a> {
    File(&'a Area, &'a str),
    /// Read from its beginning, where it says what it is for.
    Skill(&'a Area, &'a str),
    Folder(&'a Area, &'a str),
}

impl Place<'_> {
    fn wanted(&self) -> Result<(Area, Wanted), StoreError> {
        Ok(match self {
            Self::File(area, path) => {
                ((*area).clone(), Wanted::End { key: path.parse()?, max_bytes: LONGEST_END })
            }
            Self::Skill(area, path) => {
                ((*area).clone(), Wanted::File { key: path.parse()?, max_bytes: LONGEST_SKILL })
            }
            Self::Folder(area, path) => {
                ((*area).clone(), Wanted::Folder { key: path.parse()?, limit: MOST_SKILLS })
            }
        })
    }
}

fn text(found: Found) -> Option<FileText> {
    match found {
        Found::File(object) => Some(String::from_utf8_lossy(&object.bytes).into()),
        Found::End(end) => Some(whole_lines(&end)),
        Found::Nothing | Found::Folder(_) => None,
    }
}

/// From the first line that is whole: half of one may have lost the mark of where it comes from.
fn whole_lines(End { bytes, before }: &End) -> FileText {
    let but_last = &bytes[..bytes.len().saturating_sub(1)];
    let start = match before {
        0 => 0,
        // One line and nothing else: what there is of it.
        _ => but_last.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1),
    };
    let text = String::from_utf8_lossy(&bytes[start..]).into_owned();
    FileText { text, before: before + start as u64 }
}

/// `description:` of the front matter, else the first line with words.
fn purpose(skill: &str) -> String {
    let described = skill.lines().find_map(|line| line.strip_prefix("description:"));
    let first = || skill.lines().map(str::trim).find(|l| l.starts_with(char::is_alphanumeric));
    described.or_else(first).unwrap_or("").trim().trim_matches('"').chars().take(160).collect()
}
