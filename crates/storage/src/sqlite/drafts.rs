//! Drafts in the embedded database. They are few and short-lived, so queries read the rows of one
//! session or one page.

use std::collections::HashSet;

use async_trait::async_trait;
use onyx_types::{
    DraftId, DraftState, PersonId, Plan, SessionId, SessionKey, Taint, Timestamp, ToolUseId,
};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};
use serde::Serialize;

use crate::blocking::lock;
use crate::{
    AuditEntry, Draft, DraftDecision, DraftFilter, DraftMove, DraftOutput, Drafts, StoreError,
};

use super::audit;
use super::convert::{hash, named, parsed, parsed_if_any, timestamp, unreadable};
use super::ledger::SqliteLedger;

const PAGE: u32 = 50;

/// Selects drafts in the columns that `draft_row` reads.
macro_rules! select_drafts {
    ($rest:literal) => {
        concat!(
            "SELECT drafts.*, (SELECT artifact FROM draft_artifacts AS kept
                               WHERE kept.person = drafts.person AND kept.draft = drafts.draft)
             FROM drafts ",
            $rest
        )
    };
}

#[async_trait]
impl Drafts for SqliteLedger {
    async fn put_draft(
        &self,
        draft: Draft,
        replaces: &[DraftId],
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        let replaces = replaces.to_vec();
        lock(&self.drafted).insert((draft.key.person.clone(), draft.key.session));
        let witnesses = self.witnesses.clone();
        let write = move |connection: &Connection| {
            put(connection, &draft, &replaces)?;
            audit::append(connection, entry, witnesses.seal())
        };
        let row = self.writer.write(write).await?;
        self.witnesses.tell(&row);
        Ok(())
    }

