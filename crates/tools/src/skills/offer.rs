//! What a prompt says of skills, and how an agent opens a skill.

use std::fmt::Write as _;
use std::sync::PoisonError;

use onyx_storage::{Acceptance, FoundObject, StoreError, Wanted};
use onyx_types::{AgentId, Fault, PersonId};

use super::find::{Entry, MOST_BYTES};
use super::{Skill, SkillHead, SkillPlace, SkillState, Skills, SkillsCore, places};
use crate::ToolError;

/// What all lines together may take of a prompt.
const PROMPT_BYTES: usize = 4 * 1024;
/// The most bytes of one description, where all of them whole would take more than that.
const SHORT_DESCRIPTION: usize = 120;

const INTRODUCTION: &str = "Instructions for certain kinds of work. Before such work, open the one that fits with `skill`.";

/// A skill as a prompt names it.
struct Line {
    name: String,
    description: String,
}

impl Skills {
    /// The part of a prompt that names the skills an agent can open for this person; `None`: there
    /// are none. A skill that is not accepted is not named, since its description is foreign text.
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

    /// One line for each, for a model that asks what there is.
    pub(crate) async fn overview(
        &self,
        person: &PersonId,
        agent: &AgentId,
    ) -> Result<String, Fault> {
        let lines = self.shared.lines(person, agent).await?;
        Ok(lines.iter().map(Line::whole).collect())
    }

    /// A skill that an agent may follow, all of it judged by the bytes that are given.
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
    /// The skills that count for an agent, by name. Cheap: every run asks. Only each `SKILL.md` is
    /// looked at; whether the other files are as they were accepted is judged when one is opened.
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
            Ok((*place, Wanted::File { key, max_bytes: MOST_BYTES }))
        });
        let wanted = wanted.collect::<Result<Vec<_>, StoreError>>()?;
        // Both are read together, so that a store on another machine is asked once.
        let (found, accepted) =
            tokio::join!(places::find(self, person, wanted), self.acceptances(person));
        let (found, accepted) = (found?, accepted?);
        let mut lines = Vec::new();
        for ((place, entry), found) in candidates.iter().zip(found) {
            // Skills that cannot be read are shown where skills are listed.
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

/// Is this text its owner's words, or exactly what its person accepted?
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

/// Whole descriptions where they fit, else short ones, and as many as fit.
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
        // Writing to a String cannot fail.
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
