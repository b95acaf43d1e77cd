//! Commands that people give in a chat, such as `/stop`.

/// A command that a person gave in a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    New,
    Stop,
    Status,
    Undo,
    Help,
    /// Switches the chat to an agent; without a name the agents are listed.
    Agent(Option<String>),
    Model(Option<String>),
    Approve {
        number: u64,
        reason: Option<String>,
    },
    Reject {
        number: u64,
        reason: Option<String>,
    },
    /// Approves a pairing code. The owner gives it in a chat that is already paired.
    Pair(String),
    /// A command that is malformed, and what is wrong with it.
    Malformed(&'static str),
}

impl Command {
    /// Reads a message as a command; `None` if the text is no command that this program knows.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let rest = text.strip_prefix('/')?;
        let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        // In groups Telegram appends the bot's name to the command, as in `/new@my_bot`.
        let name = name.split('@').next().unwrap_or(name).to_ascii_lowercase();
        let argument = argument.trim();
        let word = || (!argument.is_empty()).then(|| argument.to_owned());
        Some(match name.as_str() {
            "new" => Self::New,
            "stop" => Self::Stop,
            "status" => Self::Status,
            "undo" => Self::Undo,
            "help" | "start" => Self::Help,
            "agent" => Self::Agent(word()),
            "model" => Self::Model(word()),
            "approve" => match numbered(argument) {
                Some((number, reason)) => Self::Approve { number, reason },
                None => Self::Malformed("Give the number of the approval, for example /approve 3"),
            },
            "reject" => match numbered(argument) {
                Some((number, reason)) => Self::Reject { number, reason },
                None => Self::Malformed("Give the number of the approval, for example /reject 3"),
            },
            "pair" => match word() {
                Some(code) => Self::Pair(code),
                None => Self::Malformed("Give the code, for example /pair ABCD2345"),
            },
            _ => return None,
        })
    }

    /// Whether the command is carried out at once, without waiting until the current answer is
    /// finished.
    pub fn is_urgent(&self) -> bool {
        match self {
            Self::Stop
            | Self::Status
            | Self::Help
            | Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Pair(_)
            | Self::Malformed(_) => true,
            Self::New | Self::Undo | Self::Agent(_) | Self::Model(_) => false,
        }
    }
}

fn numbered(argument: &str) -> Option<(u64, Option<String>)> {
    let (number, reason) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let number = number.trim_start_matches('#').parse().ok()?;
    let reason = reason.trim();
    Some((number, (!reason.is_empty()).then(|| reason.to_owned())))
}

pub(super) const HELP: &str = "Write to me as you would to a person. Commands:\n\
    /new – start a new conversation\n\
    /stop – stop the current answer\n\
    /status – show what is running\n\
    /undo – undo what the last answer changed\n\
    /agent name – talk to another agent\n\
    /model provider/model – use another model\n\
    /approve N, /reject N – decide on a proposed change";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_their_arguments_and_anything_else_is_words() {
        let approve = Command::Approve { number: 3, reason: None };
        for (text, command) in [
            ("/new", Some(Command::New)),
            ("/STOP@my_bot", Some(Command::Stop)),
            (" /agent research ", Some(Command::Agent(Some("research".to_owned())))),
            ("/model", Some(Command::Model(None))),
            ("/approve 3", Some(approve.clone())),
            ("/approve #3", Some(approve)),
            (
                "/reject 2 not now",
                Some(Command::Reject { number: 2, reason: Some("not now".to_owned()) }),
            ),
            (
                "/approve",
                Some(Command::Malformed("Give the number of the approval, for example /approve 3")),
            ),
            (
                "/approve all",
                Some(Command::Malformed("Give the number of the approval, for example /approve 3")),
            ),
            ("/unknown", None),
            ("new", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(Command::parse(text), command, "{text}");
        }
    }
}
