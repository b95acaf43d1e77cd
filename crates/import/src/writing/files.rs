//! Writes files, skills and jobs. All of them are foreign, except an agent's own files: these count
//! as the owner's words, like everything in an agent's folder, and the owner names the folder that
//! they come from.

use onyx_storage::{Area, Change, Expect, Object, ObjectKey, StoreError};
use onyx_types::{Author, Fault, Origin};
use serde_json::{Map, Value};

use super::{ItemOutcome, Mode, Writer};
use crate::form::{ImportTarget, ImportedFile, ImportedJob, ImportedSkill};
use crate::report::Outcome;

const LARGEST: u64 = 64 * 1024 * 1024;
const SKILL_FILE: &str = "SKILL.md";
/// The mark of a daily log's line whose origin is unknown, as `onyx_tools::DailyLog` reads it.
const FOREIGN_LINE: &str = " <!-- agent_tainted -->";

/// A file of a home: the area whose history it belongs to, and its path there.
struct Target {
    area: Area,
    path: ObjectKey,
    origin: Origin,
}

impl Writer<'_> {
    pub(super) async fn file(&self, file: &ImportedFile) -> Result<ItemOutcome, Fault> {
        let target = self.target(file).map_err(Fault::from)?;
        let content = match &file.place {
            ImportTarget::Memory { .. } if file.path.starts_with("daily/") => marked(&file.content),
            ImportTarget::Memory { .. }
            | ImportTarget::Persona { .. }
            | ImportTarget::User
            | ImportTarget::Vault => file.content.clone(),
        };
        let before = self.get(&target).await?;
        let Some(before) = before else { return self.put(&target, None, &content).await };
        if holds(&before.bytes, &content) {
            return Ok(Outcome::AlreadyThere.into());
        }
        match file.place {
            ImportTarget::Memory { .. } | ImportTarget::User => {
                let both = joined(&before.bytes, &content);
                self.put(&target, Some(&before), &both).await
            }
            ImportTarget::Persona { .. } | ImportTarget::Vault => {
                Ok(ItemOutcome::kept("a different file with this name exists"))
            }
        }
    }

    fn target(&self, file: &ImportedFile) -> Result<Target, StoreError> {
        let person = Area::Person(self.person.clone());
        let path = &file.path;
        Ok(match &file.place {
            ImportTarget::Persona { agent } => Target {
                area: Area::Agent(agent.clone()),
                path: path.parse()?,
                origin: Origin::Person,
            },
            ImportTarget::Memory { agent } => Target {
                area: person,
                path: format!("memory/{agent}/{path}").parse()?,
                origin: Origin::External,
            },
            ImportTarget::User => {
                Target { area: person, path: path.parse()?, origin: Origin::External }
            }
            ImportTarget::Vault => Target {
                area: person,
                path: format!("vault/{path}").parse()?,
                origin: Origin::External,
            },
        })
    }

    /// Writes a skill. `SKILL.md` is written last: a folder without it is no skill, so an
    /// interrupted import leaves none.
    pub(super) async fn skill(&self, skill: &ImportedSkill) -> Result<ItemOutcome, Fault> {
        let mut files: Vec<_> = skill.files.iter().collect();
        files.sort_by_key(|file| (file.path == SKILL_FILE, file.path.clone()));
        let mut missing = Vec::new();
        for file in files {
            let path = format!("agent/skills/{}/{}", skill.name, file.path);
            let target = self.in_vault(&path)?;
            match self.get(&target).await? {
                None => missing.push((target, &file.content)),
                Some(here) if here.bytes == file.content => {}
                Some(_) => return Ok(ItemOutcome::kept("a different skill with this name exists")),
            }
        }
        if missing.is_empty() {
            return Ok(Outcome::AlreadyThere.into());
        }
        for (target, content) in missing {
            self.put(&target, None, content).await?;
        }
        Ok(Outcome::New.into())
    }

    /// Writes a job. A job that was not accepted does not fire: it waits in the Inbox. If another
    /// job has the same name, the name of its program is added.
    pub(super) async fn job(&self, job: &ImportedJob) -> Result<ItemOutcome, Fault> {
        let text = job_file(&job.fields, &job.prompt);
        let other = format!("{}-{}", job.id, self.source.as_str());
        for name in [&job.id, &other] {
            let target = self.in_vault(&format!("agent/jobs/{name}.md"))?;
            match self.get(&target).await? {
                None => {
                    let written = self.put(&target, None, text.as_bytes()).await?;
                    let why = (name == &other).then(|| format!("it is called {other} here"));
                    return Ok(ItemOutcome { why, ..written });
                }
                Some(here) if here.bytes == text.as_bytes() => {
                    return Ok(Outcome::AlreadyThere.into());
                }
                Some(_) => {}
            }
        }
        Ok(ItemOutcome::kept("different jobs with this name exist"))
    }

    fn in_vault(&self, path: &str) -> Result<Target, Fault> {
        let path = format!("vault/{path}").parse().map_err(StoreError::from)?;
        Ok(Target { area: Area::Person(self.person.clone()), path, origin: Origin::External })
    }

    async fn get(&self, target: &Target) -> Result<Option<Object>, Fault> {
        // Opening an area creates its folder, which a dry run must not do.
        if self.mode == Mode::DryRun && !self.has_area(&target.area).await? {
            return Ok(None);
        }
        Ok(self.store.files.objects(&target.area)?.get(&target.path, LARGEST).await?)
    }

    async fn has_area(&self, area: &Area) -> Result<bool, Fault> {
        Ok(match area {
            Area::Agent(agent) => self.store.files.agents().await?.contains(agent),
            Area::Person(person) | Area::Vault(person) | Area::Memory(person, _) => {
                self.store.files.people().await?.contains(person)
            }
            Area::Shared => true,
        })
    }

    async fn put(
        &self,
        target: &Target,
        before: Option<&Object>,
        content: &[u8],
    ) -> Result<ItemOutcome, Fault> {
        let outcome = if before.is_some() { Outcome::Added } else { Outcome::New };
        if self.mode == Mode::DryRun {
            return Ok(outcome.into());
        }
        let files = &self.store.files;
        let change = Change {
            ts: self.clock.wall(),
            author: Author::Person(self.person.clone()),
            origin: target.origin,
            run: None,
            tool: format!("import {}", self.source.as_str()),
        };
        let history = files.history_of(&target.area)?;
        history.keep(&target.path, before, Some(content), change).await?;
        let expect = before.map_or(Expect::Absent, |object| Expect::Is(object.hash));
        files.objects(&target.area)?.put(&target.path, content, expect).await?;
        Ok(outcome.into())
    }
}

/// The text of a job's file. JSON values are also YAML, so each field takes one line.
fn job_file(fields: &Map<String, Value>, prompt: &str) -> String {
    let lines: String = fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("---\n{lines}---\n{}\n", prompt.trim())
}

fn holds(here: &[u8], content: &[u8]) -> bool {
    let (Ok(here_text), Ok(text)) = (std::str::from_utf8(here), std::str::from_utf8(content))
    else {
        return here == content;
    };
    here_text.contains(text.trim())
}

fn joined(here: &[u8], content: &[u8]) -> Vec<u8> {
    [here.trim_ascii_end(), b"\n\n", content.trim_ascii(), b"\n"].concat()
}

/// Marks each line of a daily log as foreign.
fn marked(content: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(content);
    let mut marked = String::new();
    for line in text.split(is_line_end) {
        marked.push_str(line.trim_end());
        if !line.trim().is_empty() && !line.contains(FOREIGN_LINE.trim_start()) {
            marked.push_str(FOREIGN_LINE);
        }
        marked.push('\n');
    }
    let end = marked.trim_end().len();
    marked.truncate(end);
    marked.push('\n');
    marked.into_bytes()
}

/// Whether some reader takes this character for the end of a line.
fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
