//! `/api/admin/providers/{name}/login`: sign-in at a provider, with a code or in a browser.
//! `/api/admin/providers/found`: model servers that need neither key nor sign-in. No address to
//! which requests are sent comes from a client.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{Json, QueryOf};
use crate::{ApiState, FoundProviderView, JsonBody, LoginBegun, LoginView, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundProviders {
    found: Vec<FoundProviderView>,
}

pub(crate) async fn found(State(state): State<ApiState>) -> Json<FoundProviders> {
    Json(FoundProviders { found: state.catalogue.found().await })
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BeginLogin {
    /// A way to sign in that the provider offers; without it, the provider's first one.
    way: Option<SignInWay>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SignInWay {
    /// A code that is entered on the provider's page, on any machine.
    Code,
    /// A browser that returns to the machine that runs Onyx.
    Browser,
}

impl SignInWay {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Browser => "browser",
        }
    }
}

pub(crate) async fn begin(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    QueryOf(BeginLogin { way }): QueryOf<BeginLogin>,
) -> Result<(StatusCode, Json<LoginBegun>), Problem> {
    let begun = state.catalogue.begin_login(&name, way.map(SignInWay::as_str)).await?;
    Ok((StatusCode::CREATED, Json(begun)))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FinishLogin {
    /// The whole address of the page that the browser ended at.
    address: String,
}

/// Finishes a sign-in whose browser runs on another machine and cannot return to this one.
pub(crate) async fn finish(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    JsonBody(FinishLogin { address }): JsonBody<FinishLogin>,
) -> Result<Json<LoginView>, Problem> {
    state.catalogue.finish_login(&name, &address)?;
    Ok(Json(state.catalogue.login(&name)?))
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<LoginView>, Problem> {
    Ok(Json(state.catalogue.login(&name)?))
}

pub(crate) async fn end(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    // An unknown provider is refused here.
    state.catalogue.login(&name)?;
    state.catalogue.end_login(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
