mod accounts;
mod admin;
mod agent;
mod agents;
mod audit;
mod auth;
mod channels;
mod conversations;
mod health;
mod logs;
mod memory;
mod metrics;
mod owned;
mod pending_changes;
mod personas;
mod runs;
mod secrets;
mod sessions;
mod sources;
mod spaces;
mod ui_chat;
mod v1;
mod ws;

/// What the routes read and write, for their description.
pub(crate) mod views {
    pub(crate) use super::accounts::{
        Approve, Credentials, Link, NewPassword, NewPerson, Pairings, People, Reject, TokenMade,
        TokenRequest,
    };
    pub(crate) use super::admin::Reindexed;
    pub(crate) use super::admin::config::NewConfig;
    pub(crate) use super::admin::logins::FoundProviders;
    pub(crate) use super::admin::models::{Budgets, Models, NewLimits};
    pub(crate) use super::admin::providers::{ProviderDetails, Providers, PutProvider};
    pub(crate) use super::admin::usage::{UsageQuery, UsageReport};
    pub(crate) use super::agent::actions::{ActionView, RunAction};
    pub(crate) use super::agent::health::AgentHealth;
    pub(crate) use super::agent::preferences::{PreferencesChange, PreferencesView};
    pub(crate) use super::agent::request::ChatRequest;
    pub(crate) use super::agent::{
        Cleared, History, HistoryQuery, SessionRequest, StopRequest, Stopped,
    };
    pub(crate) use super::agents::change::NewAgent;
    pub(crate) use super::agents::{AgentDetails, AgentFields, AgentList};
    pub(crate) use super::audit::{AuditChains, AuditPage, AuditQuery, VerifyQuery};
    pub(crate) use super::auth::{
        BeginPairing, LinkQuery, Login, Me, OwnPassword, PairingBegun, PairingReply, Refresh,
        SignedIn, TokenReply,
    };
    pub(crate) use super::channels::views as channels;
    pub(crate) use super::conversations::{
        CompanionView, Messages, MessagesQuery, PostMessage, Posted, StreamQuery,
    };
    pub(crate) use super::health::{Health, Ready};
    pub(crate) use super::logs::{LogLines, LogsQuery};
    pub(crate) use super::memory::files::{FileList, FilesQuery, ReadQuery, Restore};
    pub(crate) use super::memory::{Found, KnowledgeQuery, MemoryQuery, NewMemory, Remembered};
    pub(crate) use super::pending_changes::{
        DraftDecision, PendingChange, PendingChanges, PendingChangesQuery,
    };
    pub(crate) use super::personas::views as personas;
    pub(crate) use super::runs::{EventsQuery, UndoQuery, Undone};
    pub(crate) use super::secrets::{Rotated, SecretList, SecretValue};
    pub(crate) use super::sessions::change::{Fork, Patch};
    pub(crate) use super::sessions::export::ExportQuery;
    pub(crate) use super::sessions::{
        ListQuery, SessionList, SessionView, SessionWithSiblings, TurnList, TurnsQuery,
    };
    pub(crate) use super::sources::{
        ProgressView, SourceList, SourceRequest, SourceView, SourcesQuery,
    };
    pub(crate) use super::spaces::views as spaces;
    pub(crate) use super::v1::embeddings::{EmbeddingList, EmbeddingRequest};
    pub(crate) use super::v1::models::{ModelList, ModelView};
}

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use onyx_types::ErrorCode;
use tower_http::catch_panic::CatchPanicLayer;

use crate::foreign::in_the_clients_form;
use crate::guard::check_host_and_origin;
use crate::openapi;
use crate::serve::spare_the_reserve;
use crate::traffic::followed;
use crate::{Access, ApiState, Problem, Routes};

