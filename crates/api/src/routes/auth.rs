//! `/auth/link` and `/api/auth/*`: signing in and out, and who the caller is.

use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use onyx_identity::{
    Attempt, BrowserSession, CallerKind, DeviceCredential, PairingFor, PairingState, Proof, Tokens,
};
use onyx_storage::Role;
use onyx_types::{ErrorCode, Fault, Grant, Grants, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Scheme;
use crate::access::address_of;
use crate::access::cookie;
use crate::access::is_on_this_machine;
use crate::access::sign_in_audit::{self, Outcome, SignInMeans};
use crate::serve::RequestSender;
use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

pub(super) fn routes() -> Routes {
    use Access::{Person, Public};
    let rows = [
        Route::get("/auth/link", Public, link)
            .summary("Sign in a browser on this machine with a one-time link")
            .query::<LinkQuery>()
            .answers_text("text/html"),
        Route::post("/api/auth/login", Public, login)
            .summary("Sign in a browser")
            .body::<Login>()
            .answers_json::<SignedIn>(),
        Route::post("/api/auth/refresh", Public, refresh)
            .summary("Exchange a refresh token for new tokens")
            .body::<Refresh>()
            .answers_json::<TokenReply>(),
        Route::post("/api/auth/pair", Public, pair)
            .summary("Begin to pair a device: get a code for the owner to approve")
            .body::<BeginPairing>()
            .answers_created::<PairingBegun>(),
        Route::get("/api/auth/pair/{id}", Public, pairing)
            .summary("Get the state of a pairing, and its credential once approved")
            .answers_json::<PairingReply>(),
        Route::post("/api/auth/logout", Person, logout).summary("Sign out").answers_nothing(),
        Route::post("/api/auth/token", Person, token)
            .summary("Create short-lived tokens for an SDK")
            .answers_json::<TokenReply>(),
        Route::get("/api/auth/me", Person, me)
            .summary("Get the signed-in person")
            .answers_json::<Me>(),
        Route::put("/api/auth/password", Person, set_own_password)
            .summary("Change your own password")
            .body::<OwnPassword>()
            .answers_nothing(),
    ];
    Routes::tagged("auth", rows)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct LinkQuery {
    code: String,
}

/// The one-time link that the server prints; it works only in a browser on this machine.
pub(super) async fn link(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    Extension(scheme): Extension<Scheme>,
    uri: Uri,
    headers: HeaderMap,
    QueryOf(query): QueryOf<LinkQuery>,
) -> Result<Response, Problem> {
    let is_browser = headers
        .get(header::ACCEPT)
        .and_then(|kinds| kinds.to_str().ok())
        .is_some_and(|kinds| kinds.contains("text/html"));
    match signed_in_by_link(&state, sender, scheme, &uri, &headers, &query.code).await {
        // A person sees this in a browser, so it is a page.
        Err(problem) if is_browser => Ok(refused_page(&problem)),
        answer => answer,
    }
}

async fn signed_in_by_link(
    state: &ApiState,
    sender: Option<Extension<RequestSender>>,
    scheme: Scheme,
    uri: &Uri,
    headers: &HeaderMap,
    code: &str,
) -> Result<Response, Problem> {
    let sender = sender.as_ref().map(|Extension(sender)| sender);
    let from = address_of(sender).filter(|_| is_on_this_machine(sender, uri, headers));
    let Some(from) = from else {
        return Err(Fault::new(
            ErrorCode::Forbidden,
            "this link works only in a browser on the machine that runs Onyx",
        )
        .with_hint("Elsewhere, sign in with a password or pair the browser with a code.")
        .into());
    };
    let identity = state.auth.identity();
    let session = identity.redeem_link(code, from).await?;
    sign_in_audit::note(
        state,
        &identity.owner()?,
        SignInMeans::Link,
        Some(from),
        Outcome::SignedIn,
    )
    .await;
    let cookie = [(header::SET_COOKIE, cookie::set(&session.cookie, scheme)?)];
    Ok((cookie, LINK_HEADERS, Html(link_page(&session))).into_response())
}

/// The page may run only its own script, identified by its hash.
pub(super) const LINK_HEADERS: [(header::HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'sha256-drL+zktwLgaq0hHwxBc5WzwHGFqmxHe56LC7S7xhU28='; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// The page for a person whose link does not work.
fn refused_page(problem: &Problem) -> Response {
    let fault = problem.fault();
    let page = include_str!("auth/refused.html")
        .replace("{{message}}", &escaped(&fault.message))
        .replace("{{hint}}", &escaped(fault.hint()));
    (problem.status(), LINK_HEADERS, Html(page)).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Stores the page's key for this origin, then opens the app. The key is made of letters and
/// digits, so it needs no escaping.
fn link_page(session: &BrowserSession) -> String {
    include_str!("auth/link.html").replace("{{page_key}}", session.page_key.reveal())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Login {
    person: String,
    password: String,
}

pub(super) async fn login(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    Extension(scheme): Extension<Scheme>,
    headers: HeaderMap,
    JsonBody(login): JsonBody<Login>,
) -> Result<Response, Problem> {
    let identity = state.auth.identity();
    let proof = Proof::Password { person: &login.person, password: &login.password };
    let from = address_of(sender.as_ref().map(|Extension(sender)| sender));
    let caller = match identity.caller(Attempt { proof, from, speaks_for: None }).await {
        Ok(caller) => caller,
        Err(fault) => {
            // Attempts are recorded only for existing people: anyone can invent a name.
            let meant = identity.people().into_iter().find(|it| it.id.as_str() == login.person);
            if let Some(meant) = meant.filter(|_| fault.code == ErrorCode::Unauthenticated) {
                sign_in_audit::note(
                    &state,
                    &meant.id,
                    SignInMeans::Password,
                    from,
                    Outcome::Refused,
                )
                .await;
            }
            return Err(fault.into());
        }
    };
    let session = identity.create_session(&caller, browser_of(&headers)).await?;
    sign_in_audit::note(&state, &caller.person, SignInMeans::Password, from, Outcome::SignedIn)
        .await;
    let cookie = [(header::SET_COOKIE, cookie::set(&session.cookie, scheme)?)];
    let page_key = session.page_key.reveal().to_owned();
    let signed_in = SignedIn { me: Me::of(&state, &caller.into()), page_key };
    Ok((cookie, Json(signed_in)).into_response())
}

/// The text by which a person recognises the browser in a list.
fn browser_of(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("browser")
}

/// Ends the caller's browser session or access token; an API token stays.
pub(super) async fn logout(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Response, Problem> {
    if let (CallerKind::Session | CallerKind::Access, Some(id)) = (caller.kind, caller.credential) {
        state.auth.identity().revoke(id).await?;
    }
    Ok(([(header::SET_COOKIE, cookie::clear())], StatusCode::NO_CONTENT).into_response())
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenReply {
    access_token: String,
    refresh_token: String,
    token_type: &'static str,
    expires_in: u64,
}

impl From<Tokens> for TokenReply {
    fn from(tokens: Tokens) -> Self {
        Self {
            access_token: tokens.access.reveal().to_owned(),
            refresh_token: tokens.refresh.reveal().to_owned(),
            token_type: "Bearer",
            expires_in: tokens.expires_in.as_secs(),
        }
    }
}

pub(super) async fn token(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<TokenReply>, Problem> {
    Ok(Json(state.auth.identity().create_tokens(&caller).await?.into()))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Refresh {
    refresh_token: String,
}

pub(super) async fn refresh(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    JsonBody(refresh): JsonBody<Refresh>,
) -> Result<Json<TokenReply>, Problem> {
    let from = address_of(sender.as_ref().map(|Extension(sender)| sender));
    Ok(Json(state.auth.identity().refresh(&refresh.refresh_token, from).await?.into()))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BeginPairing {
    #[serde(default)]
    name: String,
    #[serde(default)]
    client: PairingFor,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PairingBegun {
    pairing_id: String,
    code: String,
    expires_in: u64,
}

pub(super) async fn pair(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    JsonBody(begin): JsonBody<BeginPairing>,
) -> Result<(StatusCode, Json<PairingBegun>), Problem> {
    let from = address_of(sender.as_ref().map(|Extension(sender)| sender));
    let (id, pairing) =
        state.auth.identity().begin_pairing(&begin.name, begin.client, from).await?;
    let pairing_id = id.reveal().to_owned();
    let begun = PairingBegun { pairing_id, code: pairing.code, expires_in: pairing.expires_in };
    Ok((StatusCode::CREATED, Json(begun)))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PairingReply {
    status: PairingState,
    /// The token, for a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The page key, for a browser, in addition to its cookie: sent as `X-Onyx-Page-Key` with every
    /// request.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_key: Option<String>,
}

/// Only the device knows the id, so the id is enough to get the approved credential.
pub(super) async fn pairing(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    Extension(scheme): Extension<Scheme>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (status, picked_up) = state.auth.identity().pick_up_pairing(&id).await?;
    if let Some(picked_up) = &picked_up {
        let proof = match picked_up {
            DeviceCredential::Browser(session) => Proof::Session {
                cookie: session.cookie.reveal(),
                page_key: Some(session.page_key.reveal()),
            },
            DeviceCredential::Device(token) => Proof::Bearer(token.reveal()),
        };
        let from = address_of(sender.as_ref().map(|Extension(sender)| sender));
        let paired =
            state.auth.identity().caller(Attempt { proof, from, speaks_for: None }).await?;
        sign_in_audit::note(&state, &paired.person, SignInMeans::Pairing, from, Outcome::SignedIn)
            .await;
    }
    let reply = PairingReply { status, token: None, page_key: None };
    Ok(match picked_up {
        Some(DeviceCredential::Browser(session)) => {
            let cookie = [(header::SET_COOKIE, cookie::set(&session.cookie, scheme)?)];
            let page_key = Some(session.page_key.reveal().to_owned());
            (cookie, Json(PairingReply { page_key, ..reply })).into_response()
        }
        Some(DeviceCredential::Device(token)) => {
            let token = Some(token.reveal().to_owned());
            Json(PairingReply { token, ..reply }).into_response()
        }
        None => Json(reply).into_response(),
    })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Me {
    person: PersonId,
    name: Option<String>,
    role: Role,
    credential: CallerKind,
    scopes: Grants,
    expires_at: Option<Timestamp>,
}

impl Me {
    fn of(state: &ApiState, caller: &AuthContext) -> Self {
        let people = state.auth.identity().people();
        let name = people.into_iter().find(|person| person.id == caller.person);
        Self {
            person: caller.person.clone(),
            name: name.and_then(|person| person.name),
            role: if caller.is_owner { Role::Owner } else { Role::Member },
            credential: caller.kind,
            scopes: caller.grants(),
            expires_at: caller.expires_at,
        }
    }
}

/// The signed-in person, and the key that the page sends with every request.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SignedIn {
    #[serde(flatten)]
    me: Me,
    /// Sent as `X-Onyx-Page-Key`: without it the cookie alone is not accepted. It is given only
    /// here.
    page_key: String,
}

pub(super) async fn me(State(state): State<ApiState>, caller: AuthContext) -> Json<Me> {
    Json(Me::of(&state, &caller))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct OwnPassword {
    /// The current password, where there is one.
    current: Option<String>,
    #[schemars(length(min = 8, max = 1024))]
    password: String,
}

/// All who are signed in with the old password, this caller too, have to sign in again.
pub(super) async fn set_own_password(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    caller: AuthContext,
    JsonBody(new): JsonBody<OwnPassword>,
) -> Result<StatusCode, Problem> {
    if !caller.grants().has(Grant::Write) {
        return Err(Problem::new(ErrorCode::Forbidden, "this credential lacks the scope `write`"));
    }
    let identity = state.auth.identity();
    let from = address_of(sender.as_ref().map(|Extension(sender)| sender));
    // A person who knows the password may change it; a first password is set by the caller's
    // credential.
    let maker = if identity.has_password(&caller.person) {
        let current = new.current.as_deref().unwrap_or_default();
        let proof = Proof::Password { person: caller.person.as_str(), password: current };
        let proved = identity.caller(Attempt { proof, from, speaks_for: None }).await;
        proved.map_err(|fault| match fault.code {
            ErrorCode::Unauthenticated => {
                Problem::field("current", "the current password is wrong")
                    .with_status(StatusCode::FORBIDDEN)
            }
            _ => fault.into(),
        })?
    } else {
        (*caller).clone()
    };
    // The change runs in its own task, because this request may end with the session that the old
    // password signed in.
    let changed = tokio::spawn({
        let state = state.clone();
        async move {
            let person = caller.person.clone();
            state.auth.identity().set_password(&maker, &person, &new.password).await?;
            sign_in_audit::note(
                &state,
                &person,
                SignInMeans::Password,
                from,
                Outcome::PasswordChanged,
            )
            .await;
            Ok::<_, Fault>(())
        }
    });
    changed.await.map_err(|_| Fault::plain(ErrorCode::Internal))??;
    Ok(StatusCode::NO_CONTENT)
}
