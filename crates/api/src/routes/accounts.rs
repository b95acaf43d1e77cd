//! `/api/admin/{people,tokens,pairings,links}`: people and credentials, managed by the owner.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_identity::{Lifetime, NewToken, Pairing, Person};
use onyx_storage::{CredentialKind, CredentialRow};
use onyx_types::{CredentialId, ErrorCode, Grants, PersonId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::routing::PathValue;
use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, Route, Routes};

pub(super) fn routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/people", Owner, people)
            .summary("List accounts")
            .answers_json::<People>(),
        Route::post("/api/admin/people", Owner, add_person)
            .summary("Create an account")
            .body::<NewPerson>()
            .answers_created::<Person>(),
        Route::delete("/api/admin/people/{id}", Owner, remove_person)
            .summary("Delete an account; its files are kept")
            .path_value("id", PathValue::NAME)
            .answers_nothing(),
        Route::put("/api/admin/people/{id}/password", Owner, set_password)
            .summary("Set a person's password")
            .path_value("id", PathValue::NAME)
            .body::<NewPassword>()
            .answers_nothing(),
        Route::delete("/api/admin/people/{id}/password", Owner, remove_password)
            .summary("Remove a person's password")
            .path_value("id", PathValue::NAME)
            .answers_nothing(),
        Route::get("/api/admin/tokens", Owner, tokens)
            .summary("List credentials: tokens, devices and browsers")
            .answers_json::<Credentials>(),
        Route::post("/api/admin/tokens", Owner, create_token)
            .summary("Create a token (shown once)")
            .body::<TokenRequest>()
            .answers_created::<TokenMade>(),
        Route::delete("/api/admin/tokens/{id}", Owner, revoke)
            .summary("Revoke a credential")
            .path_value("id", PathValue::Uuid)
            .answers_nothing(),
        Route::get("/api/admin/pairings", Owner, pairings)
            .summary("List devices that wait for approval")
            .answers_json::<Pairings>(),
        Route::post("/api/admin/pairings/approve", Owner, approve_pairing)
            .summary("Approve a device")
            .body::<Approve>()
            .answers_nothing(),
        Route::post("/api/admin/pairings/reject", Owner, reject_pairing)
            .summary("Reject a device")
            .body::<Reject>()
            .answers_nothing(),
        Route::post("/api/admin/links", Owner, create_link)
            .summary("Create a link that signs the owner in once")
            .answers_json::<Link>(),
    ];
    Routes::tagged("admin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct People {
    people: Vec<Person>,
}

pub(super) async fn people(State(state): State<ApiState>) -> Json<People> {
    Json(People { people: state.auth.identity().people() })
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewPerson {
    id: PersonId,
    name: Option<String>,
}

pub(super) async fn add_person(
    State(state): State<ApiState>,
    JsonBody(new): JsonBody<NewPerson>,
) -> Result<(StatusCode, Json<Person>), Problem> {
    if state.auth.identity().people().iter().any(|person| person.id == new.id) {
        let there = Problem::field("id", format!("a person `{}` already exists", new.id));
        return Err(there.with_status(StatusCode::CONFLICT));
    }
    let person = state.auth.identity().add_person(new.id, new.name).await?;
    Ok((StatusCode::CREATED, Json(person)))
}

pub(super) async fn remove_person(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let person = person_id(&id)?;
    state.auth.identity().remove_person(&person).await?;
    // The sign-in is removed, because a later person of the same name must not get it.
    if let Err(fault) = state.extensions.linkedin.revoke(&person).await {
        tracing::warn!(%person, %fault, "the LinkedIn sign-in of a removed person is still kept");
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewPassword {
    #[schemars(length(min = 8, max = 1024))]
    password: String,
}

pub(super) async fn set_password(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    JsonBody(new): JsonBody<NewPassword>,
) -> Result<StatusCode, Problem> {
    state.auth.identity().set_password(&caller, &person_id(&id)?, &new.password).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove_password(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.auth.identity().remove_password(&person_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn person_id(text: &str) -> Result<PersonId, Problem> {
    text.parse().map_err(|error| Problem::field("id", error))
}

/// A credential without its secret.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CredentialView {
    id: CredentialId,
    kind: CredentialKind,
    name: String,
    people: Vec<PersonId>,
    scopes: Grants,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
}

impl From<CredentialRow> for CredentialView {
    fn from(row: CredentialRow) -> Self {
        Self {
            id: row.credential,
            kind: row.kind,
            name: row.name,
            people: row.people,
            scopes: row.grants,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Credentials {
    tokens: Vec<CredentialView>,
}

pub(super) async fn tokens(State(state): State<ApiState>) -> Json<Credentials> {
    let rows = state.auth.identity().credentials();
    Json(Credentials { tokens: rows.into_iter().map(CredentialView::from).collect() })
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TokenRequest {
    #[schemars(length(min = 1, max = 100), regex(pattern = r"^[!-~]+$"))]
    name: String,
    /// Absent: the caller. A token of several people is a household token.
    #[serde(default)]
    people: Vec<PersonId>,
    /// Absent: all rights for a person's own data.
    #[schemars(length(min = 1))]
    scopes: Option<Grants>,
    /// In seconds; absent: valid until it is revoked.
    #[schemars(range(min = 1))]
    expires_in: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenMade {
    #[serde(flatten)]
    view: CredentialView,
    /// Shown only here.
    token: String,
}

pub(super) async fn create_token(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(request): JsonBody<TokenRequest>,
) -> Result<(StatusCode, Json<TokenMade>), Problem> {
    let people =
        if request.people.is_empty() { vec![caller.person.clone()] } else { request.people };
    let lifetime = match request.expires_in {
        None => Lifetime::UntilRevoked,
        Some(0) => return Err(Problem::field("expires_in", "it must be at least 1")),
        Some(seconds) => Lifetime::For(Duration::from_secs(seconds)),
    };
    let grants = request.scopes.unwrap_or_else(Grants::personal);
    let new = NewToken { people, name: request.name, grants, lifetime };
    let (row, secret) = state.auth.identity().create_token(&caller, new).await?;
    let made = TokenMade { view: row.into(), token: secret.reveal().to_owned() };
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn revoke(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = id.parse().map_err(|error: onyx_types::IdError| Problem::field("id", error))?;
    state.auth.identity().revoke(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Pairings {
    pairings: Vec<Pairing>,
}

pub(super) async fn pairings(State(state): State<ApiState>) -> Result<Json<Pairings>, Problem> {
    Ok(Json(Pairings { pairings: state.auth.identity().pairings().await? }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Approve {
    code: String,
    /// The person who gets the device; absent: the caller.
    person: Option<PersonId>,
}

pub(super) async fn approve_pairing(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(approve): JsonBody<Approve>,
) -> Result<StatusCode, Problem> {
    let person = approve.person.as_ref().unwrap_or(&caller.person);
    state.auth.identity().approve_pairing(&caller, &approve.code, person).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Reject {
    code: String,
}

pub(super) async fn reject_pairing(
    State(state): State<ApiState>,
    JsonBody(reject): JsonBody<Reject>,
) -> Result<StatusCode, Problem> {
    state.auth.identity().reject_pairing(&reject.code).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Link {
    /// An address to open in a browser on the machine that runs the server.
    url: String,
}

pub(super) async fn create_link(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<Link>, Problem> {
    let url = state.auth.create_link(&caller).await?.ok_or_else(|| {
        Problem::new(
            ErrorCode::NotFound,
            "the server listens on no address of this machine that a link could open",
        )
    })?;
    Ok(Json(Link { url }))
}
