//! Ids derived from an item's origin, so that a second import finds the items of the first.

use onyx_types::{Hash, IdGenerator, SessionId};
use uuid::Builder;

use crate::source::Source;

/// The id of a session. It is the same even if the session is read from different files.
pub(crate) fn session_id(source: Source, key: &str) -> SessionId {
    let hash = hash(source, key);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    SessionId::from_uuid(Builder::from_custom_bytes(bytes).into_uuid())
}

/// The generator for the ids of a session's turns: the same messages get the same ids.
pub(crate) fn mint(source: Source, key: &str) -> IdGenerator {
    let hash = hash(source, key);
    let mut seed = [0; 8];
    seed.copy_from_slice(&hash.as_bytes()[16..24]);
    IdGenerator::new(u64::from_le_bytes(seed))
}

fn hash(source: Source, key: &str) -> Hash {
    Hash::of_parts([b"onyx import\0".as_slice(), source.as_str().as_bytes(), b"\0", key.as_bytes()])
}
