//! Reads the files that a prompt is made of.

use std::path::Path;

use onyx_storage::{
    Area, FileEnd, FileLookup, Files, FoundObject, LocalObjects, Objects as _, StoreError,
};
use onyx_tools::DailyLog;
use onyx_types::{PersonId, Timestamp, Zone};

use super::judge::{ForeignFile, Judge};
use super::snapshot::{FileText, MAX_DAILY, PromptSources, bounded};
use super::untrusted::UntrustedPiece;
use crate::agents::AgentProfile;

/// The most bytes that are read from the end of a file. No prompt shows more.
const LONGEST_END: u64 = 256 * 1024;

/// Reads the files of one agent's prompts for one person. They are looked up together, because a
/// look-up costs more than reading a file.
pub(super) struct PromptFiles<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) agent: &'a AgentProfile,
    pub(super) person: &'a PersonId,
    pub(super) judge: &'a Judge,
}

impl PromptFiles<'_> {
    /// The texts that people write about the agent and themselves, and those of the files whose
    /// content is foreign.
    pub(super) async fn written_by_people(
        &self,
    ) -> Result<(PromptSources, Vec<ForeignFile>), StoreError> {
        let agent = Area::Agent(self.agent.id.clone());
        let person = Area::Person(self.person.clone());
        let found = self.find([
            Lookup(&agent, "IDENTITY.md"),
            Lookup(&agent, "SOUL.md"),
            Lookup(&agent, "AGENTS.md"),
            Lookup(&agent, "TOOLS.md"),
            Lookup(&person, "USER.md"),
            Lookup(&person, "vault/agents.md"),
        ]);
        // Both are read together, so that a store on another machine is asked once.
        let (found, areas) = tokio::join!(found, self.judge.look_at([&agent, &person]));
        let [identity, soul, agents, tools, user, standing_instructions] = found?;
        let [agent, person] = areas?;
        let (judge, mut foreign) = (self.judge, Vec::new());
        let mut sources = PromptSources {
            agent_name: self.agent.name.clone(),
            user: judge.admit(person, "USER.md", user, &mut foreign).await?,
            standing_instructions: judge
                .admit(person, "vault/agents.md", standing_instructions, &mut foreign)
                .await?,
            ..PromptSources::default()
        };
        if let Some(folder) = &self.agent.workspace {
            self.read_workspace(folder, &mut sources).await?;
            return Ok((sources, foreign));
        }
        sources.identity = judge.admit(agent, "IDENTITY.md", identity, &mut foreign).await?;
        sources.soul = judge.admit(agent, "SOUL.md", soul, &mut foreign).await?;
        sources.agents = judge.admit(agent, "AGENTS.md", agents, &mut foreign).await?;
        sources.tools = judge.admit(agent, "TOOLS.md", tools, &mut foreign).await?;
        Ok((sources, foreign))
    }

    /// Reads the agent's persona files from a folder outside the home that the owner's config
    /// names. Like the files of an agent's folder they are the owner's words. Nothing is read if
    /// there is no such folder.
    async fn read_workspace(
        &self,
        folder: &str,
        sources: &mut PromptSources,
    ) -> Result<(), StoreError> {
        let objects = match LocalObjects::open(Path::new(folder)) {
            Ok(objects) => objects,
            Err(error) => {
                tracing::warn!(agent = %self.agent.id, folder, %error, "the agent's workspace cannot be read");
                return Ok(());
            }
        };
        for (name, place) in [
            ("IDENTITY.md", &mut sources.identity),
            ("SOUL.md", &mut sources.soul),
            ("AGENTS.md", &mut sources.agents),
            ("TOOLS.md", &mut sources.tools),
        ] {
            match objects.get(&name.parse()?, LONGEST_END).await {
                Ok(found) => *place = found.and_then(|object| text(FoundObject::File(object))),
                Err(StoreError::Refused(why)) => {
                    tracing::warn!(agent = %self.agent.id, name, why, "left out of the prompt");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds the agent's memory. Returns the parts of it that may be shown only as untrusted text.
    pub(super) async fn add_memory(
        &self,
        sources: &mut PromptSources,
        foreign: &mut Vec<ForeignFile>,
        zone: &Zone,
        now: Timestamp,
    ) -> Result<Vec<UntrustedPiece>, StoreError> {
        let dates = [zone.date_before(now), zone.date(now)];
        let folder = Area::Memory(self.person.clone(), self.agent.id.clone());
        let logs = dates.each_ref().map(|date| format!("daily/{date}.md"));
        let found = self.find([
            Lookup(&folder, "MEMORY.md"),
            Lookup(&folder, &logs[0]),
            Lookup(&folder, &logs[1]),
        ]);
        let (found, areas) = tokio::join!(found, self.judge.look_at([&folder]));
        let ([memory, before, today], [folder]) = (found?, areas?);
        sources.memory = self.judge.admit(folder, "MEMORY.md", memory, foreign).await?;
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
                    cited: None,
                });
            }
            if !log.trusted.trim().is_empty() {
                sources.daily.push((date, FileText { text: log.trusted, before }));
            }
        }
        Ok(untrusted)
    }

    async fn find<const N: usize>(
        &self,
        lookups: [Lookup<'_>; N],
    ) -> Result<[FoundObject; N], StoreError> {
        let wanted = lookups.iter().map(Lookup::wanted).collect::<Result<_, _>>()?;
        let answers = self.files.find(wanted).await?;
        let found = answers.into_iter().zip(&lookups).map(|(answer, lookup)| match answer {
            // An unreadable file must not keep the agent from answering, so it is left out with a
            // warning.
            Err(StoreError::Refused(why)) => {
                tracing::warn!(?lookup, why, "left out of the prompt");
                Ok(FoundObject::Nothing)
            }
            other => other,
        });
        let mut found = found.collect::<Result<Vec<_>, _>>()?.into_iter();
        Ok(std::array::from_fn(|_| found.next().unwrap_or(FoundObject::Nothing)))
    }
}

/// The area and path of a file to look up.
#[derive(Debug)]
struct Lookup<'a>(&'a Area, &'a str);

impl Lookup<'_> {
    fn wanted(&self) -> Result<(Area, FileLookup), StoreError> {
        let Self(area, path) = self;
        Ok(((*area).clone(), FileLookup::End { key: path.parse()?, max_bytes: LONGEST_END }))
    }
}

pub(super) fn text(found: FoundObject) -> Option<FileText> {
    match found {
        FoundObject::File(object) => Some(String::from_utf8_lossy(&object.bytes).into()),
        FoundObject::End(end) => Some(whole_lines(&end)),
        FoundObject::Nothing | FoundObject::Folder(_) => None,
    }
}

/// Drops a first line that was cut, because it may have lost the mark that says where its text came
/// from.
fn whole_lines(FileEnd { bytes, before, .. }: &FileEnd) -> FileText {
    let but_last = &bytes[..bytes.len().saturating_sub(1)];
    let start = match before {
        0 => 0,
        // The whole text is a single line, so the part of it that was read is kept.
        _ => but_last.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1),
    };
    let text = String::from_utf8_lossy(&bytes[start..]).into_owned();
    FileText { text, before: before + start as u64 }
}
