//! All files of a home that belong to a person or steer agents, byte by byte.

use std::collections::BTreeMap;
use std::path::Path;

/// Folders that Onyx and git keep for themselves. Of git's only the loss of commits counts.
const OURS: [&str; 5] = ["cache", "history", "sessions", ".git", "logs"];

pub(crate) type Tree = BTreeMap<String, Vec<u8>>;

pub(crate) fn tree(home: &Path) -> Tree {
    let mut files = Tree::new();
    gather(home, home, &mut files);
    files.retain(|path, _| {
        !path.starts_with("onyx.db") && !path.starts_with("onyx.lock") && !path.ends_with(".sock")
    });
    files
}

fn gather(home: &Path, folder: &Path, files: &mut Tree) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() && !OURS.contains(&name.as_str()) {
            gather(home, &path, files);
        } else if kind.is_file() {
            let key = path.strip_prefix(home).unwrap().to_string_lossy().into_owned();
            files.insert(key, std::fs::read(&path).unwrap());
        }
    }
}

/// The paths that differ.
pub(crate) fn changed(before: &Tree, after: &Tree) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut paths: Vec<String> =
        names.filter(|path| before.get(*path) != after.get(*path)).cloned().collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The list is repeated here, independently of the gate, so that the two can disagree.
pub(crate) fn steers_agents(path: &str) -> bool {
    const NAMES: [&str; 11] = [
        "agents.md",
        "soul.md",
        "user.md",
        "memory.md",
        "identity.md",
        "heartbeat.md",
        "tools.md",
        "skill.md",
        "onyx.json",
        "agent.json",
        ".env",
    ];
    let path = path.to_uppercase().to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("agents/")
        || NAMES.contains(&name)
        || ["/actions/", "/skills/", "/jobs/"].iter().any(|folder| path.contains(folder))
}
