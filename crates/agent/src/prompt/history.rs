//! The turns of a session as its prompts need them. What is derived from them is updated with each
//! new turn, so that the cost of a turn does not grow with the conversation.

use std::sync::Arc;

use onyx_types::{AgentId, Message, RunStatus, Summary, Taint, Turn, TurnBody, TurnId, Zone};

use super::view::{AgentView, Results};
use super::weight::{turn_bytes, turn_weight};

/// The tool results of this many newest turns are never shortened.
const RECENT: usize = 8;

/// How many views are kept, one for each agent and model that answers; others are built again when
/// needed.
const MOST_VIEWS: usize = 4;

/// The turns that prompts are made of: those after the newest summary, without silent turns and
/// without marks of runs that ended well.
#[derive(Clone, Debug, Default)]
pub struct History {
    turns: Vec<Arc<Turn>>,
    summary: Option<Arc<Turn>>,
    /// The last turn that was added, whether a prompt shows it or not.
    newest: Option<Arc<Turn>>,
    tokens: usize,
    bytes: usize,
    tainted: bool,
    /// The time zone in which prompts give the times of messages.
    zone: Zone,
    views: Vec<AgentView>,
}

impl History {
    /// Sets the time zone in which prompts give the times of messages.
    pub fn tell_times_in(&mut self, zone: Zone) {
        if self.zone != zone {
            self.zone = zone;
            self.views.clear();
        }
    }

    pub fn push(&mut self, turn: Arc<Turn>) {
        self.tainted |= taints(&turn);
        self.newest = Some(Arc::clone(&turn));
        if let TurnBody::Summary(summary) = &turn.body {
            let replaced = summary.replaces.last;
            self.summary = Some(turn);
            self.forget(self.length_through(replaced));
        } else if !is_silent(&turn) && !self.is_mark(&turn) {
            self.tokens += turn_weight(&turn);
            self.bytes += turn_bytes(&turn);
            self.turns.push(turn);
        }
    }

    pub fn turns(&self) -> &[Arc<Turn>] {
        &self.turns
    }

    pub fn summary(&self) -> Option<&Summary> {
        match &self.summary.as_ref()?.body {
            TurnBody::Summary(summary) => Some(summary),
            _ => None,
        }
    }

    /// The last turn of the log, whether a prompt shows it or not.
    pub fn newest(&self) -> Option<&Turn> {
        self.newest.as_deref()
    }

