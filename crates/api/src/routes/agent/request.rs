//! The body of a chat request, and the run it asks for.

use std::fmt::Display;
use std::str::FromStr;

use onyx_agent::{ActionRequest, Confirmation, DryRun, RunInput, RunRequest, RunTerms, SessionRef};
use onyx_types::{
    AgentId, Approver, Attendance, DraftId, PersonId, SessionId, SessionOrigin, UserContent,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::{AuthContext, Problem};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("not" = {"anyOf": [
    {"properties": {"message": {"enum": [null]}, "action_id": {"enum": [null]}}},
    {
        "properties": {
            "temporary": {"const": true},
            "session_id": {"type": "string", "minLength": 1},
        },
        "required": ["temporary", "session_id"],
    },
]}))]
pub(crate) struct ChatRequest {
    #[serde(default, deserialize_with = "optional_id")]
    pub(super) session_id: Option<SessionId>,
    #[schemars(regex(pattern = r"\S"))]
    message: Option<String>,
    pub(super) action_id: Option<String>,
    #[serde(default, deserialize_with = "optional_id")]
    pub(super) agent: Option<AgentId>,
    confirm: Option<Confirm>,
    dry_run: Option<bool>,
    /// Without a `session_id`: begins a chat that is not listed, indexed or remembered, and that is
    /// deleted a day after its last use.
    #[serde(default)]
    temporary: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `true` or a list of draft ids")]
enum Confirm {
    /// Approves what needs approval before the run begins; what the run asks for later is decided
    /// one by one.
    All(bool),
    /// Approved before the run begins.
    Drafts(Vec<DraftId>),
}

/// What a person approves together with a message; only an approver may.
pub(super) enum Confirmed {
    Nothing,
    /// What needs approval before the run begins.
    Begin(Approver),
    Drafts(Approver, Vec<DraftId>),
}

impl Confirmed {
    pub(super) fn to_begin(&self) -> Confirmation {
        match self {
            Self::Begin(approver) => Confirmation::Given(approver.clone()),
            Self::Nothing | Self::Drafts(..) => Confirmation::NotYet,
        }
    }
}

impl ChatRequest {
    pub(super) fn confirmed(&self, caller: &AuthContext) -> Result<Confirmed, Problem> {
        Ok(match &self.confirm {
            Some(Confirm::All(true)) => Confirmed::Begin(caller.approver()?),
            Some(Confirm::Drafts(drafts)) if !drafts.is_empty() => {
                Confirmed::Drafts(caller.approver()?, drafts.clone())
            }
            Some(Confirm::All(false) | Confirm::Drafts(_)) | None => Confirmed::Nothing,
        })
    }

    pub(super) fn into_run(self, person: PersonId) -> Result<RunRequest, Problem> {
        let Some(message) = self.message else {
            return Err(Problem::field("message", "missing"));
        };
        if message.trim().is_empty() {
            return Err(Problem::field("message", "it is empty"));
        }
        if self.temporary && self.session_id.is_some() {
            return Err(Problem::field("temporary", "only a new chat can be temporary"));
        }
        let session = match (self.session_id, self.agent) {
            (Some(session), None) => SessionRef::Existing(session),
            (Some(session), Some(agent)) => SessionRef::Asking { session, agents: vec![agent] },
            (None, agent) => {
                let origin = chat_origin(self.temporary);
                SessionRef::New { origin, agents: agent.into_iter().collect() }
            }
        };
        Ok(RunRequest {
            person,
            session,
            input: RunInput::New(UserContent::Text(message)),
            view: None,
            model: None,
            terms: RunTerms::default(),
            attendance: Attendance::Attended,
            dry_run: dry_run(self.dry_run),
        })
    }

    /// The run request for an action. The message is added to the action's prompt.
    pub(super) fn into_action(
        self,
        action: String,
        person: PersonId,
        confirmation: Confirmation,
    ) -> ActionRequest {
        ActionRequest {
            person,
            action,
            session: self.session_id,
            agent: self.agent,
            selection: self.message,
            confirmation,
            dry_run: dry_run(self.dry_run),
        }
    }
}

/// The origin of a new chat.
pub(in crate::routes) fn chat_origin(is_temporary: bool) -> SessionOrigin {
    if is_temporary { SessionOrigin::Temporary } else { SessionOrigin::Chat }
}

pub(super) fn dry_run(wanted: Option<bool>) -> DryRun {
    if wanted == Some(true) { DryRun::On } else { DryRun::Off }
}

/// Parses an id; an empty one means none, as clients of the older schema send it.
pub(super) fn optional_id<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    match Option::<String>::deserialize(deserializer)? {
        None => Ok(None),
        Some(text) if text.is_empty() => Ok(None),
        Some(text) => text.parse().map(Some).map_err(serde::de::Error::custom),
    }
}