    async fn draft(&self, person: &PersonId, id: DraftId) -> Result<Option<Draft>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| one(connection, &person, id)).await
    }

    async fn drafts(
        &self,
        person: &PersonId,
        filter: &DraftFilter,
    ) -> Result<Vec<Draft>, StoreError> {
        let (person, filter) = (person.clone(), filter.clone());
        self.readers.read(move |connection| page(connection, &person, &filter)).await
    }

    async fn open_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
        if !self.has_drafts(key) {
            return Ok(Vec::new());
        }
        let key = key.clone();
        self.readers.read(move |connection| open(connection, &key)).await
    }

    async fn move_draft(
        &self,
        person: &PersonId,
        id: DraftId,
        step: DraftMove,
        entry: AuditEntry,
    ) -> Result<Draft, StoreError> {
        let person = person.clone();
        let witnesses = self.witnesses.clone();
        let write = move |connection: &Connection| {
            let moved = advance(connection, &person, id, &step)?;
            Ok((moved, audit::append(connection, entry, witnesses.seal())?))
        };
        let (moved, row) = self.writer.write(write).await?;
        self.witnesses.tell(&row);
        Ok(moved)
    }

    async fn unsettled_drafts(&self, now: Timestamp) -> Result<Vec<Draft>, StoreError> {
        self.readers
            .read(move |connection| {
                let mut statement = connection.prepare_cached(select_drafts!(
                    "WHERE state IN ('pending', 'stale', 'applying')
                     AND (state = 'applying' OR expires_at <= ?1) ORDER BY draft"
                ))?;
                let rows = statement.query_map([now.as_millis()], draft_row)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn undelivered_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
        if !self.has_drafts(key) {
            return Ok(Vec::new());
        }
        let key = key.clone();
        self.readers
            .read(move |connection| {
                let mut statement = connection.prepare_cached(select_drafts!(
                    "WHERE person = ?1 AND session = ?2 AND delivered = 0
                     AND state IN ('applied', 'failed', 'unknown', 'rejected')
                     ORDER BY decided_at, draft"
                ))?;
                let of_session = params![key.person.as_str(), key.session.to_string()];
                let rows = statement.query_map(of_session, draft_row)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn deliver_drafts(&self, key: &SessionKey, ids: &[DraftId]) -> Result<(), StoreError> {
        let (person, ids) = (key.person.clone(), ids.to_vec());
        self.writer
            .write(move |connection| {
                let mut statement = connection.prepare_cached(
                    "UPDATE drafts SET delivered = 1 WHERE person = ?1 AND draft = ?2",
                )?;
                for id in ids {
                    statement.execute(params![person.as_str(), id.to_string()])?;
                }
                Ok(())
            })
            .await
    }
}

impl SqliteLedger {
    /// Whether a session may have drafts. It is answered from memory, because every run asks and
    /// hardly any session has drafts.
    fn has_drafts(&self, key: &SessionKey) -> bool {
        lock(&self.drafted).contains(&(key.person.clone(), key.session))
    }
}

/// Lists the sessions that have drafts, with their people.
pub(super) fn sessions(
    connection: &Connection,
) -> Result<HashSet<(PersonId, SessionId)>, StoreError> {
    let mut statement = connection.prepare("SELECT DISTINCT person, session FROM drafts")?;
    let rows = statement.query_map([], |row| Ok((parsed(row, 0)?, parsed(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn put(connection: &Connection, draft: &Draft, replaces: &[DraftId]) -> Result<(), StoreError> {
    let open = open(connection, &draft.key)?;
    let in_the_way: HashSet<_> =
        open.iter().filter(|other| other.touches(&draft.plan)).map(|other| other.id).collect();
    if in_the_way != replaces.iter().copied().collect() {
        return Err(StoreError::Conflict);
    }
    for id in replaces {
        connection
            .prepare_cached(
                "UPDATE drafts SET state = 'superseded', superseded_by = ?3
                 WHERE person = ?1 AND draft = ?2",
            )?
            .execute(params![draft.key.person.as_str(), id.to_string(), draft.id.to_string()])?;
    }
    insert(connection, draft)
}

fn insert(connection: &Connection, draft: &Draft) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO drafts (person, draft, log_agent, session, agent, run, call, input,
                                 tainted, plan, hash, state, created_at, expires_at, decided_at,
                                 decided_by, reason, output, origin, superseded_by, delivered)
             VALUES (:person, :draft, :log_agent, :session, :agent, :run, :call, :input,
                     :tainted, :plan, :hash, :state, :created_at, :expires_at, :decided_at,
                     :decided_by, :reason, :output, :origin, :superseded_by, :delivered)",
        )?
        .execute(named_params! {
            ":person": draft.key.person.as_str(),
            ":draft": draft.id.to_string(),
            ":log_agent": draft.key.agent.as_str(),
            ":session": draft.key.session.to_string(),
            ":agent": draft.agent.as_str(),
            ":run": draft.run.to_string(),
            ":call": draft.call.0,
            ":input": draft.input.as_ref().map(ToString::to_string),
            ":tainted": matches!(draft.taint, Taint::Tainted),
            ":plan": json(&draft.plan)?,
            ":hash": draft.hash.to_string(),
            ":state": draft.state.as_str(),
            ":created_at": draft.created_at.as_millis(),
            ":expires_at": draft.expires_at.as_millis(),
            ":decided_at": draft.decided.as_ref().map(|decided| decided.at.as_millis()),
            ":decided_by": draft.decided.as_ref().map(|decided| decided.by.to_string()),
            ":reason": draft.reason,
            ":output": draft.output_text(),
            ":origin": draft.origin().as_str(),
            ":superseded_by": draft.superseded_by.map(|id| id.to_string()),
            ":delivered": draft.delivered,
        })?;
    keep_artifact(connection, draft)
}

/// Writes where the whole of the draft's output is kept, if it is kept anywhere.
fn keep_artifact(connection: &Connection, draft: &Draft) -> Result<(), StoreError> {
    let artifact = draft.output.as_ref().and_then(|output| output.artifact.as_ref());
    let Some(artifact) = artifact else { return Ok(()) };
    connection
        .prepare_cached(
            "INSERT INTO draft_artifacts (person, draft, artifact) VALUES (?1, ?2, ?3)
             ON CONFLICT (person, draft) DO UPDATE SET artifact = excluded.artifact",
        )?
        .execute(params![draft.key.person.as_str(), draft.id.to_string(), json(artifact)?])?;
    Ok(())
}

fn advance(
    connection: &Connection,
    person: &PersonId,
    id: DraftId,
    step: &DraftMove,
) -> Result<Draft, StoreError> {
    let draft = one(connection, person, id)?.ok_or(StoreError::NotFound)?;
    if draft.state != step.from || draft.hash != step.hash {
        return Err(StoreError::Conflict);
    }
    let moved = draft.moved(step);
    connection
        .prepare_cached(
            "UPDATE drafts SET state = :state, plan = :plan, hash = :hash,
                    decided_at = :decided_at, decided_by = :decided_by, reason = :reason,
                    output = :output, origin = :origin
             WHERE person = :person AND draft = :draft",
        )?
        .execute(named_params! {
            ":person": person.as_str(),
            ":draft": id.to_string(),
            ":state": moved.state.as_str(),
            ":plan": json(&moved.plan)?,
            ":hash": moved.hash.to_string(),
            ":decided_at": moved.decided.as_ref().map(|decided| decided.at.as_millis()),
            ":decided_by": moved.decided.as_ref().map(|decided| decided.by.to_string()),
            ":reason": moved.reason,
            ":output": moved.output_text(),
            ":origin": moved.origin().as_str(),
        })?;
    keep_artifact(connection, &moved)?;
    Ok(moved)
}

fn one(
    connection: &Connection,
    person: &PersonId,
    id: DraftId,
) -> Result<Option<Draft>, StoreError> {
    let mut statement =
        connection.prepare_cached(select_drafts!("WHERE person = ?1 AND draft = ?2"))?;
    let row = statement.query_row(params![person.as_str(), id.to_string()], draft_row);
    Ok(row.optional()?)
}

/// Lists a person's drafts, newest first. Ids of drafts sort by time, so they serve as the order.
fn page(
    connection: &Connection,
    person: &PersonId,
    filter: &DraftFilter,
) -> Result<Vec<Draft>, StoreError> {
    let mut statement = connection.prepare_cached(select_drafts!(
        "WHERE person = :person
         AND (:state IS NULL OR state = :state) AND (:session IS NULL OR session = :session)
         AND (:before IS NULL OR draft < :before) ORDER BY draft DESC LIMIT :limit"
    ))?;
    let rows = statement.query_map(
        named_params! {
            ":person": person.as_str(),
            ":state": filter.state.map(DraftState::as_str),
            ":session": filter.session.map(|session| session.to_string()),
            ":before": filter.before.map(|draft| draft.to_string()),
            ":limit": if filter.limit == 0 { PAGE } else { filter.limit },
        },
        draft_row,
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn open(connection: &Connection, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
    let mut statement = connection.prepare_cached(select_drafts!(
        "WHERE person = ?1 AND session = ?2
         AND state IN ('pending', 'stale') ORDER BY draft"
    ))?;
    let of_session = params![key.person.as_str(), key.session.to_string()];
    let rows = statement.query_map(of_session, draft_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn forget_session(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
) -> Result<(), StoreError> {
    for forget in [
        "DELETE FROM draft_artifacts WHERE person = ?1 AND draft IN
             (SELECT draft FROM drafts WHERE person = ?1 AND session = ?2)",
        "DELETE FROM drafts WHERE person = ?1 AND session = ?2",
    ] {
        connection
            .prepare_cached(forget)?
            .execute(params![person.as_str(), session.to_string()])?;
    }
    Ok(())
}

fn draft_row(row: &Row<'_>) -> rusqlite::Result<Draft> {
    let plan: Result<Plan, _> = serde_json::from_str(row.get_ref(9)?.as_str()?);
    let input = match row.get_ref(7)?.as_str_or_null()? {
        None => None,
        Some(text) => Some(serde_json::from_str(text).map_err(|error| unreadable(7, error))?),
    };
    let output = row.get::<_, Option<String>>(17)?;
    let output = output.map(|text| output_of(row, text)).transpose()?;
    let decided_at: Option<i64> = row.get(14)?;
    let decided_by: Option<PersonId> = parsed_if_any(row, 15)?;
    let decided = decided_at
        .zip(decided_by)
        .map(|(at, by)| DraftDecision { by, at: Timestamp::from_millis(at) });
    Ok(Draft {
        id: parsed(row, 1)?,
        key: SessionKey {
            person: parsed(row, 0)?,
            agent: parsed(row, 2)?,
            session: parsed(row, 3)?,
        },
        agent: parsed(row, 4)?,
        run: parsed(row, 5)?,
        call: ToolUseId(row.get(6)?),
        input,
        taint: if row.get(8)? { Taint::Tainted } else { Taint::Clean },
        plan: plan.map_err(|error| unreadable(9, error))?,
        hash: hash(row, 10)?,
        state: named(row, 11)?,
        created_at: timestamp(row, 12)?,
        expires_at: timestamp(row, 13)?,
        decided,
        reason: row.get(16)?,
        output,
        superseded_by: parsed_if_any(row, 19)?,
        delivered: row.get(20)?,
    })
}

fn output_of(row: &Row<'_>, text: String) -> rusqlite::Result<DraftOutput> {
    let artifact = row.get_ref(21)?.as_str_or_null()?.map(serde_json::from_str).transpose();
    let artifact = artifact.map_err(|error| unreadable(21, error))?;
    Ok(DraftOutput { text, origin: named(row, 18)?, artifact })
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}
