//! `/api/agent/config`: a person's preferences for their agents.

use std::collections::BTreeMap;

use axum::extract::State;
use onyx_agent::{ACTIONS_FOLDER, Preferences, PreferencesPatch, RuntimeMode};
use onyx_types::Zone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Json;
use crate::{ApiState, AuthContext, JsonBody, Problem};

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RuntimeMode")]
pub(crate) enum Mode {
    AnthropicApiKey,
    GatewaySubscription,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PreferencesView {
    runtime_mode: Mode,
    /// `agents.md`: the person's standing instructions.
    prompt: String,
    fallback: bool,
    flags: BTreeMap<String, bool>,
    /// A folder of the vault; it cannot be changed.
    actions_path: &'static str,
    /// The person's choice; `null` where the server's zone applies.
    timezone: Option<String>,
    /// The zone that applies now.
    current_timezone: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PreferencesChange {
    runtime_mode: Option<Mode>,
    prompt: Option<String>,
    fallback: Option<bool>,
    /// Each flag is set on its own; `null` removes it.
    #[serde(default)]
    flags: BTreeMap<String, Option<bool>>,
    #[schemars(regex(pattern = r"^agent/actions/*$"))]
    actions_path: Option<String>,
    /// An IANA name such as `Europe/Berlin`; empty for the server's.
    timezone: Option<String>,
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<PreferencesView>, Problem> {
    let preferences = state.agent.preferences.get(&caller.person).await?;
    Ok(Json(view(&state, &caller, preferences)))
}

pub(crate) async fn change(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(change): JsonBody<PreferencesChange>,
) -> Result<Json<PreferencesView>, Problem> {
    if change.actions_path.is_some_and(|path| path.trim_end_matches('/') != ACTIONS_FOLDER) {
        let why = format!(
            "actions are kept in {ACTIONS_FOLDER}, where agents cannot change them unasked"
        );
        return Err(Problem::field("actions_path", why));
    }
    let patch = PreferencesPatch {
        runtime_mode: change.runtime_mode.map(RuntimeMode::from),
        fallback: change.fallback,
        flags: change.flags,
        prompt: change.prompt,
        timezone: change.timezone.map(|name| zone(&name)).transpose()?,
    };
    let preferences = state.agent.preferences.change(&caller.person, patch).await?;
    Ok(Json(view(&state, &caller, preferences)))
}

/// Parses a time zone; an empty name resets the choice.
fn zone(name: &str) -> Result<Option<Zone>, Problem> {
    if name.trim().is_empty() {
        return Ok(None);
    }
    let zone = Zone::named(name.trim());
    zone.map(Some).map_err(|error| Problem::field("timezone", error))
}

impl From<Mode> for RuntimeMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::AnthropicApiKey => Self::AnthropicApiKey,
            Mode::GatewaySubscription => Self::GatewaySubscription,
        }
    }
}

impl From<RuntimeMode> for Mode {
    fn from(mode: RuntimeMode) -> Self {
        match mode {
            RuntimeMode::AnthropicApiKey => Self::AnthropicApiKey,
            RuntimeMode::GatewaySubscription => Self::GatewaySubscription,
        }
    }
}

fn view(state: &ApiState, caller: &AuthContext, preferences: Preferences) -> PreferencesView {
    let Preferences { runtime_mode, fallback, flags, prompt, timezone } = preferences;
    PreferencesView {
        runtime_mode: runtime_mode.into(),
        prompt,
        fallback,
        flags,
        actions_path: ACTIONS_FOLDER,
        timezone: timezone.map(|zone| zone.to_string()),
        current_timezone: state.agent.preferences.zone_of(&caller.person).to_string(),
    }
}
