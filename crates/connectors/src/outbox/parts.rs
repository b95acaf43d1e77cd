//! Turns messages to peers into parts for the outbox.

use onyx_storage::{NewPart, PeerKey, Repeat};
use onyx_types::{ErrorCode, Fault};

use crate::connector::{Button, NetworkTraits, Outgoing, OutgoingFile, OutgoingKind};

/// Where a text is sent, and the key under which it is queued.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) peer: &'a PeerKey,
    pub(crate) thread: &'a str,
    /// The prefix of the keys of all its parts.
    pub(crate) name: &'a str,
}

/// The destination for a peer's main chat, which is outside all threads.
pub(crate) fn main_chat<'a>(peer: &'a PeerKey, name: &'a str) -> Destination<'a> {
    Destination { peer, thread: "", name }
}

/// An ordinary text as parts, none of which replaces a growing message.
pub(crate) fn answer_texts(
    traits: &NetworkTraits,
    to: Destination<'_>,
    text: &str,
) -> Result<Vec<NewPart>, Fault> {
    answer_parts(traits, to, text, None)
}

/// An answer as parts. The first part replaces the growing message, if there is one.
pub(crate) fn answer_parts(
    traits: &NetworkTraits,
    to: Destination<'_>,
    text: &str,
    growing: Option<&str>,
) -> Result<Vec<NewPart>, Fault> {
    let messages = traits.text_format.messages(text, traits.limits);
    let mut parts = Vec::new();
    for (index, text) in messages.into_iter().enumerate() {
        let growing = growing.filter(|_| index == 0);
        let (what, repeat) = match growing {
            Some(message) => {
                (OutgoingKind::Edit { message: message.to_owned(), text }, Repeat::Safe)
            }
            None => (OutgoingKind::Text { text, buttons: Vec::new() }, traits.repeat_sends),
        };
        parts.push(part(to, index, what, repeat)?);
    }
    Ok(parts)
}

/// A text as parts, with buttons under the last message.
pub(crate) fn parts_with_buttons(
    traits: &NetworkTraits,
    to: Destination<'_>,
    text: &str,
    buttons: &[Button],
) -> Result<Vec<NewPart>, Fault> {
    let messages = traits.text_format.messages(text, traits.limits);
    let last = messages.len().saturating_sub(1);
    let mut parts = Vec::new();
    for (index, text) in messages.into_iter().enumerate() {
        let buttons = if index == last { buttons.to_vec() } else { Vec::new() };
        let what = OutgoingKind::Text { text, buttons };
        parts.push(part(to, index, what, traits.repeat_sends)?);
    }
    Ok(parts)
}

/// A short plain text as one part.
pub(crate) fn plain_part(
    traits: &NetworkTraits,
    to: Destination<'_>,
    text: &str,
) -> Result<NewPart, Fault> {
    let rendered = traits.text_format.literal(text);
    let what = OutgoingKind::Text { text: rendered, buttons: Vec::new() };
    part(to, 0, what, traits.repeat_sends)
}

/// A file as a part, to be sent after the text of an answer.
pub(crate) fn file_part(
    traits: &NetworkTraits,
    to: Destination<'_>,
    index: usize,
    file: OutgoingFile,
) -> Result<NewPart, Fault> {
    let name = format!("{}:file", to.name);
    let to = Destination { name: &name, ..to };
    part(to, index, OutgoingKind::File(file), traits.repeat_sends)
}

/// A part that confirms to the network that a button was handled. Confirming twice does no harm.
pub(crate) fn press_answer(to: Destination<'_>, press: &str, text: &str) -> Result<NewPart, Fault> {
    let what = OutgoingKind::PressAnswer { press: press.to_owned(), text: text.to_owned() };
    part(Destination { name: &format!("{}:press", to.name), ..to }, 0, what, Repeat::Safe)
}

fn part(
    to: Destination<'_>,
    index: usize,
    what: OutgoingKind,
    repeat: Repeat,
) -> Result<NewPart, Fault> {
    let key = format!("{}:{index}", to.name);
    let message = Outgoing {
        peer: to.peer.peer.clone(),
        thread: to.thread.to_owned(),
        key: key.clone(),
        what,
    };
    let body = serde_json::to_string(&message)
        .map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
    Ok(NewPart { peer: to.peer.clone(), key, body, repeat })
}
