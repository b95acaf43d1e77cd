//! Recognises files that steer agents or the person's own programs. A tainted run that could write
//! one would plant an instruction for a later, clean run, so such a write needs a person's
//! approval.

use onyx_storage::ObjectKey;

use super::program_path;

/// The reason for files that agents obey, to be put after the path.
pub(crate) const STEERS_AGENTS: &str = "agents take what it says for instructions.";
pub(crate) const PROTECTED: &str = "the config protects it.";

/// Names of files that become part of a prompt or of the config. They count in every folder,
/// because any folder can become an agent's workspace or a vault later.
const NAMES: [&str; 10] = [
    "agents.md",
    "heartbeat.md",
    "identity.md",
    "memory.md",
    "onyx.json",
    "skill.md",
    "soul.md",
    "tools.md",
    "user.md",
    ".env",
];

/// Folders whose files are instructions. They count everywhere, for the same reason.
const FOLDERS: [&str; 3] = ["actions", "jobs", "skills"];

/// Onyx's own folder in a vault. All of it steers agents, except the folders in `NOT_STEERING`.
const AGENT_FOLDER: &str = "agent";
const NOT_STEERING: [&str; 2] = ["scratch", "runs"];

/// Why a file of the vault is an instruction, as a sentence to be put after its path; `None` if it
/// is not.
pub(crate) fn in_vault(key: &ObjectKey) -> Option<&'static str> {
    let parts: Vec<String> = key.parts().map(folded).collect();
    if steers_agents(&parts) {
        return Some(STEERS_AGENTS);
    }
    program_path::why(&parts)
}

fn steers_agents(parts: &[String]) -> bool {
    let Some((name, folders)) = parts.split_last() else { return true };
    let in_agent_folder = match folders {
        [first, rest @ ..] if first == AGENT_FOLDER => match rest {
            [second, ..] => !NOT_STEERING.contains(&second.as_str()),
            [] => true,
        },
        _ => false,
    };
    in_agent_folder
        || NAMES.contains(&name.as_str())
        || folders.iter().any(|folder| FOLDERS.contains(&folder.as_str()))
}

/// Whether the file holds facts that go into every prompt. Daily logs do not count, because they
/// mark tainted lines.
pub(crate) fn in_memory(key: &ObjectKey) -> bool {
    key.parts().next().map(folded).as_deref() != Some("daily")
}

/// Whether the path is this file, or in this folder.
pub(crate) fn stands_under(key: &ObjectKey, place: &ObjectKey) -> bool {
    let mut parts = key.parts().map(folded);
    place.parts().map(folded).all(|part| parts.next() == Some(part))
}

/// The name in the form by which file systems that ignore case compare it: `AGENTſ.md` opens
/// `agents.md` there.
fn folded(part: &str) -> String {
    part.to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str) -> ObjectKey {
        path.parse().unwrap()
    }

    #[test]
    fn what_steers_agents_is_known_by_any_spelling() {
        for path in [
            "agents.md",
            "AGENTS.md",
            "agent\u{17f}.md",
            "project/agents.md",
            "agent/memory.md",
            "agent/new-kind-of-file.json",
            "agent/actions/tidy.md",
            "Agent/Actions/tidy.md",
            "work/skills/cook/notes.md",
            "work/jobs/daily.json",
            "SOUL.md",
            "memory/main/MEMORY.md",
            "onyx.json",
        ] {
            assert_eq!(in_vault(&key(path)), Some(STEERS_AGENTS), "{path}");
        }
    }

    #[test]
    fn ordinary_notes_do_not_steer() {
        for path in ["notes.md", "agent/scratch/a.md", "agent/runs/2026/01/01/x.md", "agents/x.md"]
        {
            assert_eq!(in_vault(&key(path)), None, "{path}");
        }
    }

    #[test]
    fn what_the_persons_programs_run_counts_too_by_any_spelling() {
        for path in ["x/HEAD", "MAKEFILE", "web/Package.JSON"] {
            assert!(in_vault(&key(path)).is_some_and(|why| why != STEERS_AGENTS), "{path}");
        }
    }

    #[test]
    fn of_memory_all_but_the_daily_logs_steers() {
        assert!(in_memory(&key("MEMORY.md")));
        assert!(!in_memory(&key("daily/2026-01-01.md")));
    }
}
