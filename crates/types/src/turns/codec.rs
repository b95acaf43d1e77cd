//! The JSON form of a turn: a flat object with the header, `type`, the type's fields and all fields
//! that a newer version added. It is written by hand because serde's `flatten` cannot distinguish a
//! type's own fields from unknown ones, and losing unknown fields would lose a person's data.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::turn::{
    AssistantText, Decision, Feedback, ReasoningTurn, RunEnd, RunStart, Summary, ToolCallTurn,
    ToolResultTurn, Turn, TurnBody, UnknownTurn, UserTurn,
};
use crate::{Author, LaneId, Origin, RunId, Timestamp, TurnId};

/// Each known type with its own fields; all other fields become `extra`.
const KINDS: &[(&str, &[&str])] = &[
    ("user", &["content", "view", "context", "pieces", "client_id", "withdrawn"]),
    ("reasoning", &["model", "data"]),
    ("assistant_text", &["content", "status", "model", "provider_data"]),
    ("tool_call", &["tool_use_id", "tool_name", "input", "provider_data"]),
    ("tool_result", &["tool_use_id", "output", "is_error", "draft_id", "duration_ms", "report"]),
    ("decision", &["draft_id", "state", "reason", "output"]),
    ("run_start", &["agents", "model", "action"]),
    ("run_end", &["status", "usage", "cost", "model", "error"]),
    ("summary", &["content", "replaces"]),
    ("feedback", &["about", "rating", "note"]),
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
            Self::Feedback(_) => "feedback",
            Self::Unknown(unknown) => &unknown.kind,
        }
    }

    /// Reads the body of a turn. A known type whose fields this version cannot read (because of a
    /// newer status, for example) is kept unchanged, like an unknown type: the log's checksums
    /// detect damage, so this only means that a newer version wrote it.
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
            "feedback" => Self::Feedback(parse::<Feedback>(fields)?),
            _ => return None,
        })
    }
}

fn parse<T: DeserializeOwned>(fields: &Fields) -> Option<T> {
    T::deserialize(fields).ok()
}

/// The flat object in the order in which it is written.
#[derive(Serialize)]
struct FlatTurn<'a> {
    id: &'a TurnId,
    ts: &'a Timestamp,
    #[serde(rename = "run_id", skip_serializing_if = "Option::is_none")]
    run: &'a Option<RunId>,
    lane: &'a LaneId,
    author: &'a Author,
    origin: &'a Origin,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(flatten)]
    body: &'a TurnBody,
    #[serde(flatten)]
    extra: &'a Fields,
}

impl Serialize for Turn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { id, ts, run, lane, author, origin, body, extra } = self;
        FlatTurn { id, ts, run, lane, author, origin, kind: body.kind(), body, extra }
            .serialize(serializer)
    }
}

impl Serialize for UnknownTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
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

/// The fields that are a known type's own.
pub(crate) fn known_fields(kind: &str) -> Option<&'static [&'static str]> {
    KINDS.iter().find(|(name, _)| *name == kind).map(|(_, known)| *known)
}

fn split_known(kind: &str, map: Fields) -> (Fields, Fields) {
    match known_fields(kind) {
        Some(known) => map.into_iter().partition(|(name, _)| known.contains(&name.as_str())),
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
