//! An agent's folder: its persona, its memory, its skills, and the person's files beside them.

use std::collections::BTreeMap;
use std::path::Path;

use onyx_types::{AgentId, slug};

use crate::error::ImportError;
use crate::form::{ImportTarget, ImportedFile, ImportedSkill, Item, SkillFile};
use crate::reading::{FoundFile, Reading, walk};

const PERSONA: [&str; 5] = ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md"];

/// The name as a valid agent id; `None` if no part of it is valid.
pub(crate) fn agent_id(name: &str) -> Option<AgentId> {
    if let Ok(id) = name.parse() {
        return Some(id);
    }
    let kept = slug(name);
    let kept = kept.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(48);
    kept.collect::<String>().trim_matches('-').parse().ok()
}

pub(super) fn read(
    folder: &Path,
    program: &str,
    agent: &AgentId,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let files = found(folder, &agent.to_string(), reading)?;
    let (skills, files): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.path.starts_with("skills/"));
    add_skills(skills, "skills/", reading);
    workspace_files(files, program, agent, reading);
    Ok(())
}

fn found(folder: &Path, shown: &str, reading: &mut Reading) -> Result<Vec<FoundFile>, ImportError> {
    let mut left_out = Vec::new();
    let files = walk(folder, &mut left_out)?;
    for (path, why) in left_out {
        reading.left_out(format!("{shown}/{path}"), why);
    }
    Ok(files)
}

/// Imports each known file to its place in Onyx, and all others into the vault.
pub(crate) fn workspace_files(
    files: Vec<FoundFile>,
    program: &str,
    agent: &AgentId,
    reading: &mut Reading,
) {
    for FoundFile { path, content } in files {
        let (place, path) = match path.as_str() {
            name if PERSONA.contains(&name) => {
                (ImportTarget::Persona { agent: agent.clone() }, path)
            }
            "USER.md" => (ImportTarget::User, path),
            "BOOTSTRAP.md" => {
                reading
                    .left_out(format!("{agent}/{path}"), "it is only for an agent's first start");
                continue;
            }
            "memory.md" => (ImportTarget::Memory { agent: agent.clone() }, "MEMORY.md".to_owned()),
            "MEMORY.md" => (ImportTarget::Memory { agent: agent.clone() }, path),
            _ => match path.strip_prefix("memory/").filter(|name| name.ends_with(".md")) {
                Some(name) => (ImportTarget::Memory { agent: agent.clone() }, in_memory(name)),
                None => (ImportTarget::Vault, format!("{program}/{agent}/{path}")),
            },
        };
        if std::str::from_utf8(&content).is_err() && place != ImportTarget::Vault {
            reading.left_out(format!("{agent}/{path}"), "it is not UTF-8");
            continue;
        }
        reading.add(Item::File(ImportedFile { place, path, content }));
    }
}

/// The path of a memory file in Onyx: files named after a day are daily logs, and others keep their
/// names.
fn in_memory(name: &str) -> String {
    let day = name.trim_end_matches(".md");
    let is_day = day.len() == 10
        && day.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if is_day { format!("daily/{name}") } else { name.to_owned() }
}

/// Adds the skills that every agent has.
pub(super) fn skills(folder: &Path, reading: &mut Reading) -> Result<(), ImportError> {
    if folder.is_dir() {
        let files = found(folder, "skills", reading)?;
        add_skills(files, "", reading);
    }
    Ok(())
}

/// Adds the skills below a folder.
pub(crate) fn skill_folder(folder: &Path, reading: &mut Reading) -> Result<(), ImportError> {
    skills(folder, reading)
}

fn add_skills(files: Vec<FoundFile>, prefix: &str, reading: &mut Reading) {
    let mut folders: BTreeMap<String, Vec<SkillFile>> = BTreeMap::new();
    for FoundFile { path, content } in files {
        let below = path.strip_prefix(prefix).unwrap_or(&path);
        match below.split_once('/') {
            Some((folder, rest)) => {
                let file = SkillFile { path: rest.to_owned(), content };
                folders.entry(folder.to_owned()).or_default().push(file);
            }
            // A single markdown file is also a skill.
            None => match below.strip_suffix(".md") {
                Some(name) => {
                    let file = SkillFile { path: "SKILL.md".to_owned(), content };
                    folders.entry(name.to_owned()).or_default().push(file);
                }
                None => reading.left_out(path, "it is not a skill"),
            },
        }
    }
    for (folder, files) in folders {
        let Some(head) = files.iter().find(|file| file.path == "SKILL.md") else {
            reading.left_out(format!("skill {folder}"), "it has no SKILL.md");
            continue;
        };
        let text = String::from_utf8_lossy(&head.content);
        let (matter, _) = onyx_storage::FrontMatter::split(&text);
        let named = matter.text("name").unwrap_or_else(|| folder.clone());
        let name = skill_name(&named);
        if name != folder {
            reading.renamed(format!("skill {folder}"), name.clone());
        }
        reading.add(Item::Skill(ImportedSkill { name, files }));
    }
}

fn skill_name(name: &str) -> String {
    let kept = slug(name);
    let kept: String = kept.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let parts: Vec<&str> = kept.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-").chars().take(64).collect()
}
