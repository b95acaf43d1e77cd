//! The list of skills in a prompt, and the opening of a skill by an agent.

use std::fmt::Write as _;
use std::sync::PoisonError;

use onyx_storage::{Acceptance, FileLookup, FoundObject, StoreError};
use onyx_types::{AgentId, Fault, PersonId};

use super::find::{Entry, MOST_BYTES};
use super::{Skill, SkillHead, SkillPlace, SkillState, Skills, SkillsCore, places};
use crate::ToolError;

/// The most bytes of the list in a prompt.
const PROMPT_BYTES: usize = 4 * 1024;
/// The most bytes of one description, if the list would otherwise be too long.
const SHORT_DESCRIPTION: usize = 120;

const INTRODUCTION: &str = "Instructions for certain kinds of work. Before such work, open the one that fits with `skill`.";

/// A line of the list in a prompt.
struct Line {
    name: String,
    description: String,
}

impl Skills {
    /// The list of skills that an agent can open for this person; `None` if there are none. A skill
    /// that is not accepted is left out, because its description is foreign text.
    pub async fn prompt_text(
        &self,
        person: &PersonId,
        agent: &AgentId,
    ) -> Result<Option<String>, Fault> {
        let lines = self.shared.lines(person, agent).await?;
        let mut offered = self.shared.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = (person.clone(), agent.clone());
        if lines.is_empty() {
            offered.remove(&pair);
            return Ok(None);
        }
        offered.insert(pair);
        Ok(Some(rendered(&lines)))
    }

    /// Lists the skills, one line each, for a model that asks for them.
    pub(crate) async fn overview(
        &self,
        person: &PersonId,
        agent: &AgentId,
    ) -> Result<String, Fault> {
        let lines = self.shared.lines(person, agent).await?;
        Ok(lines.iter().map(Line::whole).collect())
    }

    /// Opens a skill that an agent may follow. It is judged by the same bytes that are returned.
    pub(crate) async fn open(
        &self,
        person: &PersonId,
        agent: &AgentId,
        name: &str,
    ) -> Result<Skill, ToolError> {
        let skill = self.get(person, Some(agent), name).await;
        let skill = skill.map_err(|fault| match fault.code {
            onyx_types::ErrorCode::NotFound => {
                ToolError::NotFound(format!("skill {name:?}; without a name all are listed"))
            }
            _ => ToolError::Failed(fault.message),
        })?;
        let waits = |why: &str| {
            let message = format!("the skill {name} {why}; the person can accept it in the app");
            Err(ToolError::Refused(message))
        };
        match &skill.state {
            SkillState::Ready => Ok(skill),
            SkillState::New | SkillState::Shadowed => waits("was not accepted by the person"),
            SkillState::Changed => waits("is not what the person accepted any more"),
            SkillState::Broken(why) => {
                Err(ToolError::Failed(format!("the skill {name} cannot be opened: {why}")))
            }
        }
    }
}

impl SkillsCore {
    /// The skills that an agent can open, by name. Every run asks for them, so only each `SKILL.md`
    /// is read; the other files are checked when a skill is opened.
    async fn lines(&self, person: &PersonId, agent: &AgentId) -> Result<Vec<Line>, Fault> {
        let places = [SkillPlace::Agent(agent.clone()), SkillPlace::Vault, SkillPlace::VaultShared];
        let entries = self.entries(person, &places).await?;
        let mut candidates: Vec<(&SkillPlace, Entry)> = Vec::new();
        for (place, entries) in places.iter().zip(entries) {
            for entry in entries {
                if !candidates.iter().any(|(_, known)| known.name == entry.name) {
                    candidates.push((place, entry));
                }
            }
        }
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = candidates.iter().map(|(place, entry)| {
            let key = entry.text_path(place)?;
            Ok((*place, FileLookup::File { key, max_bytes: MOST_BYTES }))
        });
        let wanted = wanted.collect::<Result<Vec<_>, StoreError>>()?;
        // Both are read together, so that a store on another machine is asked once.
        let (found, accepted) =
            tokio::join!(places::find(self, person, wanted), self.acceptances(person));
        let (found, accepted) = (found?, accepted?);
        let mut lines = Vec::new();
        for ((place, entry), found) in candidates.iter().zip(found) {
            // Skills that cannot be read are shown where people list skills.
            let Ok(FoundObject::File(object)) = found else { continue };
            let Ok(text) = String::from_utf8(object.bytes) else { continue };
            let is_foreign = self.is_foreign(place, &entry.text_path(place)?).await?;
            if is_foreign || !counts(place, entry, &text, &accepted)? {
                continue;
            }
            if let Ok(head) = SkillHead::read(&entry.name, &text) {
                lines.push(Line { name: entry.name.clone(), description: head.description });
            }
        }
        lines.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(lines)
    }
}

/// Whether this text is its owner's words, or exactly what its person accepted.
fn counts(
    place: &SkillPlace,
    entry: &Entry,
    text: &str,
    accepted: &[Acceptance],
) -> Result<bool, StoreError> {
    let root = entry.root(place)?;
    Ok(match place {
        SkillPlace::Agent(_) => true,
        SkillPlace::Vault | SkillPlace::VaultShared => {
            accepted.iter().any(|row| row.name == root.as_str() && row.content == text)
        }
    })
}

impl Line {
    fn whole(&self) -> String {
        format!("- {}: {}\n", self.name, self.description)
    }

    fn short(&self) -> String {
        let end = self.description.floor_char_boundary(SHORT_DESCRIPTION);
        if end == self.description.len() {
            return self.whole();
        }
        format!("- {}: {}…\n", self.name, &self.description[..end])
    }
}

/// The list with whole descriptions if they fit, else with short ones, and with as many skills as
/// fit.
fn rendered(lines: &[Line]) -> String {
    let mut text = format!("{INTRODUCTION}\n");
    let whole: String = lines.iter().map(Line::whole).collect();
    if whole.len() <= PROMPT_BYTES {
        return text + &whole;
    }
    let mut left_out = 0;
    let mut used = 0;
    for line in lines.iter().map(Line::short) {
        used += line.len();
        if used > PROMPT_BYTES {
            left_out += 1;
        } else {
            text.push_str(&line);
        }
    }
    if left_out > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- and {left_out} more; `skill` without a name lists all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize, description: &str) -> Vec<Line> {
        let line = |number| Line {
            name: format!("skill-{number:03}"),
            description: description.to_owned(),
        };
        (0..count).map(line).collect()
    }

    #[test]
    fn lines_beyond_the_budget_are_shortened_then_counted() {
        assert!(rendered(&lines(3, "Cooks.")).ends_with("- skill-002: Cooks.\n"));
        let shortened = rendered(&lines(20, &"w ".repeat(200)));
        assert!(shortened.contains("skill-019") && shortened.contains('…'));
        let cut = rendered(&lines(500, &"w ".repeat(200)));
        assert!(cut.len() < PROMPT_BYTES + 300, "{}", cut.len());
        assert!(cut.trim_end().ends_with("more; `skill` without a name lists all"), "{cut}");
    }
}
