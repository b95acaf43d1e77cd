use onyx_types::{LaneId, TurnId};

/// Separates the texts of two steps of one answer when they are shown as one text.
pub const PARAGRAPH: &str = "\n\n";

/// New words of an answer, and the kind of text before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'a> {
    pub text: &'a str,
    after: TextBefore,
}

/// What comes before this text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextBefore {
    /// Nothing comes before it.
    Nothing,
    /// Words of the same turn.
    SameTurn,
    /// An earlier step of the same agent's answer.
    EarlierStep,
    /// The text of another agent; this is the first text of its own agent.
    OtherAgent,
}

impl Words<'_> {
    /// The separator before the text if each agent's answer is shown on its own.
    pub const fn lead_in_answer(&self) -> &'static str {
        match self.after {
            TextBefore::EarlierStep => PARAGRAPH,
            TextBefore::Nothing | TextBefore::SameTurn | TextBefore::OtherAgent => "",
        }
    }

    /// The separator before the text if all answers are shown as paragraphs of one text, because
    /// the client has no notion of agents.
    pub const fn lead_in_run(&self) -> &'static str {
        match self.after {
            TextBefore::EarlierStep | TextBefore::OtherAgent => PARAGRAPH,
            TextBefore::Nothing | TextBefore::SameTurn => "",
        }
    }

    /// The text with its separator, if each agent's answer is shown on its own.
    pub fn in_answer(&self) -> String {
        [self.lead_in_answer(), self.text].concat()
    }

    /// The text with its separator, if all answers are shown as one text.
    pub fn in_run(&self) -> String {
        [self.lead_in_run(), self.text].concat()
    }
}

/// The texts of a run's agents as they grow. Every surface joins the texts of several steps in the
/// same way, and none shows a text twice, although the deltas and the completed text hold the same.
#[derive(Debug, Default)]
pub(crate) struct LaneTexts(Vec<LaneText>);

#[derive(Debug, Default)]
struct LaneText {
    /// The turn whose text is arriving.
    turn: Option<TurnId>,
    /// How many bytes of that turn's text were sent.
    said: usize,
}

impl LaneTexts {
    /// A piece of a turn's text. `None` if it is empty.
    pub(crate) fn delta<'a>(
        &mut self,
        lane: LaneId,
        turn: TurnId,
        text: &'a str,
    ) -> Option<Words<'a>> {
        if text.is_empty() {
            return None;
        }
        let index = usize::from(lane.0);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, LaneText::default);
        }
        let others_spoke = self.0.iter().any(|lane| lane.turn.is_some());
        let lane = &mut self.0[index];
        let after = match lane.turn {
            Some(current) if current == turn => TextBefore::SameTurn,
            Some(_) => TextBefore::EarlierStep,
            None if others_spoke => TextBefore::OtherAgent,
            None => TextBefore::Nothing,
        };
        if after != TextBefore::SameTurn {
            *lane = LaneText { turn: Some(turn), said: 0 };
        }
        lane.said += text.len();
        Some(Words { text, after })
    }

    /// The part of a turn's whole text that no delta contained; `None` if there is none.
    pub(crate) fn complete<'a>(
        &mut self,
        lane: LaneId,
        turn: TurnId,
        text: &'a str,
    ) -> Option<Words<'a>> {
        let known = self.0.get(usize::from(lane.0)).filter(|lane| lane.turn == Some(turn));
        let said = known.map_or(0, |lane| lane.said);
        self.delta(lane, turn, text.get(said..).unwrap_or_default())
    }
}
