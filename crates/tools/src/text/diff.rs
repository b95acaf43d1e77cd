use std::time::Duration;

use onyx_types::{CallChange, LineCounts, Preview, diff_lines};
use similar::{ChangeTag, TextDiff};

use super::document::document;

/// The time limit of a diff. After it a less exact diff is used.
pub(super) const DIFF_TIME: Duration = Duration::from_millis(200);

/// The difference between two texts, for people.
pub(crate) struct Change {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) preview: Preview,
}

impl Change {
    pub(crate) fn between(path: &str, old: &str, new: &str) -> Self {
        let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, new);
        let (mut added, mut removed) = (0, 0);
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => added += 1,
                ChangeTag::Delete => removed += 1,
                ChangeTag::Equal => {}
            }
        }
        let unified = diff.unified_diff().header(path, path).to_string();
        let preview = Preview::Diff {
            path: path.to_owned(),
            diff_lines: diff_lines(&unified),
            unified,
            document: document(path, old, new).map(Box::new),
        };
        Self { added, removed, preview }
    }

    /// The numbers of added and removed lines, such as `+2 −1`.
    pub(crate) fn counts(&self) -> String {
        self.lines().to_string()
    }

    /// The change as a call's label shows it.
    pub(crate) fn shown(self) -> CallChange {
        let lines = self.lines();
        let unified = match self.preview {
            Preview::Diff { unified, .. } => unified,
            Preview::None | Preview::Text { .. } | Preview::Choice { .. } => String::new(),
        };
        CallChange::new(unified, lines)
    }

    fn lines(&self) -> LineCounts {
        LineCounts { added: self.added, removed: self.removed }
    }
}

/// The difference between two versions of a file, as a unified diff.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    match Change::between(path, old, new).preview {
        Preview::Diff { unified, .. } => unified,
        Preview::None | Preview::Text { .. } | Preview::Choice { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_counted_in_lines_and_shown_as_a_unified_diff() {
        let change = Change::between("a.md", "one\ntwo\n", "one\n2\nthree\n");
        assert_eq!(change.counts(), "+2 −1");
        assert_eq!(
            change.preview,
            Preview::diff("a.md", "--- a.md\n+++ a.md\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n")
        );
    }
}