/// Every route of the server, each with what it asks of its caller.
pub fn routes() -> Routes {
    use Access::{Chat, Owner, Public, Read, Write};
    Routes::new()
        .get("/health", Public, health::health)
        .get("/ready", Public, health::ready)
        .post("/api/agent/chat-stream", Chat, agent::chat_stream)
        .post("/api/agent/chat", Chat, agent::chat)
        .post("/api/agent/stop", Chat, agent::stop)
        .post("/api/agent/session/clear", Write, agent::clear)
        .get("/api/agent/session/history", Read, agent::history)
        .get("/api/agent/config", Read, agent::preferences::show)
        .post("/api/agent/config", Write, agent::preferences::change)
        .get("/api/agent/actions", Read, agent::actions::list)
        .post("/api/agent/actions/{id}/run", Chat, agent::actions::run)
        .get("/api/agent/health", Read, agent::health::show)
        .post("/api/claude/chat-stream", Chat, agent::claude_chat_stream)
        .post("/api/claude/chat", Chat, agent::chat)
        .post("/api/claude/clear", Write, agent::clear)
        .get("/api/claude/history", Read, agent::history)
        .get("/v1/agents", Read, agents::list)
        .post("/v1/agents", Owner, agents::change::create)
        .get("/v1/agents/{id}", Read, agents::show)
        .put("/v1/agents/{id}", Owner, agents::change::replace)
        .patch("/v1/agents/{id}", Owner, agents::change::patch)
        .delete("/v1/agents/{id}", Owner, agents::change::remove)
        .get("/v1/agents/{id}/files/{name}", Read, agents::files::read)
        .put("/v1/agents/{id}/files/{name}", Owner, agents::files::write)
        .get("/v1/sessions", Read, sessions::list)
        .get("/v1/sessions/{id}", Read, sessions::show)
        .patch("/v1/sessions/{id}", Write, sessions::patch)
        .delete("/v1/sessions/{id}", Write, sessions::delete)
        .post("/v1/sessions/{id}/fork", Write, sessions::fork)
        .get("/v1/sessions/{id}/turns", Read, sessions::turns)
        .get("/v1/sessions/{id}/export", Read, sessions::export)
        .get("/api/runs/{id}/events", Read, runs::events)
        .post("/api/runs/{id}/cancel", Chat, runs::cancel)
        .post("/api/runs/{id}/undo", Write, runs::undo)
        .get("/api/pending-changes", Read, pending_changes::list)
        .get("/api/pending-changes/events", Read, pending_changes::events)
        .get("/api/pending-changes/{id}", Read, pending_changes::show)
        .post("/api/pending-changes/{id}/approve", Write, pending_changes::approve)
        .post("/api/pending-changes/{id}/reject", Write, pending_changes::reject)
        .get("/api/admin/audit", Owner, audit::list)
        .get("/api/admin/audit/verify", Owner, audit::verify)
        .post("/api/admin/reindex", Owner, admin::reindex)
        .get("/api/admin/config", Owner, admin::config::read)
        .put("/api/admin/config", Owner, admin::config::write)
        .get("/api/admin/providers", Owner, admin::providers::list)
        .get("/api/admin/providers/found", Owner, admin::logins::found)
        .get("/api/admin/providers/{name}", Owner, admin::providers::show)
        .put("/api/admin/providers/{name}", Owner, admin::providers::put)
        .delete("/api/admin/providers/{name}", Owner, admin::providers::remove)
        .post("/api/admin/providers/{name}/test", Owner, admin::providers::test)
        .get("/api/admin/providers/{name}/models", Owner, admin::providers::listed)
        .get("/api/admin/providers/{name}/login", Owner, admin::logins::show)
        .post("/api/admin/providers/{name}/login", Owner, admin::logins::begin)
        .delete("/api/admin/providers/{name}/login", Owner, admin::logins::end)
        .get("/api/admin/models", Owner, admin::models::models)
        .get("/api/admin/models/{*id}", Owner, admin::models::model)
        .get("/api/admin/budgets", Owner, admin::models::budgets)
        .put("/api/admin/budgets", Owner, admin::models::set_limits)
        .get("/api/admin/usage", Owner, admin::usage::usage)
        .get("/api/admin/logs", Owner, logs::logs)
        .get("/metrics", Owner, metrics::metrics)
        .get("/openapi.json", Read, openapi::serve)
        .get("/docs", Public, openapi::page)
        .merge(knowledge_sources())
        .merge(memory_routes())
        .merge(sign_in())
        .merge(accounts())
        .merge(personas::routes())
        .merge(spaces::routes())
        .merge(conversations::routes())
        .merge(channels::routes())
        .post("/api/v1/chat", Chat, ui_chat::chat)
        .merge(v1::routes())
        .merge(ws::routes())
}

