//! `/api/agent/health`: whether the agent page can work.

use axum::extract::State;
use onyx_agent::RuntimeMode;
use onyx_types::{PersonId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::preferences::Mode;
use crate::wire::Json;
use crate::{
    ApiState, AuthContext, Dependency, DependencyKind, DependencyState, LinkedInAccount, Problem,
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct AgentHealth {
    runtime: Runtime,
    /// The provider of the default agent's model; absent while no model is configured.
    provider: Option<Dependency>,
    linkedin: LinkedIn,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentRuntime")]
struct Runtime {
    mode: Mode,
    state: DependencyState,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct LinkedIn {
    /// Whether the person's account is connected.
    token_present: bool,
    /// When LinkedIn last accepted its token, since the server started.
    last_validated_at: Option<Timestamp>,
    /// Why LinkedIn refused it, if it did.
    last_error: Option<String>,
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<AgentHealth>, Problem> {
    let preferences = state.agent.preferences.get(&caller.person).await?;
    let mode = preferences.runtime_mode.into();
    let runtime = match preferences.runtime_mode {
        RuntimeMode::AnthropicApiKey => Runtime { mode, state: DependencyState::Ok, detail: None },
        RuntimeMode::GatewaySubscription => gateway(&state, &caller.person, mode).await,
    };
    Ok(Json(AgentHealth {
        runtime,
        provider: provider(&state).await,
        linkedin: linkedin(state.extensions.linkedin.account(&caller.person)),
    }))
}

fn linkedin(account: LinkedInAccount) -> LinkedIn {
    let LinkedInAccount { login, last_validated_at, last_error, trouble, .. } = account;
    LinkedIn {
        token_present: login.state == "signed_in",
        last_validated_at,
        last_error: trouble.or(login.error).or(last_error),
    }
}

/// The state of the subscription gateway. Without one, the mode that the person chose does not
/// apply.
async fn gateway(state: &ApiState, person: &PersonId, mode: Mode) -> Runtime {
    let all = state.readiness.health(person).await;
    match all.into_iter().find(|dependency| dependency.kind == DependencyKind::Gateway) {
        Some(Dependency { state: DependencyState::Ok, detail, .. }) => {
            Runtime { mode, state: DependencyState::Ok, detail }
        }
        found => {
            let detail = found.and_then(|dependency| dependency.detail);
            Runtime { mode, state: DependencyState::Degraded, detail }
        }
    }
}

async fn provider(state: &ApiState) -> Option<Dependency> {
    let model = state.agent.roster().default_agent().model.primary.clone()?;
    let name = model.provider();
    let all = state.readiness.dependencies().await;
    let mut providers = all.into_iter().filter(|known| known.kind == DependencyKind::Provider);
    let found = providers.find(|provider| provider.instance.as_deref() == Some(name));
    let name = DependencyKind::Provider.named(name);
    Some(found.unwrap_or_else(|| Dependency::down(name, "No such provider is configured.")))
}
