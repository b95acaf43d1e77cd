//! Reads the files that a prompt is made of.

use std::time::Duration;

use onyx_storage::{Area, End, Files, Found, ObjectKey, ObjectMeta, StoreError, Wanted};
use onyx_tools::DailyLog;
use onyx_types::{PersonId, Timestamp};

use super::judge::{ForeignFile, Judge};
use super::snapshot::{FileText, MAX_DAILY, PromptSources, bounded};
use super::untrusted::UntrustedPiece;
use crate::agents::AgentProfile;

/// How much of the end of a file is read: more than any prompt shows of it.
const LONGEST_END: u64 = 256 * 1024;
const LONGEST_SKILL: u64 = 256 * 1024;
const MOST_SKILLS: usize = 64;

/// The files behind one agent's prompts for one person. They are looked up together, because one
/// look-up costs more than reading the file.
pub(super) struct PromptFiles<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) agent: &'a AgentProfile,
    pub(super) person: &'a PersonId,
    pub(super) judge: &'a Judge,
}

impl PromptFiles<'_> {
    /// The texts that people write: who the agent is, its skills, the person's instructions; and those among these
    /// files that nobody of them wrote.
    pub(super) async fn written_by_people(
        &self,
    ) -> Result<(PromptSources, Vec<ForeignFile>), StoreError> {
        let agent = Area::Agent(self.agent.id.clone());
        let person = Area::Person(self.person.clone());
        let [identity, soul, agents, tools, skills, user, standing_instructions] = self
            .find([
                Lookup::File(&agent, "IDENTITY.md"),
                Lookup::File(&agent, "SOUL.md"),
                Lookup::File(&agent, "AGENTS.md"),
                Lookup::File(&agent, "TOOLS.md"),
                Lookup::Folder(&agent, "skills"),
                Lookup::File(&person, "USER.md"),
                Lookup::File(&person, "vault/agents.md"),
            ])
            .await?;
        let mut foreign = Vec::new();
        let skills = match skills {
            Found::Folder(entries) => self.skills(&entries, &mut foreign).await?,
            Found::Nothing | Found::File(_) | Found::End(_) => Vec::new(),
        };
        let judge = self.judge;
        let sources = PromptSources {
            agent_name: self.agent.name.clone(),
            identity: judge.admit(&agent, "IDENTITY.md", identity, &mut foreign).await?,
            soul: judge.admit(&agent, "SOUL.md", soul, &mut foreign).await?,
            agents: judge.admit(&agent, "AGENTS.md", agents, &mut foreign).await?,
            tools: judge.admit(&agent, "TOOLS.md", tools, &mut foreign).await?,
            skills,
            user: judge.admit(&person, "USER.md", user, &mut foreign).await?,
            standing_instructions: judge
                .admit(&person, "vault/agents.md", standing_instructions, &mut foreign)
                .await?,
            ..PromptSources::default()
        };
        Ok((sources, foreign))
    }

    /// Adds what the agent remembers. Returns what of it may only travel as untrusted text.
    pub(super) async fn add_memory(
        &self,
        sources: &mut PromptSources,
        foreign: &mut Vec<ForeignFile>,
        now: Timestamp,
    ) -> Result<Vec<UntrustedPiece>, StoreError> {
        let day = Duration::from_secs(24 * 60 * 60);
        let yesterday = Timestamp::from_millis(now.as_millis() - day.as_millis() as i64);
        let dates = [yesterday.utc_date(), now.utc_date()];
        let folder = Area::Memory(self.person.clone(), self.agent.id.clone());
        let logs = dates.each_ref().map(|date| format!("daily/{date}.md"));
        let [memory, before, today] = self
            .find([
                Lookup::File(&folder, "MEMORY.md"),
                Lookup::File(&folder, &logs[0]),
                Lookup::File(&folder, &logs[1]),
            ])
            .await?;
        sources.memory = self.judge.admit(&folder, "MEMORY.md", memory, foreign).await?;
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
    async fn skills(
        &self,
        entries: &[ObjectMeta],
        foreign: &mut Vec<ForeignFile>,
    ) -> Result<Vec<String>, StoreError> {
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
        let lookups: Vec<_> = skills.iter().map(|(_, path)| Lookup::Skill(&area, path)).collect();
        let bodies = self.find_each(&lookups).await?;
        let mut described = Vec::with_capacity(skills.len());
        for ((name, path), body) in skills.iter().zip(bodies) {
            if let Some(body) = self.judge.admit(&area, path, body, foreign).await? {
                described.push(format!("- {name}: {}", purpose(&body.text)));
            }
        }
        Ok(described)
    }

    async fn find<const N: usize>(
        &self,
        lookups: [Lookup<'_>; N],
    ) -> Result<[Found; N], StoreError> {
        let mut found = self.find_each(&lookups).await?.into_iter();
        Ok(std::array::from_fn(|_| found.next().unwrap_or(Found::Nothing)))
    }

    async fn find_each(&self, lookups: &[Lookup<'_>]) -> Result<Vec<Found>, StoreError> {
        let wanted = lookups.iter().map(Lookup::wanted).collect::<Result<_, _>>()?;
        let answers = self.files.find(wanted).await?;
        let found = answers.into_iter().zip(lookups).map(|(answer, lookup)| match answer {
            // One file that cannot be read must not silence the agent, and must not go unnoticed.
            Err(StoreError::Refused(why)) => {
                tracing::warn!(?lookup, why, "left out of the prompt");
                Ok(Found::Nothing)
            }
            other => other,
        });
        found.collect()
    }
}

/// One file or folder to be looked up.
#[derive(Debug)]
enum Lookup<'a> {
    File(&'a Area, &'a str),
    /// Read from its beginning, where it says what it is for.
    Skill(&'a Area, &'a str),
    Folder(&'a Area, &'a str),
}

impl Lookup<'_> {
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

pub(super) fn text(found: Found) -> Option<FileText> {
    match found {
        Found::File(object) => Some(String::from_utf8_lossy(&object.bytes).into()),
        Found::End(end) => Some(whole_lines(&end)),
        Found::Nothing | Found::Folder(_) => None,
    }
}

/// Drops a cut first line: half of a line may have lost the mark that says where it comes from.
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
