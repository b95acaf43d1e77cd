//! JSON schemas of types that need a handwritten one. The others derive theirs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    AgentId, BatchId, ChannelId, CredentialId, DraftId, JobId, PersonId, RunId, SessionId, SpaceId,
    ThreadId, Timestamp, Turn, TurnId,
};

macro_rules! schemas {
    ($($schema:tt: $($name:ident)*;)*) => {$($(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*)*};
}

schemas! {
    {"type": "string", "format": "uuid"}: SessionId TurnId RunId DraftId CredentialId BatchId;
    {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}:
        PersonId AgentId SpaceId ChannelId ThreadId;
    {"type": "string", "pattern": "^((action|system):)?[a-z0-9][a-z0-9_-]{0,63}$"}: JobId;
    {"type": "string", "format": "date-time"}: Timestamp;
    {
        "type": "object",
        "description": "A line of the log: its header, `type`, and the fields of that type",
        "required": ["id", "ts", "lane", "author", "origin", "type"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "ts": {"type": "string", "format": "date-time"},
            "run_id": {"type": "string", "format": "uuid"},
            "type": {"type": "string"}
        }
    }: Turn;
}
