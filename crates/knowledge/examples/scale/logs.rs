//! Writes logs of conversations in the form in which the server writes them.

use onyx_types::{
    Author, IdGenerator, LaneId, Origin, RunId, Timestamp, Turn, TurnBody, UserContent,
};

use crate::anna;

/// The log of a run, with one message in each line.
pub(crate) fn log_of(
    mint: &mut IdGenerator,
    at: Timestamp,
    run: RunId,
    texts: impl Iterator<Item = String>,
) -> String {
    let mut log = String::new();
    for text in texts {
        let turn = Turn {
            id: mint.turn(at),
            ts: at,
            run: Some(run),
            lane: LaneId::default(),
            author: Author::Person(anna()),
            origin: Origin::Person,
            body: TurnBody::User(UserContent::Text(text).into()),
            extra: serde_json::Map::new(),
        };
        log.push_str(&serde_json::to_string(&turn).unwrap());
        log.push('\n');
    }
    log
}