    /// The approximate size of the turns in a prompt, in tokens.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes * (1 + self.views.len())
    }

    /// Whether the session has read content from outside. It stays tainted, because that content is
    /// still in its history.
    pub fn taint(&self) -> Taint {
        if self.tainted { Taint::Tainted } else { Taint::Clean }
    }

    /// The whole conversation as messages for one agent and model. Compaction keeps it short
    /// enough.
    pub fn messages(&mut self, agent: &AgentId, model: &str) -> Arc<Vec<Message>> {
        let known = self.views.iter().position(|view| view.agent == *agent && view.model == model);
        let index = known.unwrap_or_else(|| {
            if self.views.len() == MOST_VIEWS {
                self.views.remove(0);
            }
            let view = AgentView::new(agent, model, self.zone.clone(), self.summary());
            self.views.push(view);
            self.views.len() - 1
        });
        let view = &mut self.views[index];
        for turn in &self.turns[view.turns..] {
            view.add(turn, Results::Whole);
        }
        view.messages()
    }

    /// The conversation within this many tokens: old tool results are shortened, and the oldest
    /// exchanges are left out.
    pub fn messages_within(
        &self,
        agent: &AgentId,
        model: &str,
        budget: usize,
    ) -> Arc<Vec<Message>> {
        let turns = within(&self.turns, budget);
        let recent = turns.len().saturating_sub(RECENT);
        let mut view = AgentView::new(agent, model, self.zone.clone(), self.summary());
        for (index, turn) in turns.iter().enumerate() {
            view.add(turn, if index < recent { Results::Shortened } else { Results::Whole });
        }
        view.messages()
    }

    /// Drops the oldest exchanges that no prompt of this many tokens can hold, but never the newest
    /// exchange.
    pub fn limit(&mut self, tokens: usize) {
        let mut rest = self.tokens;
        let over = self.turns.iter().take_while(|turn| {
            let over = rest > tokens;
            rest -= turn_weight(turn);
            over
        });
        match over.count() {
            0 => {}
            count => self.begin_with_words(count),
        }
    }

    /// Drops turns before the first message of a person, because an answer is of no use without its
    /// question.
    pub fn begin_with_question(&mut self) {
        self.begin_with_words(0);
    }

    /// Begins the history with the first message at or after `place`, or else with the last one
    /// before it.
    fn begin_with_words(&mut self, place: usize) {
        let is_words = |turn: &Arc<Turn>| matches!(turn.body, TurnBody::User(_));
        let after = self.turns[place..].iter().position(is_words).map(|index| place + index);
        let begin = after.or_else(|| self.turns[..place].iter().rposition(is_words));
        if let Some(count) = begin.filter(|count| *count > 0) {
            self.forget(count);
        }
    }

    fn forget(&mut self, count: usize) {
        self.turns.drain(..count);
        self.tokens = self.turns.iter().map(|turn| turn_weight(turn)).sum();
        self.bytes = self.turns.iter().map(|turn| turn_bytes(turn)).sum();
        self.tainted = self.turns.iter().chain(&self.summary).any(|turn| taints(turn));
        self.views.clear();
    }

    /// How many turns there are up to the last turn that a summary replaces. That turn may not be
    /// kept here; then ids are compared, which are in the order of time.
    fn length_through(&self, last: TurnId) -> usize {
        let place = self.turns.iter().position(|turn| turn.id == last);
        place.map_or_else(
            || self.turns.iter().take_while(|turn| turn.id < last).count(),
            |place| place + 1,
        )
    }

    /// Whether the turn marks the start or good end of a run. Prompts show nothing of such marks,
    /// and they are half of a log.
    fn is_mark(&self, turn: &Turn) -> bool {
        let calling = || self.turns.last().is_some_and(|t| matches!(t.body, TurnBody::ToolCall(_)));
        match &turn.body {
            TurnBody::RunStart(_) | TurnBody::Feedback(_) => true,
            // The end of a run also ends the wait for a tool's result, so it is kept after a call.
            TurnBody::RunEnd(end) => end.status == RunStatus::Done && !calling(),
            TurnBody::User(_)
            | TurnBody::Reasoning(_)
            | TurnBody::AssistantText(_)
            | TurnBody::ToolCall(_)
            | TurnBody::ToolResult(_)
            | TurnBody::Decision(_)
            | TurnBody::Summary(_)
            | TurnBody::Unknown(_) => false,
        }
    }
}

impl Extend<Arc<Turn>> for History {
    fn extend<T: IntoIterator<Item = Arc<Turn>>>(&mut self, turns: T) {
        for turn in turns {
            self.push(turn);
        }
    }
}

impl FromIterator<Turn> for History {
    fn from_iter<T: IntoIterator<Item = Turn>>(turns: T) -> Self {
        let mut history = Self::default();
        history.extend(turns.into_iter().map(Arc::new));
        history
    }
}

/// Whether a prompt may begin with this turn.
pub(crate) fn is_question(turn: &Turn) -> bool {
    matches!(turn.body, TurnBody::User(_)) && !is_silent(turn)
}

/// Whether prompts leave the turn out: it was not shown to people, such as the turn that saves
/// memory before compaction, or its message was withdrawn.
fn is_silent(turn: &Turn) -> bool {
    if let TurnBody::User(words) = &turn.body
        && words.withdrawn
    {
        return true;
    }
    turn.extra.get("silent").and_then(serde_json::Value::as_bool).unwrap_or(false)
}

/// Whether an agent that reads this turn has read content from outside.
pub(crate) fn taints(turn: &Turn) -> bool {
    turn.origin.taints() || matches!(&turn.body, TurnBody::User(user) if user.context.is_some())
}

/// Drops the oldest exchanges until the rest fits. Whole exchanges are dropped, so that a call
/// keeps its result; the newest exchange always stays.
fn within(turns: &[Arc<Turn>], budget: usize) -> &[Arc<Turn>] {
    let mut used = 0;
    let mut keep_from = turns.len();
    for (index, turn) in turns.iter().enumerate().rev() {
        used += turn_weight(turn);
        if used > budget && keep_from < turns.len() {
            return &turns[keep_from..];
        }
        if matches!(turn.body, TurnBody::User(_)) {
            keep_from = index;
        }
    }
    turns
}
