//! The forms in which people see a change of a text: the lines of its diff, each with its kind, and
//! the fields and the body of a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EntityKind;

/// A line of a unified diff, without its mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLine {
    pub kind: DiffLineKind,
    #[serde(serialize_with = "crate::serialize_visible")]
    #[schemars(with = "String")]
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffLineKind {
    /// The name of a file before its first hunk.
    File,
    /// The position of the next lines in the file.
    Hunk,
    Same,
    Added,
    Removed,
    /// A note about the change, which is in no file.
    Note,
}

/// A page, task, ref or project as a change would leave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentPreview {
    pub kind: EntityKind,
    pub is_new: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "visible_option")]
    #[schemars(with = "Option<String>")]
    pub title: Option<String>,
    /// The fields that the change sets, alters or removes.
    pub fields: Vec<DocumentField>,
    /// The changed lines of the body with some around them; for a new document, the whole body.
    pub body: Vec<DiffLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentField {
    #[serde(serialize_with = "crate::serialize_visible")]
    #[schemars(with = "String")]
    pub name: String,
    /// The name for people.
    #[serde(serialize_with = "crate::serialize_visible")]
    #[schemars(with = "String")]
    pub label: String,
    /// Absent if the field is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "visible_option")]
    #[schemars(with = "Option<String>")]
    pub before: Option<String>,
    /// Absent if the field is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "visible_option")]
    #[schemars(with = "Option<String>")]
    pub after: Option<String>,
}

fn visible_option<S: serde::Serializer>(text: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => to.serialize_some(&crate::visible(text)),
        None => to.serialize_none(),
    }
}

/// The lines of a unified diff, which may be of several files and begin with a note.
pub fn diff_lines(unified: &str) -> Vec<DiffLine> {
    let lines: Vec<&str> = unified.lines().collect();
    // Two lines before the first hunk of a file name the file.
    let is_head = |at: usize| {
        let starts = |offset: usize, with: &str| {
            lines.get(at + offset).is_some_and(|line| line.starts_with(with))
        };
        starts(0, "--- ") && starts(1, "+++ ") && starts(2, "@@ ")
    };
    let line = |(at, line): (usize, &&str)| {
        let (kind, mark) = match line.as_bytes().first() {
            Some(b'-') if is_head(at) => (DiffLineKind::File, 0),
            Some(b'+') if at > 0 && is_head(at - 1) => (DiffLineKind::File, 0),
            Some(b'-') => (DiffLineKind::Removed, 1),
            Some(b'+') => (DiffLineKind::Added, 1),
            Some(b' ') => (DiffLineKind::Same, 1),
            Some(b'@') => (DiffLineKind::Hunk, 0),
            Some(_) | None => (DiffLineKind::Note, 0),
        };
        DiffLine { kind, text: line[mark..].to_owned() }
    };
    lines.iter().enumerate().map(line).collect()
}

impl DiffLine {
    fn map_text(self, change: &impl Fn(String) -> String) -> Self {
        Self { kind: self.kind, text: change(self.text) }
    }
}

impl DocumentPreview {
    #[must_use]
    pub(super) fn map_text(self, change: &impl Fn(String) -> String) -> Self {
        let field = |field: DocumentField| DocumentField {
            before: field.before.map(change),
            after: field.after.map(change),
            ..field
        };
        Self {
            title: self.title.map(change),
            fields: self.fields.into_iter().map(field).collect(),
            body: self.body.into_iter().map(|line| line.map_text(change)).collect(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_diff_has_its_kind() {
        use DiffLineKind::{Added, File, Hunk, Note, Removed, Same};
        let unified = "Note: a.md steers agents\n--- a.md\n+++ a.md\n@@ -1,3 +1,2 @@\n one\n-two\n\
            --- two dashes\n+2\n\\ No newline at end of file\n(with the file b, 3 bytes)\n";
        let kinds: Vec<_> = diff_lines(unified).into_iter().map(|line| line.kind).collect();
        assert_eq!(kinds, [Note, File, File, Hunk, Same, Removed, Removed, Added, Note, Note]);
        let texts: Vec<_> = diff_lines(unified).into_iter().map(|line| line.text).collect();
        assert_eq!(texts[4..8], ["one", "two", "-- two dashes", "2"]);
    }
}
