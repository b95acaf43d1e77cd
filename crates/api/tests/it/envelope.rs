//! The events of `GET /api/runs/{id}/events`, as they are sent.

use std::collections::BTreeSet;
use std::fmt;

use onyx_types::{Envelope, ErrorCode, RunStatus};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::recorded::{done, envelopes, error, whole_run};

/// The keys of an object in the order of the text; a repeated key is listed twice.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Keys;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, _)) = map.next_entry::<String, Value>()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[test]
fn every_event_is_read_back_as_it_was_and_says_nothing_twice() {
    let mut told = whole_run();
    told.extend(envelopes([error(ErrorCode::Internal, "no"), done(RunStatus::Error)]));
    let mut kinds = BTreeSet::new();
    for envelope in told {
        let text = serde_json::to_string(&envelope).unwrap();
        let Keys(keys) = serde_json::from_str(&text).unwrap();
        let once: BTreeSet<_> = keys.iter().collect();
        assert_eq!(once.len(), keys.len(), "{text}");
        assert_eq!(keys[..4], ["seq", "run_id", "lane", "type"], "{text}");
        assert_eq!(serde_json::from_str::<Envelope>(&text).unwrap(), envelope);
        let read: Value = serde_json::from_str(&text).unwrap();
        kinds.insert(read["type"].as_str().unwrap().to_owned());
    }
    let all = [
        "confirm",
        "context",
        "done",
        "draft",
        "error",
        "reasoning_delta",
        "start",
        "status",
        "text_complete",
        "text_delta",
        "tool_call",
        "tool_output",
        "tool_result",
        "usage",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}
