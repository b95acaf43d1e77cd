//! A slot that this process fires, and its outcome.

use onyx_storage::{JobRow, JobSlot, SlotState};
use onyx_types::{Cancel, SessionId};

use crate::jobs::spec::JobSpec;

/// The most bytes of an answer or output that the history of a job keeps.
const LONGEST_DETAIL: usize = 4 * 1024;

/// A slot that this process has claimed.
pub(in crate::jobs) struct ClaimedSlot {
    pub(in crate::jobs) spec: JobSpec,
    pub(in crate::jobs) row: JobRow,
    pub(in crate::jobs) slot: JobSlot,
    pub(in crate::jobs) cancel: Cancel,
}

/// The outcome of a slot.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::jobs) struct SlotOutcome {
    pub(in crate::jobs) state: SlotState,
    pub(in crate::jobs) detail: String,
    pub(in crate::jobs) session: Option<SessionId>,
    pub(in crate::jobs) cost: Option<f64>,
    /// The run reached a limit on its cost.
    pub(in crate::jobs) over_budget: bool,
}

impl SlotOutcome {
    pub(in crate::jobs) fn new(state: SlotState, detail: impl Into<String>) -> Self {
        let detail = shortened(&detail.into());
        Self { state, detail, session: None, cost: None, over_budget: false }
    }

    pub(in crate::jobs) fn failed(why: impl Into<String>) -> Self {
        Self::new(SlotState::Failed, why)
    }

    pub(in crate::jobs) fn nothing(why: impl Into<String>) -> Self {
        Self::new(SlotState::Nothing, why)
    }

    pub(in crate::jobs) fn replaced(self, why: &str) -> Self {
        Self { state: SlotState::Replaced, detail: why.to_owned(), ..self }
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= LONGEST_DETAIL {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST_DETAIL);
    format!("{}\n[{} more bytes]", &text[..end], text.len() - end)
}
