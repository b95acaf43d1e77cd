//! Decides how a message is handled, as a pure function of its text and its sender.

use onyx_storage::{PeerKind, PeerRow, PeerState};

use super::commands::Command;
use crate::connector::{Incoming, Press};
use crate::settings::GroupRule;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MessageAction {
    /// The message is not for an agent.
    Ignore,
    /// The peer is unknown: it gets a pairing code and nothing else.
    GiveCode,
    Command(Command),
    Press(Press),
    Answer,
}

/// Whether a peer may talk to agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerStanding {
    Known,
    Stranger,
    Blocked,
}

impl PeerStanding {
    /// The standing of a peer. `is_allowed` says that the config lists the peer.
    pub(crate) fn of(peer: Option<&PeerRow>, is_allowed: bool) -> Self {
        match peer.map(|peer| peer.state) {
            Some(PeerState::Blocked) => Self::Blocked,
            Some(PeerState::Paired) => Self::Known,
            Some(PeerState::Waiting) | None if is_allowed => Self::Known,
            Some(PeerState::Waiting) | None => Self::Stranger,
        }
    }
}

pub(crate) fn decide(
    incoming: &Incoming,
    standing: PeerStanding,
    groups: GroupRule,
) -> MessageAction {
    let is_group = incoming.kind == PeerKind::Group;
    if standing == PeerStanding::Blocked || (is_group && groups == GroupRule::Off) {
        return MessageAction::Ignore;
    }
    if let Some(press) = &incoming.press {
        return match standing {
            PeerStanding::Known => MessageAction::Press(press.clone()),
            PeerStanding::Stranger | PeerStanding::Blocked => MessageAction::Ignore,
        };
    }
    if is_group && !incoming.is_addressed {
        return MessageAction::Ignore;
    }
    if standing == PeerStanding::Stranger {
        return MessageAction::GiveCode;
    }
    match Command::parse(&incoming.text) {
        Some(command) => MessageAction::Command(command),
        None if incoming.text.trim().is_empty() && incoming.files.is_empty() => {
            MessageAction::Ignore
        }
        None => MessageAction::Answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::Author;

    fn message(text: &str, kind: PeerKind, is_addressed: bool) -> Incoming {
        Incoming {
            peer: "1".to_owned(),
            kind,
            peer_name: "Anna".to_owned(),
            thread: String::new(),
            guild: None,
            message: "1".to_owned(),
            author: Author { id: "1".to_owned(), name: "Anna".to_owned() },
            text: text.to_owned(),
            is_addressed,
            quoted: None,
            files: Vec::new(),
            press: None,
        }
    }

    #[test]
    fn a_stranger_gets_a_code_whatever_it_says_and_a_button_of_a_stranger_is_nothing() {
        let rule = GroupRule::Mention;
        for text in ["hello", "/new", "/approve 1", "/pair ABCD2345"] {
            let incoming = message(text, PeerKind::Person, true);
            assert_eq!(
                decide(&incoming, PeerStanding::Stranger, rule),
                MessageAction::GiveCode,
                "{text}"
            );
        }
        let press = Press { id: "1".to_owned(), data: "approve:x".to_owned() };
        let pressed = Incoming { press: Some(press), ..message("", PeerKind::Person, true) };
        assert_eq!(decide(&pressed, PeerStanding::Stranger, rule), MessageAction::Ignore);
        assert_eq!(
            decide(&message("hello", PeerKind::Person, true), PeerStanding::Blocked, rule),
            MessageAction::Ignore
        );
    }

    #[test]
    fn a_group_is_answered_when_it_speaks_to_the_bot() {
        let (quiet, spoken) =
            (message("hi", PeerKind::Group, false), message("hi", PeerKind::Group, true));
        assert_eq!(decide(&quiet, PeerStanding::Known, GroupRule::Mention), MessageAction::Ignore);
        assert_eq!(decide(&spoken, PeerStanding::Known, GroupRule::Mention), MessageAction::Answer);
        assert_eq!(decide(&spoken, PeerStanding::Known, GroupRule::Off), MessageAction::Ignore);
        assert_eq!(
            decide(&quiet, PeerStanding::Stranger, GroupRule::Mention),
            MessageAction::Ignore
        );
    }
}
