//! What an agent proposed for its MEMORY.md before and a person rejected or has yet to decide, so
//! that memory keeping does not propose the same again.

use std::collections::HashMap;

use onyx_storage::{Draft, DraftFilter, Drafts};
use onyx_types::{AgentId, DraftId, DraftState, Fault, PersonId, Taint};
use serde::Deserialize;
use serde_json::json;

/// How many drafts of each state are read, newest first.
const MOST_DRAFTS: u32 = 50;
/// How many proposals are shown to the agent.
const MOST_PROPOSALS: usize = 40;
/// The most bytes of all proposals together.
const MOST_BYTES: usize = 12 * 1024;
/// The most bytes of one field; the rest is left out.
const LONGEST_FIELD: usize = 600;

const TOOL: &str = "memory_write";
/// The states of a proposal that is not to be repeated, and the word for each in the prompt. A stale
/// draft waits for a person like a pending one.
const SHOWN: [(DraftState, &str); 3] = [
    (DraftState::Rejected, "rejected"),
    (DraftState::Pending, "pending"),
    (DraftState::Stale, "pending"),
];

/// The arguments in the plan of a draft that changes MEMORY.md.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum PlannedNote {
    Fact { heading: String, text: String, replaces: Option<String> },
}

/// The state of the draft on which a person decides, and the reason that the person gave.
struct ProposalState {
    word: &'static str,
    reason: Option<String>,
}

/// The proposals as one JSON object a line, newest first; `None` if there are none. They are
/// written as JSON, so that no text in them can look like another part of the prompt.
pub(super) async fn earlier_proposals(
    drafts: &dyn Drafts,
    person: &PersonId,
    agent: &AgentId,
) -> Result<Option<String>, Fault> {
    let (mut proposed, mut states) = (Vec::new(), HashMap::new());
    for (state, word) in SHOWN {
        for draft in page(drafts, person, state).await? {
            let shown = ProposalState { word, reason: draft.reason.clone() };
            states.insert(draft.id, shown);
            proposed.push(draft);
        }
    }
    // A draft that a later one of the same run was combined with shares the decision on that one.
    let replaced = page(drafts, person, DraftState::Superseded).await?;
    let successors: HashMap<_, _> =
        replaced.iter().filter_map(|draft| Some((draft.id, draft.superseded_by?))).collect();
    proposed.extend(replaced);
    proposed.retain(|draft| draft.agent == *agent && is_trusted(draft));
    proposed.sort_by_key(|draft| std::cmp::Reverse((draft.created_at, draft.id)));
    let lines = proposed.iter().filter_map(|draft| {
        let state = states.get(&last_of(draft.id, &successors))?;
        line_of(draft, state)
    });
    Ok(within_limits(lines))
}

async fn page(
    drafts: &dyn Drafts,
    person: &PersonId,
    state: DraftState,
) -> Result<Vec<Draft>, Fault> {
    let filter = DraftFilter { state: Some(state), limit: MOST_DRAFTS, ..DraftFilter::default() };
    Ok(drafts.drafts(person, &filter).await?)
}

/// Whether the run that proposed this had read no foreign text. The words of other runs are left
/// out, because foreign text must not get into memory by itself.
fn is_trusted(draft: &Draft) -> bool {
    match draft.taint {
        Taint::Clean => true,
        Taint::Tainted => false,
    }
}

/// The draft that a draft ended up in after all combinations.
fn last_of(draft: DraftId, successors: &HashMap<DraftId, DraftId>) -> DraftId {
    let mut last = draft;
    // No chain is longer than the number of links, so a circle in damaged data ends too.
    for _ in 0..successors.len() {
        match successors.get(&last) {
            Some(next) => last = *next,
            None => break,
        }
    }
    last
}

/// The line for a draft; `None` if the draft does not change MEMORY.md.
fn line_of(draft: &Draft, state: &ProposalState) -> Option<String> {
    if *draft.plan.tool != *TOOL {
        return None;
    }
    // An entry of a daily log has other arguments, and it is not what keeping proposes.
    let PlannedNote::Fact { heading, text, replaces } =
        PlannedNote::deserialize(&draft.plan.arguments).ok()?;
    let line = json!({
        "state": state.word,
        "heading": shortened(&heading),
        "text": shortened(&text),
        "replaces": replaces.as_deref().map(shortened),
        "reason": state.reason.as_deref().map(shortened),
    });
    Some(line.to_string())
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_FIELD)]
}

/// The newest lines that fit.
fn within_limits(lines: impl Iterator<Item = String>) -> Option<String> {
    let (mut shown, mut left) = (Vec::new(), MOST_BYTES);
    for line in lines.take(MOST_PROPOSALS) {
        let Some(rest) = left.checked_sub(line.len() + 1) else { break };
        left = rest;
        shown.push(line);
    }
    (!shown.is_empty()).then(|| shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proposals_are_limited_in_number_and_bytes() {
        let of = |lines: usize, bytes: usize| {
            let lines = std::iter::repeat_n("x".repeat(bytes), lines);
            within_limits(lines).map_or(0, |text| text.lines().count())
        };
        assert_eq!((of(0, 1), of(1, 1)), (0, 1));
        assert_eq!(of(1_000, 10), MOST_PROPOSALS);
        assert_eq!(of(1_000, MOST_BYTES / 4), 3);
    }
}
