//! Calls that wait for a person. While one does, the run's clock stands still.

use onyx_types::{
    Answer, Author, Event, LaneId, Proposal, StatusCode, ToolOutcome, ToolUseId, Turn, TurnBody,
};

use super::input::{DecidedDraft, Effect};
use super::lane::{Lane, Phase};
use super::state::RunState;

/// The call needs a person now: they are shown what it would do, and the run waits.
pub(super) fn ask(
    state: &mut RunState,
    lane: LaneId,
    id: &ToolUseId,
    outcome: ToolOutcome,
) -> Vec<Effect> {
    let Some(proposal) = outcome.draft.as_deref() else { return Vec::new() };
    let patience = state.limits.confirm_time();
    let Proposal { draft, tool, summary, preview, .. } = proposal.clone();
    let confirm = Event::Confirm {
        draft_id: draft,
        tool,
        summary,
        preview,
        expires_at: state.now.wall.saturating_add(patience),
    };
    let waiting = Event::Status {
        message: "Waiting for you to decide.".to_owned(),
        code: StatusCode::Waiting,
    };
    state.paused_at.get_or_insert(state.now.mono);
    if let Phase::Tools(round) = &mut state.lane(lane).phase {
        round.awaiting.push(id.clone());
    }
    vec![
        Effect::Emit(lane, confirm),
        Effect::Emit(lane, waiting),
        Effect::AwaitDecision(lane, id.clone(), Box::new(outcome), patience),
    ]
}

/// Must a person decide before this outcome is one?
pub(super) fn is_asked(state: &RunState, outcome: &ToolOutcome) -> bool {
    let awaited = outcome.draft.as_ref().is_some_and(|draft| draft.answer == Answer::Awaited);
    awaited && state.stopping_until.is_none()
}

/// A call has its outcome; with the last that waited for a person, the clock goes on.
pub(super) fn answered(state: &mut RunState, lane: LaneId, id: &ToolUseId) {
    if let Phase::Tools(round) = &mut state.lane(lane).phase {
        round.awaiting.retain(|waiting| waiting != id);
    }
    if !state.lanes.iter().any(awaits)
        && let Some(since) = state.paused_at.take()
    {
        state.deadline += state.now.mono.saturating_sub(since);
    }
}

fn awaits(lane: &Lane) -> bool {
    matches!(&lane.phase, Phase::Tools(round) if !round.awaiting.is_empty())
}

pub(super) fn draft_event(outcome: &ToolOutcome) -> Option<Event> {
    let Proposal { draft, tool, summary, preview, answer, .. } = outcome.draft.as_deref()?.clone();
    match answer {
        Answer::Later => Some(Event::Draft { draft_id: draft, tool, summary, preview }),
        // It was told of when the wait began.
        Answer::Awaited | Answer::Given => None,
    }
}

/// What was decided since the last step.
pub(super) fn decision_turns(state: &mut RunState) -> Vec<Turn> {
    let decided = std::mem::take(&mut state.decisions);
    let turn = |DecidedDraft { decision, origin }| {
        let author = Author::Person(state.key.person.clone());
        state.turn(LaneId::default(), author, origin, TurnBody::Decision(decision))
    };
    decided.into_iter().map(turn).collect()
}
