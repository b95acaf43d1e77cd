use std::collections::HashSet;

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{AgentId, EntityRef, LaneOrder, PersonId, SessionId, Timestamp};
use tokio_postgres::Row;

use crate::postgres::convert::{
    count, get, integer, named, named_if_any, parsed, parsed_if_any, shown, shown_if_any,
    timestamp, unreadable,
};
use crate::postgres::query::{execute, read_all, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{
    SessionChange, SessionFilter, SessionMarks, SessionMeta, SessionStatus, StoreError, TagCount,
    UnusedSession,
};

use super::changes;

/// Selects a session's row, with the marks of its family, in the columns that `session_row` reads.
macro_rules! select_sessions {
    ($rest:literal) => {
        concat!(
            "SELECT session, agent, origin, title, status, created_at, updated_at, message_count,
                    token_count, preview, root, fork_turn, last_run, last_run_status,
                    agents, mode, titled_by,
                    EXISTS (SELECT 1 FROM unread WHERE unread.person = listed.person
                              AND unread.session = listed.session),
                    EXISTS (SELECT 1 FROM pins WHERE pins.person = listed.person
                              AND pins.root = listed.root),
                    ARRAY (SELECT tag FROM session_tags WHERE session_tags.person = listed.person
                             AND session_tags.root = listed.root ORDER BY tag),
                    (SELECT entity FROM session_attachments
                     WHERE session_attachments.person = listed.person
                       AND session_attachments.root = listed.root)
             FROM sessions AS listed
             ",
            $rest
        )
    };
}

/// The size of a page for filters without a limit, which must not get everything.
const DEFAULT_PAGE: usize = 50;
/// The number of rows that one query reads while a text is searched for.
const READ_AT_ONCE: usize = 500;
/// The most forks of one conversation that are listed. Nobody switches between more.
const LARGEST_FAMILY: i64 = 200;

const fn status_name(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "active",
        SessionStatus::Archived => "archived",
    }
}

pub(super) async fn put(
    transaction: &Transaction<'_>,
    person: &PersonId,
    meta: &SessionMeta,
) -> Result<(), TransactionError> {
    let session = meta.session_id.to_string();
    execute(
        transaction,
        "INSERT INTO sessions
             (person, session, agent, origin, title, status, created_at, updated_at,
              message_count, token_count, preview, root, fork_turn, last_run, last_run_status,
              agents, mode, titled_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
         ON CONFLICT (person, session) DO UPDATE SET agent = excluded.agent,
             origin = excluded.origin, title = excluded.title, status = excluded.status,
             created_at = excluded.created_at, updated_at = excluded.updated_at,
             message_count = excluded.message_count, token_count = excluded.token_count,
             preview = excluded.preview, root = excluded.root, fork_turn = excluded.fork_turn,
             last_run = excluded.last_run, last_run_status = excluded.last_run_status,
             agents = excluded.agents, mode = excluded.mode, titled_by = excluded.titled_by",
        &[
            &person.as_str(),
            &session,
            &meta.agent.as_str(),
            &meta.origin.as_str(),
            &shown_if_any(meta.title.as_deref()),
            &status_name(meta.status),
            &meta.created_at.as_millis(),
            &meta.updated_at.as_millis(),
            &integer(meta.message_count),
            &integer(meta.token_count),
            &shown(&meta.preview),
            &meta.root.to_string(),
            &meta.fork_turn.map(|turn| turn.to_string()),
            &meta.last_run.map(|run| run.to_string()),
            &meta.last_run_status.map(|status| status.as_str()),
            &listed(&meta.agents),
            &meta.mode.as_str(),
            &meta.titled_by.as_str(),
        ],
    )
    .await?;
    changes::note(transaction, person.as_str(), &session).await
}

fn listed(agents: &[AgentId]) -> String {
    let ids: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    ids.join(" ")
}

pub(super) async fn change(
    transaction: &Transaction<'_>,
    person: &PersonId,
    session: SessionId,
    change: &SessionChange,
) -> Result<SessionMeta, TransactionError> {
    let (title, by) = change.title.as_ref().map(|(title, by)| (shown(title), by.as_str())).unzip();
    let name = session.to_string();
    execute(
        transaction,
        // Every expression in the statement sees the row as it was before.
        "UPDATE sessions SET
             title = CASE WHEN $4::TEXT = 'person' OR titled_by <> 'person'
                          THEN coalesce($3, title) ELSE title END,
             titled_by = CASE WHEN $4::TEXT = 'person' OR titled_by <> 'person'
                              THEN coalesce($4, titled_by) ELSE titled_by END,
             status = coalesce($5, status),
             agents = coalesce($6, agents),
             mode = coalesce($7, mode)
         WHERE person = $1 AND session = $2",
        &[
            &person.as_str(),
            &name,
            &title,
            &by,
            &change.status.map(status_name),
            &change.agents.as_deref().map(listed),
            &change.mode.map(LaneOrder::as_str),
        ],
    )
    .await?;
    if change.title.is_some() {
        changes::note(transaction, person.as_str(), &name).await?;
    }
    if let Some(pinned) = change.pinned {
        pin(transaction, person, &name, pinned).await?;
    }
    if let Some(tags) = &change.tags {
        tag(transaction, person, &name, tags).await?;
    }
    if let Some(entity) = &change.attached {
        attach(transaction, person, &name, entity.as_ref()).await?;
    }
    Ok(one(transaction, person, session).await?.ok_or(StoreError::NotFound)?)
}

/// Pins or unpins a family of forks as a whole, so that an answer in a new fork does not lose the
/// pin.
async fn pin(
    transaction: &Transaction<'_>,
    person: &PersonId,
    session: &str,
    pinned: bool,
) -> Result<(), TransactionError> {
    let statement = if pinned {
        "INSERT INTO pins (person, root)
         SELECT person, root FROM sessions WHERE person = $1 AND session = $2
         ON CONFLICT DO NOTHING"
    } else {
        "DELETE FROM pins WHERE person = $1
           AND root = (SELECT root FROM sessions WHERE person = $1 AND session = $2)"
    };
    execute(transaction, statement, &[&person.as_str(), &session]).await?;
    Ok(())
}

/// Replaces the tags of a family of forks as a whole, as with pins.
async fn tag(
    transaction: &Transaction<'_>,
    person: &PersonId,
    session: &str,
    tags: &[String],
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "DELETE FROM session_tags WHERE person = $1
           AND root = (SELECT root FROM sessions WHERE person = $1 AND session = $2)",
        &[&person.as_str(), &session],
    )
    .await?;
    execute(
        transaction,
        "INSERT INTO session_tags (person, root, tag)
         SELECT person, root, unnest($3::TEXT[]) FROM sessions
         WHERE person = $1 AND session = $2
         ON CONFLICT DO NOTHING",
        &[&person.as_str(), &session, &tags],
    )
    .await?;
    Ok(())
}