fn knowledge_sources() -> Routes {
    use Access::{Read, Write};
    Routes::new()
        .get("/api/sources", Read, sources::list)
        .post("/api/sources", Write, sources::add)
        .get("/api/sources/{id}", Read, sources::show)
        .post("/api/sources/{id}", Write, sources::sync)
        .delete("/api/sources/{id}", Write, sources::remove)
        .get("/api/sources/{id}/events", Read, sources::events)
}

fn memory_routes() -> Routes {
    use Access::{Read, Write};
    Routes::new()
        .get("/v1/memory/search", Read, memory::search)
        .post("/v1/memory", Write, memory::write)
        .get("/v1/memory/status", Read, memory::status)
        .get("/v1/memory/files", Read, memory::files::list)
        .get("/v1/memory/files/{*path}", Read, memory::files::read)
        .put("/v1/memory/files/{*path}", Write, memory::files::write)
        .delete("/v1/memory/files/{*path}", Write, memory::files::delete)
        .post("/v1/memory/files/{*path}", Write, memory::files::restore)
        .get("/api/search", Read, memory::search_all)
}

fn sign_in() -> Routes {
    use Access::{Person, Public};
    Routes::new()
        .get("/auth/link", Public, auth::link)
        .post("/api/auth/login", Public, auth::login)
        .post("/api/auth/refresh", Public, auth::refresh)
        .post("/api/auth/pair", Public, auth::pair)
        .get("/api/auth/pair/{id}", Public, auth::pairing)
        .post("/api/auth/logout", Person, auth::logout)
        .post("/api/auth/token", Person, auth::token)
        .get("/api/auth/me", Person, auth::me)
        .put("/api/auth/password", Person, auth::set_own_password)
}

fn accounts() -> Routes {
    use Access::Owner;
    Routes::new()
        .get("/api/admin/people", Owner, accounts::people)
        .post("/api/admin/people", Owner, accounts::add_person)
        .delete("/api/admin/people/{id}", Owner, accounts::remove_person)
        .put("/api/admin/people/{id}/password", Owner, accounts::set_password)
        .delete("/api/admin/people/{id}/password", Owner, accounts::remove_password)
        .get("/api/admin/tokens", Owner, accounts::tokens)
        .post("/api/admin/tokens", Owner, accounts::create_token)
        .delete("/api/admin/tokens/{id}", Owner, accounts::revoke)
        .get("/api/admin/pairings", Owner, accounts::pairings)
        .post("/api/admin/pairings/approve", Owner, accounts::approve_pairing)
        .post("/api/admin/pairings/reject", Owner, accounts::reject_pairing)
        .post("/api/admin/links", Owner, accounts::create_link)
        .get("/api/admin/secrets", Owner, secrets::list)
        .put("/api/admin/secrets/{name}", Owner, secrets::set)
        .delete("/api/admin/secrets/{name}", Owner, secrets::remove)
        .post("/api/admin/secrets/rotate", Owner, secrets::rotate)
}

pub fn router(state: ApiState) -> Router {
    let guard = from_fn_with_state(state.clone(), check_host_and_origin);
    let reserve = from_fn_with_state(state.clone(), spare_the_reserve);
    routes()
        .into_router(&state)
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state.clone())
        .layer(reserve)
        .layer(guard)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(in_the_clients_form))
        .layer(from_fn_with_state(state, followed))
}

/// What no route serves is the web app's, or nothing.
async fn no_route(method: Method, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    crate::ui::answer(&method, uri.path(), &headers).ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("there is no route {}", uri.path()))
    })
}

async fn wrong_method(uri: Uri) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, format!("{} does not take this method", uri.path()))
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The panic itself is logged by the process's hook; the client only learns that it was ours.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::new(ErrorCode::Internal, ErrorCode::Internal.sentence()).into_response()
}
