//! Reads turns directly from their bytes. Onyx wrote most lines of a log itself, in the order
//! header, `type`, and the type's fields. Such a line needs no map of values; any other line is
//! read by `codec`, which defines the meaning of a line.

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

use super::codec::known_fields;
use super::turn::{Turn, TurnBody};
use crate::{Author, LaneId, Origin, RunId, Timestamp, TurnId};

impl Turn {
    /// Does the same as `serde_json::from_slice`, and is several times as fast on lines in Onyx's
    /// own order.
    pub fn from_json(line: &[u8]) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let quick = deserializer.deserialize_map(OwnOrderVisitor).and_then(|turn| {
            deserializer.end()?;
            Ok(turn)
        });
        quick.or_else(|_| serde_json::from_slice(line))
    }
}

/// Reads lines in Onyx's own order and fails on all others.
struct OwnOrderVisitor;

impl<'de> Visitor<'de> for OwnOrderVisitor {
    type Value = Turn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a turn in our own order")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Turn, A::Error> {
        let mut header = Header::default();
        let kind = header.read(&mut map)?;
        let mut extra = Map::new();
        let fields = known_fields(&kind).ok_or_else(other_order::<A::Error>)?;
        let rest = MapAccessDeserializer::new(BodyFields { map, fields, extra: &mut extra });
        let body = match &*kind {
            "user" => TurnBody::User(Deserialize::deserialize(rest)?),
            "reasoning" => TurnBody::Reasoning(Deserialize::deserialize(rest)?),
            "assistant_text" => TurnBody::AssistantText(Deserialize::deserialize(rest)?),
            "tool_call" => TurnBody::ToolCall(Deserialize::deserialize(rest)?),
            "tool_result" => TurnBody::ToolResult(Deserialize::deserialize(rest)?),
            "decision" => TurnBody::Decision(Deserialize::deserialize(rest)?),
            "run_start" => TurnBody::RunStart(Deserialize::deserialize(rest)?),
            "run_end" => TurnBody::RunEnd(Deserialize::deserialize(rest)?),
            "summary" => TurnBody::Summary(Deserialize::deserialize(rest)?),
            "feedback" => TurnBody::Feedback(Deserialize::deserialize(rest)?),
            _ => return Err(other_order()),
        };
        Ok(Turn {
            id: header.id.ok_or_else(other_order::<A::Error>)?,
            ts: header.ts.ok_or_else(other_order::<A::Error>)?,
            run: header.run,
            lane: header.lane.unwrap_or_default(),
            author: header.author.ok_or_else(other_order::<A::Error>)?,
            origin: header.origin.ok_or_else(other_order::<A::Error>)?,
            body,
            extra,
        })
    }
}

fn other_order<E: de::Error>() -> E {
    E::custom("not in our own order")
}

#[derive(Default)]
struct Header {
    id: Option<TurnId>,
    ts: Option<Timestamp>,
    run: Option<RunId>,
    lane: Option<LaneId>,
    author: Option<Author>,
    origin: Option<Origin>,
}

const HEADER: [&str; 7] = ["id", "ts", "run_id", "lane", "author", "origin", "type"];

impl Header {
    /// Reads the fields up to `type` and returns its value.
    fn read<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<Cow<'de, str>, A::Error> {
        while let Some(name) = map.next_key::<Name<'de>>()? {
            match &*name.0 {
                "id" => self.id = Some(map.next_value()?),
                "ts" => self.ts = Some(map.next_value()?),
                "run_id" => self.run = map.next_value()?,
                "lane" => self.lane = map.next_value()?,
                "author" => self.author = Some(map.next_value()?),
                "origin" => self.origin = Some(map.next_value()?),
                "type" => return Ok(map.next_value::<Name<'de>>()?.0),
                _ => return Err(other_order()),
            }
        }
        Err(other_order())
    }
}

/// A name that is borrowed from the line if possible, which a plain `Cow` never is.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Passes a type its own fields and puts the others into `extra`.
struct BodyFields<'a, A> {
    map: A,
    fields: &'static [&'static str],
    extra: &'a mut Map<String, Value>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for BodyFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(Name(name)) = self.map.next_key()? {
            if self.fields.contains(&&*name) {
                let name = de::value::CowStrDeserializer::new(name);
                return seed.deserialize(name).map(Some);
            }
            if HEADER.contains(&&*name) {
                return Err(other_order());
            }
            let value = self.map.next_value()?;
            self.extra.insert(name.into_owned(), value);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
