//! `/api/admin/pending-changes`: drafts of members' agents that only the owner may approve. A
//! member's other drafts are private to the member and not shown to the owner.

use crate::wire::Json;
use axum::extract::{Path, State};
use onyx_storage::DraftFilter;
use onyx_types::{ApproverKind, DraftState, PersonId};
use schemars::JsonSchema;
use serde::Serialize;

use super::pending_changes::{DraftDecision, PendingChange, draft_id, refused};
use crate::routing::PathValue;
use crate::wire::OptionalBody;
use crate::{Access, ApiState, AuthContext, Problem, Route, Routes};

/// The most drafts listed for each person; others follow once these are decided.
const MOST: u32 = 200;

pub(super) fn routes() -> Routes {
    let rows = [
        Route::get("/api/admin/pending-changes", Access::Owner, list)
            .summary("List members' drafts that need the owner's approval")
            .answers_json::<MembersChanges>(),
        Route::post("/api/admin/pending-changes/{person}/{id}/approve", Access::Owner, approve)
            .summary("Approve and apply a member's draft")
            .path_value("person", PathValue::NAME)
            .path_value("id", PathValue::Uuid)
            .body::<DraftDecision>()
            .answers_json::<PendingChange>(),
        Route::post("/api/admin/pending-changes/{person}/{id}/reject", Access::Owner, reject)
            .summary("Reject a member's draft")
            .path_value("person", PathValue::NAME)
            .path_value("id", PathValue::Uuid)
            .body::<DraftDecision>()
            .answers_json::<PendingChange>(),
    ];
    Routes::tagged("admin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MembersChanges {
    drafts: Vec<MembersChange>,
}

#[derive(Serialize, JsonSchema)]
struct MembersChange {
    person: PersonId,
    #[serde(flatten)]
    change: PendingChange,
}

async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<MembersChanges>, Problem> {
    let approvals = &state.agent.approvals;
    let filter =
        DraftFilter { state: Some(DraftState::Pending), session: None, before: None, limit: MOST };
    let mut drafts = Vec::new();
    for person in state.auth.identity().people() {
        if person.id == caller.person {
            continue;
        }
        for draft in approvals.list(&person.id, &filter).await? {
            if approvals.needs_owner(ApproverKind::Member, &draft) {
                let (person, change) = (person.id.clone(), PendingChange::of(&state, draft));
                drafts.push(MembersChange { person, change });
            }
        }
    }
    Ok(Json(MembersChanges { drafts }))
}

async fn approve(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((person, id)): Path<(String, String)>,
    OptionalBody(decision): OptionalBody<DraftDecision>,
) -> Result<Json<PendingChange>, Problem> {
    let (member, id, approval) = (member(&person)?, draft_id(&id)?, decision.approval()?);
    let approver = caller.approver()?;
    let approved = state.agent.approvals.approve_for_member(&approver, &member, id, approval).await;
    let approved = approved.map_err(|not| refused(&state, not))?;
    Ok(Json(PendingChange::of(&state, approved)))
}

async fn reject(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((person, id)): Path<(String, String)>,
    OptionalBody(decision): OptionalBody<DraftDecision>,
) -> Result<Json<PendingChange>, Problem> {
    let (member, id, reason) = (member(&person)?, draft_id(&id)?, decision.reason()?);
    let approvals = &state.agent.approvals;
    let rejected = approvals.reject_for_member(&caller.person, &member, id, reason).await;
    let rejected = rejected.map_err(|not| refused(&state, not))?;
    Ok(Json(PendingChange::of(&state, rejected)))
}

fn member(text: &str) -> Result<PersonId, Problem> {
    text.parse().map_err(|error: onyx_types::IdError| Problem::field("person", error.to_string()))
}
