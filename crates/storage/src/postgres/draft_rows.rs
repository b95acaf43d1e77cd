//! A draft as a row of the table `drafts`: how it is written and how it is read.

use deadpool_postgres::Transaction;
use onyx_types::{PersonId, Plan, SessionKey, Taint, ToolUseId};
use serde::Serialize;
use tokio_postgres::Row;

use crate::{Draft, DraftDecision, DraftOutput, StoreError};

use super::convert::{
    get, hash, json, named, parsed, parsed_if_any, shown, shown_if_any, timestamp,
    timestamp_if_any, unreadable,
};
use super::query::execute;
use super::transaction::TransactionError;

pub(super) async fn insert(
    transaction: &Transaction<'_>,
    draft: &Draft,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "INSERT INTO drafts (person, draft, log_agent, session, agent, run, call, input, tainted,
                             plan, hash, state, created_at, expires_at, decided_at, decided_by,
                             reason, output, origin, superseded_by, delivered)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                 $19, $20, $21)",
        &[
            &draft.key.person.as_str(),
            &draft.id.to_string(),
            &draft.key.agent.as_str(),
            &draft.key.session.to_string(),
            &draft.agent.as_str(),
            &draft.run.to_string(),
            &shown(&draft.call.0),
            &draft.input.as_ref().map(ToString::to_string),
            &matches!(draft.taint, Taint::Tainted),
            &plan_json(&draft.plan)?,
            &draft.hash.to_string(),
            &draft.state.as_str(),
            &draft.created_at.as_millis(),
            &draft.expires_at.as_millis(),
            &draft.decided.as_ref().map(|decided| decided.at.as_millis()),
            &draft.decided.as_ref().map(|decided| decided.by.to_string()),
            &shown_if_any(draft.reason.as_deref()),
            &shown_if_any(draft.output_text()),
            &draft.origin().as_str(),
            &draft.superseded_by.map(|id| id.to_string()),
            &draft.delivered,
        ],
    )
    .await?;
    keep_artifact(transaction, draft).await
}

/// Writes where the whole of the draft's output is kept, if it is kept anywhere.
pub(super) async fn keep_artifact(
    transaction: &Transaction<'_>,
    draft: &Draft,
) -> Result<(), TransactionError> {
    let artifact = draft.output.as_ref().and_then(|output| output.artifact.as_ref());
    let Some(artifact) = artifact else { return Ok(()) };
    let keep = "INSERT INTO draft_artifacts (person, draft, artifact) VALUES ($1, $2, $3)
                ON CONFLICT (person, draft) DO UPDATE SET artifact = excluded.artifact";
    let person = draft.key.person.as_str();
    execute(transaction, keep, &[&person, &draft.id.to_string(), &written(artifact)?]).await?;
    Ok(())
}

/// Reads a draft from a row with the columns in the order of the table, and its artifact.
pub(super) fn draft_row(row: &Row) -> Result<Draft, StoreError> {
    let input = match get::<Option<&str>>(row, 7)? {
        None => None,
        Some(text) => Some(serde_json::from_str(text).map_err(|error| unreadable(row, 7, &error))?),
    };
    let decided_by: Option<PersonId> = parsed_if_any(row, 15)?;
    let decided = timestamp_if_any(row, 14)?.zip(decided_by);
    let output = match get(row, 17)? {
        None => None,
        Some(text) => {
            let artifact = get::<Option<&str>>(row, 21)?.map(|_| json(row, 21)).transpose()?;
            Some(DraftOutput { text, origin: named(row, 18)?, artifact })
        }
    };
    Ok(Draft {
        id: parsed(row, 1)?,
        key: SessionKey {
            person: parsed(row, 0)?,
            agent: parsed(row, 2)?,
            session: parsed(row, 3)?,
        },
        agent: parsed(row, 4)?,
        run: parsed(row, 5)?,
        call: ToolUseId(get(row, 6)?),
        input,
        taint: if get(row, 8)? { Taint::Tainted } else { Taint::Clean },
        plan: json(row, 9)?,
        hash: hash(row, 10)?,
        state: named(row, 11)?,
        created_at: timestamp(row, 12)?,
        expires_at: timestamp(row, 13)?,
        decided: decided.map(|(at, by)| DraftDecision { by, at }),
        reason: get(row, 16)?,
        output,
        superseded_by: parsed_if_any(row, 19)?,
        delivered: get(row, 20)?,
    })
}

pub(super) fn plan_json(plan: &Plan) -> Result<String, StoreError> {
    written(plan)
}

fn written(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}
