//! Shows a change of a document's file by its fields and its body.

use onyx_storage::FrontMatter;
use onyx_types::{DiffLine, DiffLineKind, DocumentField, DocumentPreview, EntityRef, diff_lines};
use similar::TextDiff;

use super::diff::DIFF_TIME;

/// Fields that no decision depends on. Only the file's diff shows them.
const KEPT_BY_ONYX: [&str; 4] = ["id", "created", "updated", "origin"];
const TITLE: &str = "title";

/// The change of a document; `None` if the file is no page, task, ref or project.
pub(super) fn document(path: &str, old: &str, new: &str) -> Option<DocumentPreview> {
    let kind = EntityRef::of_path(path)?.kind;
    let ((before, old_body), (after, new_body)) =
        (FrontMatter::split(old), FrontMatter::split(new));
    let mut names: Vec<&str> = before.keys().collect();
    names.extend(after.keys().filter(|name| before.keys().all(|known| known != *name)));
    let fields = names.into_iter().filter_map(|name| field(name, &before, &after));
    Some(DocumentPreview {
        kind,
        is_new: old.is_empty(),
        title: after.text(TITLE).or_else(|| before.text(TITLE)),
        fields: fields.collect(),
        // Most editors leave an empty line below the fields, so it is not shown as a change.
        body: changed_lines(old_body.trim_start_matches('\n'), new_body.trim_start_matches('\n')),
    })
}

/// The change of a field; `None` if it did not change.
fn field(name: &str, before: &FrontMatter, after: &FrontMatter) -> Option<DocumentField> {
    let value = |matter: &FrontMatter| {
        matter.keys().any(|known| known == name).then(|| matter.list(name).join(", "))
    };
    let (before, after) = (value(before), value(after));
    // The title of a new document is shown above its fields.
    let is_new_title = name == TITLE && before.is_none();
    if before == after || is_new_title || KEPT_BY_ONYX.contains(&name) {
        return None;
    }
    Some(DocumentField { name: name.to_owned(), label: label(name), before, after })
}

/// The name of a field for people: `due_date` becomes `Due date`.
fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn changed_lines(old: &str, new: &str) -> Vec<DiffLine> {
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, new);
    let lines = diff_lines(&diff.unified_diff().to_string()).into_iter();
    let is_text = |line: &DiffLine| match line.kind {
        DiffLineKind::Same | DiffLineKind::Added | DiffLineKind::Removed => true,
        DiffLineKind::File | DiffLineKind::Hunk | DiffLineKind::Note => false,
    };
    lines.filter(is_text).collect()
}

#[cfg(test)]
mod tests {
    use onyx_types::EntityKind;

    use super::*;

    const PATH: &str = "spaces/home/tasks/floor.md";

    fn line(kind: DiffLineKind, text: &str) -> DiffLine {
        DiffLine { kind, text: text.to_owned() }
    }

    fn fields(preview: &DocumentPreview) -> Vec<(&str, Option<&str>, Option<&str>)> {
        let fields = preview.fields.iter();
        fields.map(|at| (at.label.as_str(), at.before.as_deref(), at.after.as_deref())).collect()
    }

    #[test]
    fn a_new_document_is_its_title_its_fields_and_its_text() {
        let new = "---\ntitle: \"Floor: oak\"\nstatus: todo\ncreated: 2026-11-16T22:27:29Z\n\
            origin: agent_tainted\ndue_date: \"\"\ntags: [floor, wood]\n---\nTwo mills.\n---\n";
        let shown = document(PATH, "", new).unwrap();
        assert_eq!((shown.kind, shown.is_new), (EntityKind::Task, true));
        assert_eq!(shown.title.as_deref(), Some("Floor: oak"));
        let expected = [
            ("Status", None, Some("todo")),
            ("Due date", None, Some("")),
            ("Tags", None, Some("floor, wood")),
        ];
        assert_eq!(fields(&shown), expected);
        let added = |text| line(DiffLineKind::Added, text);
        assert_eq!(shown.body, [added("Two mills."), added("---")]);
    }

    #[test]
    fn a_changed_document_names_the_fields_that_differ_with_what_they_held() {
        let old = "---\ntitle: Floor\nstatus: todo\nowner: Anna\n---\nTwo mills.\nOne price.\n";
        let new = "---\ntitle: Floor\nstatus: doing\n---\nTwo mills.\nprice: 64\n";
        let shown = document(PATH, old, new).unwrap();
        assert_eq!((shown.is_new, shown.title.as_deref()), (false, Some("Floor")));
        let expected = [("Status", Some("todo"), Some("doing")), ("Owner", Some("Anna"), None)];
        assert_eq!(fields(&shown), expected);
        let body = [
            line(DiffLineKind::Same, "Two mills."),
            line(DiffLineKind::Removed, "One price."),
            line(DiffLineKind::Added, "price: 64"),
        ];
        assert_eq!(shown.body, body);
    }

    #[test]
    fn other_files_are_no_documents() {
        assert_eq!(document("vault/notes/a.md", "", "hi\n"), None);
    }
}
