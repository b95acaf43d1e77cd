use onyx_types::{LaneId, TurnId};

/// Between the texts of two steps of one answer, wherever they are shown as one.
pub(crate) const PARAGRAPH: &str = "\n\n";

/// The words of an answer as they grow, so that every surface joins the texts of several steps in
/// the same way and none is told twice (a delta and the completed text say the same).
#[derive(Debug, Default)]
pub(super) struct TextFold {
    current: Option<TurnId>,
    /// Bytes told of the current turn.
    told: usize,
    /// Anything told of the whole answer?
    begun: bool,
}

impl TextFold {
    /// What to add to the answer for a piece of a turn's text.
    pub(super) fn delta(&mut self, turn: TurnId, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let lead = self.enter(turn);
        self.told += text.len();
        format!("{lead}{text}")
    }

    /// What to add for a turn's whole text: the part that no delta brought.
    pub(super) fn complete(&mut self, turn: TurnId, text: &str) -> String {
        let told = if self.current == Some(turn) { self.told } else { 0 };
        let rest = text.get(told..).unwrap_or_default();
        self.delta(turn, rest)
    }

    fn enter(&mut self, turn: TurnId) -> &'static str {
        if self.current == Some(turn) {
            return "";
        }
        self.current = Some(turn);
        self.told = 0;
        if std::mem::replace(&mut self.begun, true) { PARAGRAPH } else { "" }
    }
}

/// The texts of several agents, each joined by itself.
#[derive(Debug, Default)]
pub(super) struct LaneTexts(Vec<TextFold>);

impl LaneTexts {
    pub(super) fn delta(&mut self, lane: LaneId, turn: TurnId, text: &str) -> String {
        self.told(lane, |fold| fold.delta(turn, text))
    }

    pub(super) fn complete(&mut self, lane: LaneId, turn: TurnId, text: &str) -> String {
        self.told(lane, |fold| fold.complete(turn, text))
    }

    /// A client that knows no lanes sees the answers as paragraphs of one.
    fn told(&mut self, lane: LaneId, fold: impl FnOnce(&mut TextFold) -> String) -> String {
        let index = usize::from(lane.0);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, TextFold::default);
        }
        let first_of_lane = !self.0[index].begun && self.0.iter().any(|other| other.begun);
        let text = fold(&mut self.0[index]);
        if first_of_lane && !text.is_empty() { format!("{PARAGRAPH}{text}") } else { text }
    }
}
