use onyx_storage::Draft;
use onyx_types::{DraftId, HomePath, Origin, Plan, Taint};

/// A session's open drafts. The session's own reads see the files as the drafts would leave them,
/// with a label, and its next edits build on that.
#[derive(Clone, Debug, Default)]
pub struct Pending(Vec<Draft>);

/// A file as an open draft would leave it.
pub(crate) struct PendingFile<'a> {
    pub(crate) draft: DraftId,
    /// The text that the file would have; `None` if the file would be deleted.
    pub(crate) text: Option<&'a str>,
    pub(crate) origin: Origin,
}

impl Pending {
    pub(crate) fn new(drafts: Vec<Draft>) -> Self {
        Self(drafts)
    }

    pub(crate) fn file(&self, path: &HomePath) -> Option<PendingFile<'_>> {
        let change_of =
            |draft: &'_ Draft| draft.plan.changes.iter().position(|c| c.target == *path);
        let (draft, index) =
            self.0.iter().rev().find_map(|draft| Some((draft, change_of(draft)?)))?;
        let change = &draft.plan.changes[index];
        let by = match draft.taint {
            Taint::Clean => Origin::Agent,
            Taint::Tainted => Origin::AgentTainted,
        };
        let (text, origin) = (change.after.as_deref(), change.origin.max(by));
        Some(PendingFile { draft: draft.id, text, origin })
    }

    /// The drafts that have a target in common with the plan.
    pub(crate) fn touched_by(&self, plan: &Plan) -> Vec<&Draft> {
        self.0.iter().filter(|draft| draft.touches(plan)).collect()
    }
}
