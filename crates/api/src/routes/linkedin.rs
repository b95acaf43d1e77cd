//! `/api/linkedin`: a person's own LinkedIn account. The browser returns to `callback` without a
//! signed-in person (cookies do not travel with it), so the page passes what it brought to the app,
//! and only the person who began the sign-in can finish it.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::auth::LINK_HEADERS;
use super::oauth::base_address;
use crate::access::Scheme;
use crate::wire::{Json, QueryOf};
use crate::{
    Access, ApiState, AuthContext, JsonBody, LinkedInAccount, LoginBegun, Problem, RequestSender,
    Route, Routes,
};

const CALLBACK: &str = "/api/linkedin/callback";
/// The page of the app that finishes the sign-in.
const APP_PAGE: &str = "/settings/you#linkedin";

pub(super) fn routes() -> Routes {
    use Access::{Public, Read, Write};
    let rows = [
        Route::get("/api/linkedin", Read, show)
            .summary("Get your LinkedIn connection and the redirect address of its application")
            .answers_json::<LinkedInView>(),
        Route::post("/api/linkedin/login", Write, begin)
            .summary("Begin to connect LinkedIn: get the address to open")
            .answers_created::<LoginBegun>(),
        Route::get(CALLBACK, Public, callback)
            .summary(
                "Receive the browser from LinkedIn; leads to the app, which finishes the sign-in",
            )
            .query::<LinkedInReturn>()
            .answers_text("text/html"),
        Route::post("/api/linkedin/login/callback", Write, finish)
            .summary("Finish the LinkedIn sign-in with what the browser brought back")
            .body::<LinkedInReturn>()
            .answers_json::<LinkedInView>(),
        Route::post("/api/linkedin/check", Write, check)
            .summary("Check that LinkedIn accepts the sign-in")
            .answers_json::<LinkedInView>(),
        Route::delete("/api/linkedin/login", Write, revoke)
            .summary("Disconnect LinkedIn and revoke the sign-in there")
            .answers_json::<LinkedInRevoked>(),
    ];
    Routes::tagged("linkedin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkedInView {
    #[serde(flatten)]
    account: LinkedInAccount,
    /// The redirect address to register with the application at LinkedIn.
    redirect_uri: String,
}

/// The address at which browsers reach the server: the public address, or the one of this request.
struct ServerAddress(String);

impl FromRequestParts<ApiState> for ServerAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Infallible> {
        let own = match parts.extensions.get::<RequestSender>() {
            Some(RequestSender::LocalUser) => state.auth.local_address(),
            Some(RequestSender::Network { .. }) | None => None,
        };
        let scheme = parts.extensions.get::<Scheme>().copied().unwrap_or(Scheme::Http);
        let base = state.auth.front().public_url().map(str::to_owned).or(own);
        Ok(Self(base.unwrap_or_else(|| base_address(scheme, &parts.headers))))
    }
}

impl ServerAddress {
    fn callback(&self) -> String {
        format!("{}{CALLBACK}", self.0)
    }

    fn view(&self, state: &ApiState, caller: &AuthContext) -> Json<LinkedInView> {
        let account = state.extensions.linkedin.account(&caller.person);
        Json(LinkedInView { account, redirect_uri: self.callback() })
    }
}

async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: ServerAddress,
) -> Json<LinkedInView> {
    reached.view(&state, &caller)
}

async fn begin(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: ServerAddress,
) -> Result<(StatusCode, Json<LoginBegun>), Problem> {
    let page = reached.callback();
    let begun = state.extensions.linkedin.begin(&caller.person, &page).await?;
    Ok((StatusCode::CREATED, Json(begun)))
}

/// What the browser brought back from LinkedIn.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct LinkedInReturn {
    state: String,
    code: Option<String>,
    error: Option<String>,
}

impl LinkedInReturn {
    fn fields(&self) -> Vec<(&str, &str)> {
        let code = self.code.as_deref().map(|code| ("code", code));
        let error = self.error.as_deref().map(|error| ("error", error));
        [("state", self.state.as_str())].into_iter().chain(code).chain(error).collect()
    }
}

/// Passes the query on to the app as a fragment, which the browser sends nowhere.
async fn callback(QueryOf(back): QueryOf<LinkedInReturn>) -> Response {
    let query = onyx_mcp::oauth::form(&back.fields());
    // The encoded query is safe in an attribute except for `&`.
    let target = format!("{APP_PAGE}?{query}").replace('&', "&amp;");
    let page = include_str!("linkedin/callback.html").replace("{{target}}", &target);
    // The page runs no script, although the policy of the link page would allow that page's script.
    (LINK_HEADERS, Html(page)).into_response()
}

async fn finish(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: ServerAddress,
    JsonBody(back): JsonBody<LinkedInReturn>,
) -> Result<Json<LinkedInView>, Problem> {
    state.extensions.linkedin.finish(&caller.person, &back.fields())?;
    Ok(reached.view(&state, &caller))
}

async fn check(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: ServerAddress,
) -> Json<LinkedInView> {
    state.extensions.linkedin.check(&caller.person).await;
    reached.view(&state, &caller)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkedInRevoked {
    /// Whether LinkedIn confirmed that its tokens are revoked.
    confirmed: bool,
    /// Why it did not, and what to do.
    detail: Option<String>,
}

async fn revoke(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<LinkedInRevoked>, Problem> {
    let revoked = state.extensions.linkedin.revoke(&caller.person).await?;
    let detail = revoked.as_ref().err().map(|why| {
        format!(
            "Disconnected here, but LinkedIn did not confirm it ({why}). Remove the application at \
             linkedin.com under Settings → Data privacy → Permitted services."
        )
    });
    Ok(Json(LinkedInRevoked { confirmed: revoked.is_ok(), detail }))
}
