//! What a command left behind, as the model is shown it, and the rules that hold wherever it worked: which files of a
//! repository are data, which steer agents or programs, and how a change that no person approved becomes a proposal.

use onyx_storage::ObjectKey;
use onyx_types::{FileChange, Hash, Origin, Plan, ToolEffect};
use serde_json::json;

use crate::files::{AgentFiles, diff_to_disk};
use crate::{ToolCx, ToolError};

/// More of them than this are put back but not proposed.
const MOST_PROPOSED: usize = 20;
/// More names than this are counted but not listed.
const MOST_NAMES: usize = 20;
const REPOSITORY: &str = ".git";
/// The names inside a repository that git itself writes all the time. Nothing is run from them and
/// no tool reads them.
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

/// May the command change files that steer agents or the person's own programs?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    /// A person approved this very command.
    Free,
    /// Such files are put back afterwards.
    Kept,
}

/// What was found afterwards, for the model to know.
#[derive(Debug, Default)]
pub(crate) struct CommandChanges {
    pub(super) taken_back: Vec<String>,
    pub(super) too_many: bool,
    /// Somebody else changed these while the command worked on a copy: the stored ones stay.
    pub(super) conflicts: Vec<String>,
    /// What cannot be kept, with why.
    pub(super) left_out: Vec<String>,
    /// What the command changed and could not be stored, in a sentence.
    pub(super) failed: Option<String>,
    /// What the command made of the files that were put back.
    pub(crate) proposes: Option<Box<Plan>>,
}

impl CommandChanges {
    pub(super) fn unwatched() -> Self {
        Self { too_many: true, ..Self::default() }
    }

    pub(super) fn failed(why: String) -> Self {
        Self { failed: Some(why), ..Self::default() }
    }

    /// Is something of what the command wrote not where it should be?
    pub(crate) fn is_failure(&self) -> bool {
        self.failed.is_some() || !self.conflicts.is_empty()
    }

    /// This, and what a later step of the same work left.
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

/// Names for a sentence, the first of many.
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

/// Is it of what git itself writes all the time, or in such a folder?
pub(super) fn is_git_data(path: &str) -> bool {
    let mut parts = path.split('/').skip_while(|part| *part != REPOSITORY).skip(1);
    parts.any(|part| GIT_DATA.contains(&part))
}

/// The repository that a path lies in, by its `.git`.
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

/// What the command made of a file, where a person can be shown it and a tool could write it.
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

/// A draft that, once approved, writes what the command wrote; `base` is what a file held before.
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