async fn attach(
    transaction: &Transaction<'_>,
    person: &PersonId,
    session: &str,
    entity: Option<&EntityRef>,
) -> Result<(), TransactionError> {
    let person = person.as_str();
    match entity {
        Some(entity) => {
            execute(
                transaction,
                "INSERT INTO session_attachments (person, root, entity)
                 SELECT person, root, $3::TEXT FROM sessions WHERE person = $1 AND session = $2
                 ON CONFLICT (person, root) DO UPDATE SET entity = excluded.entity",
                &[&person, &session, &entity.path()],
            )
            .await?
        }
        None => {
            let detach = "DELETE FROM session_attachments WHERE person = $1
                AND root = (SELECT root FROM sessions WHERE person = $1 AND session = $2)";
            execute(transaction, detach, &[&person, &session]).await?
        }
    };
    Ok(())
}

pub(super) async fn all_tags(
    client: &impl GenericClient,
    person: &PersonId,
) -> Result<Vec<TagCount>, StoreError> {
    let found = rows(
        client,
        "SELECT tag, count(*) FROM session_tags WHERE person = $1 GROUP BY tag ORDER BY tag",
        &[&person.as_str()],
    )
    .await?;
    read_all(&found, |row| Ok(TagCount { tag: get(row, 0)?, conversations: count(row, 1)? }))
}

pub(super) async fn delete(
    transaction: &Transaction<'_>,
    person: &PersonId,
    session: SessionId,
) -> Result<(), TransactionError> {
    let (person, session) = (person.as_str(), session.to_string());
    for of_session in [
        "DELETE FROM drafts WHERE person = $1 AND session = $2",
        "DELETE FROM inbox WHERE person = $1 AND session = $2",
        "DELETE FROM unread WHERE person = $1 AND session = $2",
    ] {
        execute(transaction, of_session, &[&person, &session]).await?;
    }
    let remove = "DELETE FROM sessions WHERE person = $1 AND session = $2";
    if execute(transaction, remove, &[&person, &session]).await? > 0 {
        changes::note(transaction, person, &session).await?;
    }
    for of_family in [
        "DELETE FROM pins WHERE person = $1
           AND root NOT IN (SELECT root FROM sessions WHERE person = $1)",
        "DELETE FROM session_tags WHERE person = $1
           AND root NOT IN (SELECT root FROM sessions WHERE person = $1)",
        "DELETE FROM session_attachments WHERE person = $1
           AND root NOT IN (SELECT root FROM sessions WHERE person = $1)",
    ] {
        execute(transaction, of_family, &[&person]).await?;
    }
    Ok(())
}

