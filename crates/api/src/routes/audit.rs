//! `/api/admin/audit`: the audit log, and whether it is complete.

use axum::extract::State;
use onyx_storage::{AuditRow, ChainState};
use onyx_types::{AgentId, Fault, Hash, PersonId, RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

pub(super) fn routes() -> Routes {
    let rows = [
        Route::get("/api/admin/audit", Access::Owner, list)
            .summary("List audit entries")
            .query::<AuditQuery>()
            .answers_json::<AuditPage>(),
        Route::get("/api/admin/audit/verify", Access::Owner, verify)
            .summary("Verify that the audit log is complete")
            .query::<VerifyQuery>()
            .answers_json::<AuditChains>(),
    ];
    Routes::tagged("admin", rows)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AuditQuery {
    /// The person whose entries are listed; without it, the caller.
    person: Option<PersonId>,
    before: Option<u64>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AuditPage {
    /// Newest first.
    rows: Vec<AuditRowView>,
    /// Give it as `before` to get the older ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AuditRowView {
    person: PersonId,
    seq: u64,
    ts: Timestamp,
    actor_kind: String,
    actor: String,
    agent: Option<AgentId>,
    session_id: Option<SessionId>,
    run_id: Option<RunId>,
    tool: Option<String>,
    effect: Option<&'static str>,
    decision: Option<&'static str>,
    diff_summary: String,
    /// The summary with each hash in it shortened, for people.
    short_summary: String,
    result: String,
    /// Hash of the previous row.
    #[schemars(with = "String")]
    previous: Hash,
    #[schemars(with = "String")]
    hash: Hash,
}

impl From<AuditRow> for AuditRowView {
    fn from(AuditRow { seq, entry, previous, hash }: AuditRow) -> Self {
        Self {
            person: entry.person,
            seq,
            ts: entry.ts,
            actor_kind: entry.actor.kind().to_owned(),
            actor: entry.actor.name().to_owned(),
            agent: entry.agent,
            session_id: entry.session,
            run_id: entry.run,
            tool: entry.tool.map(|tool| tool.as_str().to_owned()),
            effect: entry.effect.map(|effect| effect.as_str()),
            decision: entry.decision.map(|decision| decision.as_str()),
            short_summary: with_short_hashes(&entry.diff_summary),
            diff_summary: entry.diff_summary,
            result: entry.result,
            previous,
            hash,
        }
    }
}

/// Enough of a hash for a person to recognise it.
const SHORT_HASH: usize = 12;

fn with_short_hashes(summary: &str) -> String {
    let shorten = |piece: &str| {
        let word = piece.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        match Hash::from_hex(word) {
            Some(_) => format!("{}…{}", &word[..SHORT_HASH], &piece[word.len()..]),
            None => piece.to_owned(),
        }
    };
    summary.split_inclusive([' ', ':', '(', '\n']).map(shorten).collect()
}

pub(super) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<AuditQuery>,
) -> Result<Json<AuditPage>, Problem> {
    let person = query.person.unwrap_or(caller.person.clone());
    let limit = super::sessions::list_limit("limit", query.limit)?;
    let rows = state.store.ledger.audit(&person, query.before, limit).await.map_err(Fault::from)?;
    // The first row of a chain is number 1.
    let before = rows.last().map(|row| row.seq).filter(|seq| *seq > 1);
    Ok(Json(AuditPage { rows: rows.into_iter().map(AuditRowView::from).collect(), before }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VerifyQuery {
    /// The person whose log is verified; without it, all people.
    person: Option<PersonId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AuditChains {
    chains: Vec<AuditChain>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AuditChain {
    person: PersonId,
    whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// Up to this row no available key protects the chain: the rows are older than the key, or came
    /// with a home whose key is kept elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    unkeyed_until: Option<u64>,
    /// The first row that is missing, changed or does not belong.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_at: Option<u64>,
}

impl AuditChain {
    fn whole(person: PersonId, rows: Option<u64>, unkeyed_until: Option<u64>) -> Self {
        Self { person, whole: true, rows, unkeyed_until, broken_at: None }
    }
}

pub(super) async fn verify(
    State(state): State<ApiState>,
    QueryOf(query): QueryOf<VerifyQuery>,
) -> Result<Json<AuditChains>, Problem> {
    let people = match query.person {
        Some(person) => vec![person],
        None => state.store.files.people().await.map_err(Fault::from)?,
    };
    let mut chains = Vec::with_capacity(people.len());
    for person in people {
        let state = state.store.ledger.verify_audit(&person).await.map_err(Fault::from)?;
        chains.push(match state {
            ChainState::Whole { rows } => AuditChain::whole(person, Some(rows), None),
            ChainState::SealedFrom { rows, first } => {
                AuditChain::whole(person, Some(rows), Some(first - 1))
            }
            ChainState::Broken { at } => AuditChain {
                whole: false,
                broken_at: Some(at),
                ..AuditChain::whole(person, None, None)
            },
        });
    }
    Ok(Json(AuditChains { chains }))
}
