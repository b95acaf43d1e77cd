//! `/api/linkedin`: a person's own account at LinkedIn. The browser comes back to `callback`, which
//! nobody is signed in for (cookies do not travel with it), so the page hands what it brought to the
//! app, and only the person who began the sign-in can end it.

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
    Access, ApiState, AuthContext, JsonBody, LinkedInAccount, LoginBegun, Peer, Problem, Route,
    Routes,
};

const CALLBACK: &str = "/api/linkedin/callback";
/// Where the app takes up what the browser brought back.
const APP_PAGE: &str = "/settings/you#linkedin";

pub(super) fn routes() -> Routes {
    use Access::{Public, Read, Write};
    let rows = [
        Route::get("/api/linkedin", Read, show)
            .summary("Your account at LinkedIn, and where its application must send browsers back to")
            .answers_json::<LinkedInView>(),
        Route::post("/api/linkedin/login", Write, begin)
            .summary("Begins to connect your account: where to send the browser")
            .answers_created::<LoginBegun>(),
        Route::get(CALLBACK, Public, callback)
            .summary("Where LinkedIn sends the browser back to; leads to the app, which ends the sign-in")
            .query::<LinkedInReturn>()
            .answers_text("text/html"),
        Route::post("/api/linkedin/login/callback", Write, finish)
            .summary("Ends the sign-in that you began, with what the browser brought back")
            .body::<LinkedInReturn>()
            .answers_json::<LinkedInView>(),
        Route::post("/api/linkedin/check", Write, check)
            .summary("Asks LinkedIn whether it takes the sign-in")
            .answers_json::<LinkedInView>(),
        Route::delete("/api/linkedin/login", Write, revoke)
            .summary("Forgets your sign-in here and takes it back at LinkedIn")
            .answers_json::<LinkedInRevoked>(),
    ];
    Routes::tagged("linkedin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkedInView {
    #[serde(flatten)]
    account: LinkedInAccount,
    /// To be registered with the application at LinkedIn.
    redirect_uri: String,
}

/// Where browsers reach us: the public address, else how this request came.
struct Reached(String);

impl FromRequestParts<ApiState> for Reached {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Infallible> {
        let own = match parts.extensions.get::<Peer>() {
            Some(Peer::LocalUser) => state.auth.local_address(),
            Some(Peer::Network { .. }) | None => None,
        };
        let scheme = parts.extensions.get::<Scheme>().copied().unwrap_or(Scheme::Http);
        let base = state.auth.front().public_url().map(str::to_owned).or(own);
        Ok(Self(base.unwrap_or_else(|| base_address(scheme, &parts.headers))))
    }
}

impl Reached {
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
    reached: Reached,
) -> Json<LinkedInView> {
    reached.view(&state, &caller)
}

async fn begin(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: Reached,
) -> Result<(StatusCode, Json<LoginBegun>), Problem> {
    let page = reached.callback();
    let begun = state.extensions.linkedin.begin(&caller.person, &page).await?;
    Ok((StatusCode::CREATED, Json(begun)))
}

/// As the browser brought it.
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

/// Nothing of this page is sent anywhere: what follows `#` stays in the browser.
async fn callback(QueryOf(back): QueryOf<LinkedInReturn>) -> Response {
    let query = onyx_mcp::oauth::form(&back.fields());
    // A form holds only what an attribute may, but for `&`.
    let target = format!("{APP_PAGE}?{query}").replace('&', "&amp;");
    let page = include_str!("linkedin/callback.html").replace("{{target}}", &target);
    // It runs nothing, though the policy of that other page would let it run that page's script.
    (LINK_HEADERS, Html(page)).into_response()
}

async fn finish(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: Reached,
    JsonBody(back): JsonBody<LinkedInReturn>,
) -> Result<Json<LinkedInView>, Problem> {
    state.extensions.linkedin.finish(&caller.person, &back.fields())?;
    Ok(reached.view(&state, &caller))
}

async fn check(
    State(state): State<ApiState>,
    caller: AuthContext,
    reached: Reached,
) -> Json<LinkedInView> {
    state.extensions.linkedin.check(&caller.person).await;
    reached.view(&state, &caller)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkedInRevoked {
    /// Whether LinkedIn confirmed that its tokens are of no more use.
    confirmed: bool,
    /// Why not, and what to do then.
    detail: Option<String>,
}

async fn revoke(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<LinkedInRevoked>, Problem> {
    let revoked = state.extensions.linkedin.revoke(&caller.person).await?;
    let detail = revoked.as_ref().err().map(|why| {
        format!(
            "Forgotten here, but LinkedIn did not confirm it ({why}). Remove the application at \
             linkedin.com under Settings → Data privacy → Permitted services."
        )
    });
    Ok(Json(LinkedInRevoked { confirmed: revoked.is_ok(), detail }))
}
