//! The report of what a command left behind, for the model, and the rules that apply to vaults and
//! copies alike: which files of a repository are data, which files steer agents or programs, and
//! how a change without approval becomes a proposal.

use onyx_storage::ObjectKey;
use onyx_types::{FileChange, Hash, Origin, Plan, ToolEffect};
use serde_json::json;

use crate::files::{AgentFiles, diff_to_disk};
use crate::{ToolCx, ToolError};

/// The most files that are proposed; further ones are only put back.
const MOST_PROPOSED: usize = 20;
/// The most names that are listed; further ones are only counted.
const MOST_NAMES: usize = 20;
const REPOSITORY: &str = ".git";
/// Names inside a repository that git itself writes all the time. Nothing in them is run, and no
/// tool reads them.
const GIT_DATA: [&str; 12] = [
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "ORIG_HEAD",
    "index",
    "lfs",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];

/// Whether the command may change files that steer agents or the person's own programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    /// It may, because a person approved this very command.
    Free,
    /// It may not: such files are put back afterwards.
    Kept,
}

/// The result of examining a command's changes, for the model.
#[derive(Debug, Default)]
pub(crate) struct CommandChanges {
    pub(super) taken_back: Vec<String>,
    pub(super) too_many: bool,
    /// Files that somebody else changed while the command worked on a copy. The stored files are
    /// kept.
    pub(super) conflicts: Vec<String>,
    /// Entries that cannot be stored, with the reasons.
    pub(super) left_out: Vec<String>,
    /// A sentence about changes that could not be stored.
    pub(super) failed: Option<String>,
    /// A plan that makes the changes of files that were put back.
    pub(crate) proposes: Option<Box<Plan>>,
}

impl CommandChanges {
    pub(super) fn unwatched() -> Self {
        Self { too_many: true, ..Self::default() }
    }

    pub(super) fn failed(why: String) -> Self {
        Self { failed: Some(why), ..Self::default() }
    }

    /// Whether some of the command's changes are not stored.
    pub(crate) fn is_failure(&self) -> bool {
        self.failed.is_some() || !self.conflicts.is_empty()
    }

    /// Adds the result of a later step of the same work.
    pub(crate) fn and(mut self, next: Self) -> Self {
        for (names, more) in [
            (&mut self.taken_back, next.taken_back),
            (&mut self.conflicts, next.conflicts),
            (&mut self.left_out, next.left_out),
        ] {
            for name in more {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        self.too_many |= next.too_many;
        self.failed = self.failed.or(next.failed);
        self.proposes = next.proposes.or(self.proposes);
        self
    }

    pub(crate) fn note(&self) -> String {
        let mut note = String::new();
        if !self.taken_back.is_empty() {
            let names = listed(&self.taken_back);
            note.push_str(&format!(
                "\n[put back as before, since agents or your programs obey them and no person approved it: \
                 {names}]"
            ));
        }
        if self.too_many {
            note.push_str(
                "\n[too many files to compare: every change made meanwhile counts as the command's]",
            );
        }
        if !self.conflicts.is_empty() {
            note.push_str(&format!(
                "\n[not written, since another writer changed it while the command ran; the stored \
                 files stay as they are: {}]",
                listed(&self.conflicts)
            ));
        }
        if !self.left_out.is_empty() {
            note.push_str(&format!("\n[not kept: {}]", listed(&self.left_out)));
        }
        if let Some(failed) = &self.failed {
            note.push_str(&format!("\n[{failed}]"));
        }
        note
    }
}

/// The names as a text, shortened if there are many.
pub(super) fn listed(names: &[String]) -> String {
    let (first, more) = names.split_at(names.len().min(MOST_NAMES));
    let mut list = first.join(", ");
    if !more.is_empty() {
        list.push_str(&format!(" and {} more", more.len()));
    }
    list
}

pub(super) fn is_in_repository(path: &str) -> bool {
    path.split('/').any(|part| part == REPOSITORY)
}

/// Whether the path is part of the data that git itself writes all the time.
pub(super) fn is_git_data(path: &str) -> bool {
    let mut parts = path.split('/').skip_while(|part| *part != REPOSITORY).skip(1);
    parts.any(|part| GIT_DATA.contains(&part))
}

/// The repository of a path in a `.git` folder.
pub(super) fn repository_of(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if part == REPOSITORY {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

/// The change of a file, if it can be shown to a person and written by a tool.
pub(super) fn change_of(
    key: &ObjectKey,
    now: Option<Vec<u8>>,
    origin: Origin,
    vault: &AgentFiles,
    cx: &ToolCx,
) -> Option<FileChange> {
    let after = now.map(String::from_utf8).transpose().ok()?;
    cx.paths.shows(key).then(|| FileChange { target: vault.name(key), after, origin })
}

/// A draft that writes what the command wrote, once it is approved; `base` gives the previous
/// hashes.
pub(super) async fn proposed(
    mut changes: Vec<(ObjectKey, FileChange)>,
    base: impl Fn(&ObjectKey) -> Option<Hash>,
    vault: &AgentFiles,
    tool: &str,
    cx: &ToolCx,
) -> Result<Option<Box<Plan>>, ToolError> {
    changes.truncate(MOST_PROPOSED);
    if changes.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = changes.iter().map(|(key, _)| key.as_str()).collect();
    let summary = format!("Change {} as {tool} did", names.join(", "));
    let content = changes.first().and_then(|(_, change)| change.after.as_deref());
    let arguments = json!({"path": names.first(), "content": content.unwrap_or_default()});
    let targets = changes.iter().map(|(key, _)| vault.target(cx, key, base(key))).collect();
    let mut plan = Plan {
        targets,
        changes: changes.iter().map(|(_, change)| change.clone()).collect(),
        ..Plan::new("write_file", arguments, ToolEffect::Write, summary).draft_only()
    };
    plan.preview = diff_to_disk(&plan, cx).await?;
    Ok(Some(Box::new(plan)))
}
