//! The names of tools in a form that every wire accepts. Tools may be called `mcp:server/tool`;
//! servers require letters, digits, `_` and `-`, at most 64 of them.

use std::borrow::Cow;

use onyx_types::{ModelEvent, ToolOffer};
use serde_json::{Map, Value, json};

const MAX_LENGTH: usize = 64;

/// The length of the mark: `_` and eight hex digits.
const MARK_LENGTH: usize = 9;

/// The name itself if every wire accepts it, else a name made from it. The result depends on the
/// name alone, so that a history and an offer name the same tool equally. A mark of the full name
/// keeps similar names apart.
pub fn portable(name: &str) -> Cow<'_, str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if starts && name.len() <= MAX_LENGTH && name.bytes().all(fits) {
        return Cow::Borrowed(name);
    }
    let mut made = if starts { String::new() } else { "_".to_owned() };
    let kept = name.bytes().map(|byte| if fits(byte) { char::from(byte) } else { '_' });
    made.extend(kept.take(MAX_LENGTH - MARK_LENGTH - made.len()));
    Cow::Owned(format!("{made}_{:08x}", fingerprint(name)))
}

/// An id of a call in the form that every wire accepts. Ids only pair calls with results and are
/// never read back, so they may be changed.
pub(super) fn portable_id(id: &str) -> Cow<'_, str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !id.is_empty() && id.len() <= MAX_LENGTH && id.bytes().all(fits) {
        Cow::Borrowed(id)
    } else {
        portable(id)
    }
}

/// Arguments for wires that write them as an object. A model may have written any JSON.
pub(super) fn object_arguments(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(_) => Cow::Borrowed(input),
        Value::Null => Cow::Owned(Value::Object(Map::new())),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(json!({"value": input}))
        }
    }
}

/// Maps a wire's names back to ours, for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames {
    /// The names that differ: first the one on the wire, then ours.
    changed: Vec<(String, String)>,
}

impl ToolNames {
    pub fn of(offers: &[ToolOffer]) -> Self {
        let changed = offers.iter().filter_map(|offer| match portable(&offer.name) {
            Cow::Borrowed(_) => None,
            Cow::Owned(made) => Some((made, offer.name.clone())),
        });
        Self { changed: changed.collect() }
    }

    /// The event with our name of the tool. A name that was not offered stays unchanged.
    pub fn restore(&self, mut event: ModelEvent) -> ModelEvent {
        if let ModelEvent::ToolCallStart { name, .. } | ModelEvent::ToolCallEnd { name, .. } =
            &mut event
            && let Some((_, ours)) = self.changed.iter().find(|(made, _)| made == name)
        {
            name.clone_from(ours);
        }
        event
    }
}

/// FNV-1a, folded: stable over processes and versions, which the standard hasher is not.
fn fingerprint(name: &str) -> u32 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let folded = (hash >> 32) ^ (hash & 0xffff_ffff);
    u32::try_from(folded).unwrap_or(u32::MAX)
}
