//! The JSON form of a turn: a flat object with the header, `type`, the type's fields and whatever
//! a newer version added. Written by hand because serde's `flatten` cannot tell a type's own
//! fields from unknown ones, and losing the latter would lose a person's data.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::turn::{
    AssistantText, Decision, ReasoningTurn, RunEnd, RunStart, Summary, ToolCallTurn,
    ToolResultTurn, Turn, TurnBody, UnknownTurn, UserTurn,
};

/// For each known type: its name, and the fields that are its own (the rest is `extra`).
const KINDS: &[(&str, &[&str])] = &[
    ("user", &["content", "view", "context"]),
    ("reasoning", &["model", "data"]),
    ("assistant_text", &["content", "status", "model", "provider_data"]),
    ("tool_call", &["tool_use_id", "tool_name", "input", "provider_data"]),
    ("tool_result", &["tool_use_id", "output", "is_error", "draft_id", "duration_ms"]),
    ("decision", &["draft_id", "state", "reason", "output"]),
    ("run_start", &["agents", "model"]),
    ("run_end", &["status", "usage", "cost", "model", "error"]),
    ("summary", &["content", "replaces"]),
];

impl TurnBody {
    pub fn kind(&self) -> &str {
        match self {
            Self::User(_) => "user",
            Self::Reasoning(_) => "reasoning",
            Self::AssistantText(_) => "assistant_text",
            Self::ToolCall(_) => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::Decision(_) => "decision",
            Self::RunStart(_) => "run_start",
            Self::RunEnd(_) => "run_end",
            Self::Summary(_) => "summary",
            Self::Unknown(unknown) => &unknown.kind,
        }
    }

    fn fields(&self) -> Result<Fields, serde_json::Error> {
        let value = match self {
            Self::User(body) => serde_json::to_value(body),
            Self::Reasoning(body) => serde_json::to_value(body),
            Self::AssistantText(body) => serde_json::to_value(body),
            Self::ToolCall(body) => serde_json::to_value(body),
            Self::ToolResult(body) => serde_json::to_value(body),
            Self::Decision(body) => serde_json::to_value(body),
            Self::RunStart(body) => serde_json::to_value(body),
            Self::RunEnd(body) => serde_json::to_value(body),
            Self::Summary(body) => serde_json::to_value(body),
            Self::Unknown(unknown) => return Ok(unknown.fields.clone()),
        }?;
        match value {
            Value::Object(fields) => Ok(fields),
            other => Err(serde_json::Error::custom(format!("turn body is not an object: {other}"))),
        }
    }

    /// A known type whose fields this version cannot read (a newer status, say) is kept as it was,
    /// like an unknown type: the log's checksums tell damage, this only tells age.
    fn from_fields(kind: String, fields: Fields) -> Self {
        Self::known(&kind, &fields).unwrap_or(Self::Unknown(UnknownTurn { kind, fields }))
    }

    fn known(kind: &str, fields: &Fields) -> Option<Self> {
        Some(match kind {
            "user" => Self::User(parse::<UserTurn>(fields)?),
            "reasoning" => Self::Reasoning(parse::<ReasoningTurn>(fields)?),
            "assistant_text" => Self::AssistantText(parse::<AssistantText>(fields)?),
            "tool_call" => Self::ToolCall(parse::<ToolCallTurn>(fields)?),
            "tool_result" => Self::ToolResult(parse::<ToolResultTurn>(fields)?),
            "decision" => Self::Decision(parse::<Decision>(fields)?),
            "run_start" => Self::RunStart(parse::<RunStart>(fields)?),
            "run_end" => Self::RunEnd(parse::<RunEnd>(fields)?),
            "summary" => Self::Summary(parse::<Summary>(fields)?),
            _ => return None,
        })
    }
}

fn parse<T: DeserializeOwned>(fields: &Fields) -> Option<T> {
    T::deserialize(fields).ok()
}

impl Serialize for Turn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.body.fields().map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("ts", &self.ts)?;
        if let Some(run) = &self.run {
            map.serialize_entry("run_id", run)?;
        }
        map.serialize_entry("lane", &self.lane)?;
        map.serialize_entry("author", &self.author)?;
        map.serialize_entry("origin", &self.origin)?;
        map.serialize_entry("type", self.body.kind())?;
        for (name, value) in fields.iter().chain(&self.extra) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Turn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::<String, Value>::deserialize(deserializer)?;
        let kind: String = take(&mut map, "type")?;
        let id = take(&mut map, "id")?;
        let ts = take(&mut map, "ts")?;
        let run = take_optional(&mut map, "run_id")?;
        let lane = take_optional(&mut map, "lane")?.unwrap_or_default();
        let author = take(&mut map, "author")?;
        let origin = take(&mut map, "origin")?;
        let (fields, extra) = split_known(&kind, map);
        let body = TurnBody::from_fields(kind, fields);
        Ok(Self { id, ts, run, lane, author, origin, body, extra })
    }
}

type Fields = Map<String, Value>;

fn split_known(kind: &str, map: Fields) -> (Fields, Fields) {
    match KINDS.iter().find(|(name, _)| *name == kind) {
        Some((_, known)) => map.into_iter().partition(|(name, _)| known.contains(&name.as_str())),
        None => (map, Map::new()),
    }
}

fn take<T: DeserializeOwned, E: serde::de::Error>(
    map: &mut Fields,
    name: &'static str,
) -> Result<T, E> {
    let value = map.shift_remove(name).ok_or_else(|| E::missing_field(name))?;
    serde_json::from_value(value).map_err(|error| E::custom(format!("{name}: {error}")))
}

fn take_optional<T: DeserializeOwned, E: serde::de::Error>(
    map: &mut Fields,
    name: &'static str,
) -> Result<Option<T>, E> {
    match map.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value(value)
            .map(Some)
            .map_err(|error| E::custom(format!("{name}: {error}"))),
    }
}
