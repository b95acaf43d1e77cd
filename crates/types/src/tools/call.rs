//! A tool call as people read it: its verb by state, its subject, and its result. These texts are
//! made where the facts are known, so that no surface has to guess them from a name or a sentence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Artifact, DiffLine, DiffLineKind, Preview, ToolEffect, Verdict, diff_lines};

/// A call's label for people. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallLabel {
    pub verb: Verb,
    /// The subject of the call: a path, a question, an address. Empty if the verb is enough.
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CallTarget>,
    /// The change of an edit, if its arguments alone show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<CallChange>,
}

/// The words for a call in each of its states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verb {
    /// `Edit`
    pub plain: String,
    /// `Wants to edit`: a person has to agree first.
    pub wants: String,
    /// `Editing`
    pub doing: String,
    /// `Edited`
    pub did: String,
    /// `Was not allowed to edit`
    pub refused: String,
    /// `Could not edit`
    pub failed: String,
}

/// The target of a call, if it is a single one that a surface can show or open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallTarget {
    pub kind: CallTargetKind,
    pub name: String,
    /// The line in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallTargetKind {
    /// A file of the vault.
    File,
    Address,
    Command,
    Agent,
    Session,
    Person,
}

/// An edit as a unified diff, with its lines counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallChange {
    pub unified: String,
    /// The lines of `unified`, each with its kind.
    #[serde(default)]
    pub diff_lines: Vec<DiffLine>,
    pub added: usize,
    pub removed: usize,
}

impl CallChange {
    pub fn new(unified: String, lines: LineCounts) -> Self {
        let LineCounts { added, removed } = lines;
        Self { diff_lines: diff_lines(&unified), unified, added, removed }
    }

    pub const fn lines(&self) -> LineCounts {
        LineCounts { added: self.added, removed: self.removed }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineCounts {
    pub added: usize,
    pub removed: usize,
}

/// The result of a call, beside what the model reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReport {
    pub state: CallState,
    /// The strictest effect in the plan; absent if there was no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<ToolEffect>,
    /// How many lines of text the plan changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
    /// For a dry run: what would have been done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<Rehearsal>,
    /// An output that was too long for the model, or a text that the call attached to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    #[default]
    Done,
    Failed,
    /// The gate, the tool or a person refused the call; nothing was done.
    Refused,
    /// The call waits for a person; nothing has been done yet.
    Waiting,
    /// The call was part of a dry run; nothing was done.
    Rehearsed,
}

/// A call that a dry run only planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// One line for people.
    pub summary: String,
    /// The gate's verdict on the call.
    pub verdict: Verdict,
    pub preview: Preview,
}

impl Verb {
    /// Makes a verb from the three forms of an English verb in lower case, with its fixed words:
    /// `edit, editing, edited`, `search memory for, searching memory for, …`.
    pub fn new(plain: &str, doing: &str, did: &str) -> Self {
        Self {
            plain: capitalised(plain),
            wants: format!("Wants to {plain}"),
            doing: capitalised(doing),
            did: capitalised(did),
            refused: format!("Was not allowed to {plain}"),
            failed: format!("Could not {plain}"),
        }
    }

    /// A label with this subject and no more details.
    pub fn of(self, subject: impl Into<String>) -> CallLabel {
        CallLabel { verb: self, subject: subject.into(), target: None, change: None }
    }
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

impl CallLabel {
    #[must_use]
    pub fn about(mut self, kind: CallTargetKind, name: impl Into<String>) -> Self {
        self.target = Some(CallTarget { kind, name: name.into(), line: None });
        self
    }

    /// A label about the file that the subject names.
    #[must_use]
    pub fn about_file(self) -> Self {
        let path = self.subject.clone();
        self.about(CallTargetKind::File, path)
    }

    /// The call in one line, verb first: `Edit notes.md +2 −1`.
    pub fn summary(&self) -> String {
        let mut line = self.verb.plain.clone();
        if !self.subject.is_empty() {
            line.push(' ');
            line.push_str(&self.subject);
        }
        if let Some(change) = &self.change {
            line.push_str(&format!(" {}", change.lines()));
        }
        line
    }
}

/// `+2 −1`
impl std::fmt::Display for LineCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "+{} −{}", self.added, self.removed)
    }
}

impl LineCounts {
    /// The change in a preview, if it is a change of lines.
    pub fn of(preview: &Preview) -> Option<Self> {
        let Preview::Diff { unified, .. } = preview else { return None };
        let mut counts = Self::default();
        for line in diff_lines(unified) {
            match line.kind {
                DiffLineKind::Removed => counts.removed += 1,
                DiffLineKind::Added => counts.added += 1,
                DiffLineKind::File
                | DiffLineKind::Hunk
                | DiffLineKind::Same
                | DiffLineKind::Note => {}
            }
        }
        Some(counts)
    }
}

impl CallReport {
    /// The state of a result in a log from before call reports were stored.
    pub fn from_before(is_error: bool, has_draft: bool) -> Self {
        let state = match (is_error, has_draft) {
            (true, _) => CallState::Failed,
            (false, true) => CallState::Waiting,
            (false, false) => CallState::Done,
        };
        Self { state, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_has_words_for_every_state() {
        let verb = Verb::new("edit", "editing", "edited");
        let expected = Verb {
            plain: "Edit".into(),
            wants: "Wants to edit".into(),
            doing: "Editing".into(),
            did: "Edited".into(),
            refused: "Was not allowed to edit".into(),
            failed: "Could not edit".into(),
        };
        assert_eq!(verb, expected);
    }

    #[test]
    fn lines_are_counted_in_every_file_of_a_diff_and_its_heads_are_not() {
        let unified = "Note: a.md: steers agents\n--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n one\n-two\n\
            +2\n--- two dashes\n--- b.md\n+++ b.md\n@@ -0,0 +1 @@\n+new\n";
        let preview = Preview::diff("a.md, b.md", unified);
        assert_eq!(LineCounts::of(&preview), Some(LineCounts { added: 2, removed: 2 }));
        assert_eq!(LineCounts::of(&Preview::Text { text: "+1".into() }), None);
    }
}