pub(super) async fn one(
    client: &impl GenericClient,
    person: &PersonId,
    session: SessionId,
) -> Result<Option<SessionMeta>, StoreError> {
    let select = select_sessions!("WHERE person = $1 AND session = $2");
    let found = row_if_any(client, select, &[&person.as_str(), &session.to_string()]).await?;
    found.as_ref().map(session_row).transpose()
}

pub(super) async fn family(
    client: &impl GenericClient,
    person: &PersonId,
    root: SessionId,
) -> Result<Vec<SessionMeta>, StoreError> {
    let select =
        select_sessions!("WHERE person = $1 AND root = $2 ORDER BY created_at, session LIMIT $3");
    let given = root.to_string();
    let found = rows(client, select, &[&person.as_str(), &given, &LARGEST_FAMILY]).await?;
    read_all(&found, session_row)
}

/// A position in the list, which is ordered newest first.
struct ListPosition {
    updated_at: i64,
    session: String,
}

/// Lists sessions, those updated last first. Rows come in the order of an index and are read only
/// until the page is full.
pub(super) async fn page(
    client: &impl GenericClient,
    person: &PersonId,
    filter: &SessionFilter,
) -> Result<Vec<SessionMeta>, StoreError> {
    let mut after = match filter.before {
        None => ListPosition { updated_at: i64::MAX, session: "~".to_owned() },
        Some(session) => {
            let cursor = one(client, person, session).await?.ok_or(StoreError::NotFound)?;
            ListPosition { updated_at: cursor.updated_at.as_millis(), session: session.to_string() }
        }
    };
    let limit = match filter.limit {
        0 => DEFAULT_PAGE,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let wanted = filter.text.as_ref().map(|text| text.to_lowercase());
    let holding = families(client, person, &filter.holding).await?;
    // Without a text to search for, every row belongs to the page, so no more rows than that are
    // read.
    let at_once = if wanted.is_some() { READ_AT_ONCE } else { limit };
    let mut listed = Vec::new();
    loop {
        let found = read_on(client, person, filter, &after, at_once).await?;
        let is_last = found.len() < at_once;
        if let Some(last) = found.last() {
            after = ListPosition {
                updated_at: last.updated_at.as_millis(),
                session: last.session_id.to_string(),
            };
        }
        // The text is compared here and not in SQL, because there the rules for upper and lower
        // case depend on how the server was set up.
        let matching = found.into_iter().filter(|meta| match &wanted {
            Some(wanted) => holding.contains(&meta.root) || mentions(meta, wanted),
            None => true,
        });
        listed.extend(matching.take(limit - listed.len()));
        if is_last || listed.len() == limit {
            return Ok(listed);
        }
    }
}

async fn read_on(
    client: &impl GenericClient,
    person: &PersonId,
    filter: &SessionFilter,
    after: &ListPosition,
    limit: usize,
) -> Result<Vec<SessionMeta>, StoreError> {
    let select = select_sessions!(
        "WHERE person = $1
           AND NOT EXISTS (
               SELECT 1 FROM sessions AS fork
               WHERE fork.person = $1 AND fork.root = listed.root
                 AND (fork.updated_at, fork.session) > (listed.updated_at, listed.session))
           AND (updated_at, session) < ($2, $3)
           AND ($4::TEXT IS NULL OR agent = $4)
           AND ($5::TEXT IS NULL OR status = $5)
           AND (origin = $6 OR ($6::TEXT IS NULL AND origin NOT IN ('api', 'temporary')))
           AND ($7::BIGINT IS NULL OR updated_at >= $7)
           AND ($8::BIGINT IS NULL OR updated_at < $8)
           AND ($9::BOOLEAN IS NULL OR $9 = EXISTS (
               SELECT 1 FROM pins
               WHERE pins.person = listed.person AND pins.root = listed.root))
           AND ($10::TEXT IS NULL OR EXISTS (
               SELECT 1 FROM session_tags
               WHERE session_tags.person = listed.person AND session_tags.root = listed.root
                 AND tag = $10))
           AND ($11::TEXT IS NULL OR EXISTS (
               SELECT 1 FROM session_attachments
               WHERE session_attachments.person = listed.person
                 AND session_attachments.root = listed.root AND entity = $11))
         ORDER BY updated_at DESC, session DESC LIMIT $12"
    );
    let found = rows(
        client,
        select,
        &[
            &person.as_str(),
            &after.updated_at,
            &after.session,
            &filter.agent.as_ref().map(|agent| agent.as_str()),
            &filter.status.map(status_name),
            &filter.origin.map(|origin| origin.as_str()),
            &filter.since.map(|at| at.as_millis()),
            &filter.until.map(|at| at.as_millis()),
            &filter.pinned,
            &filter.tag,
            &filter.attached.as_ref().map(EntityRef::path),
            &i64::try_from(limit).unwrap_or(i64::MAX),
        ],
    )
    .await?;
    read_all(&found, session_row)
}

/// A session that is not used since a time was made before it, so the index by age
/// (`sessions_passing`) leads to all of them.
pub(super) async fn unused(
    client: &impl GenericClient,
    until: Timestamp,
    after: Option<&UnusedSession>,
    limit: u32,
) -> Result<Vec<UnusedSession>, StoreError> {
    let select = "SELECT created_at, person, session FROM sessions AS listed
        WHERE origin IN ('api', 'temporary')
          AND created_at < $1 AND updated_at < $1
          AND (created_at, person, session) > ($2, $3, $4)
          AND NOT EXISTS (
              SELECT 1 FROM sessions AS fork
              WHERE fork.person = listed.person AND fork.root = listed.root
                AND fork.updated_at >= $1)
        ORDER BY created_at, person, session LIMIT $5";
    let found = rows(
        client,
        select,
        &[
            &until.as_millis(),
            &after.map_or(i64::MIN, |after| after.created_at.as_millis()),
            &after.map_or("", |after| after.person.as_str()),
            &after.map(|after| after.session.to_string()).unwrap_or_default(),
            &i64::from(limit),
        ],
    )
    .await?;
    read_all(&found, |row| {
        Ok(UnusedSession {
            created_at: timestamp(row, 0)?,
            person: parsed(row, 1)?,
            session: parsed(row, 2)?,
        })
    })
}

/// Returns the first sessions of the families to which sessions belong.
async fn families(
    client: &impl GenericClient,
    person: &PersonId,
    sessions: &[SessionId],
) -> Result<HashSet<SessionId>, StoreError> {
    if sessions.is_empty() {
        return Ok(HashSet::new());
    }
    let sessions: Vec<String> = sessions.iter().map(ToString::to_string).collect();
    let select = "SELECT root FROM sessions WHERE person = $1 AND session = ANY ($2)";
    let found = rows(client, select, &[&person.as_str(), &sessions]).await?;
    found.iter().map(|row| parsed(row, 0)).collect()
}

fn mentions(meta: &SessionMeta, wanted: &str) -> bool {
    meta.title.iter().chain([&meta.preview]).any(|text| text.to_lowercase().contains(wanted))
}

fn session_row(row: &Row) -> Result<SessionMeta, StoreError> {
    let agent: AgentId = parsed(row, 1)?;
    Ok(SessionMeta {
        session_id: parsed(row, 0)?,
        agents: agents(row, 14)?.unwrap_or_else(|| vec![agent.clone()]),
        agent,
        origin: named(row, 2)?,
        mode: named(row, 15)?,
        title: get(row, 3)?,
        titled_by: named(row, 16)?,
        status: named(row, 4)?,
        created_at: timestamp(row, 5)?,
        updated_at: timestamp(row, 6)?,
        message_count: count(row, 7)?,
        token_count: count(row, 8)?,
        preview: get(row, 9)?,
        root: parsed(row, 10)?,
        fork_turn: parsed_if_any(row, 11)?,
        last_run: parsed_if_any(row, 12)?,
        last_run_status: named_if_any(row, 13)?,
        marks: SessionMarks {
            unread: get(row, 17)?,
            pinned: get(row, 18)?,
            tags: get(row, 19)?,
            // A path that is no entity's any more cannot be shown, so it counts as none.
            attached: get::<Option<&str>>(row, 20)?.and_then(EntityRef::of_path),
        },
    })
}

/// Reads agent ids, which are joined by spaces because ids contain none. `None`: the session was
/// created when it could have only one agent.
fn agents(row: &Row, column: usize) -> Result<Option<Vec<AgentId>>, StoreError> {
    let Some(text) = get::<Option<&str>>(row, column)? else { return Ok(None) };
    let ids = text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>();
    ids.map(|ids| (!ids.is_empty()).then_some(ids))
        .map_err(|error: onyx_types::IdError| unreadable(row, column, &error))
}
