use std::collections::HashSet;

use onyx_types::{AgentId, EntityRef, LaneOrder, PersonId, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::{
    SessionChange, SessionFilter, SessionMarks, SessionMeta, SessionMove, SessionSequence,
    SessionStatus, StoreError, TagCount, UnusedSession,
};

use super::convert::{
    count, integer, named, named_if_any, parsed, parsed_if_any, timestamp, unreadable,
};

/// Selects a session's row, with the marks of its family, in the columns that `session_row` reads.
const ROW: &str =
    "SELECT session, agent, origin, title, status, created_at, updated_at, message_count,
            token_count, preview, root, fork_turn, last_run, last_run_status,
            agents, mode, titled_by,
            EXISTS (SELECT 1 FROM unread WHERE unread.person = listed.person
                      AND unread.session = listed.session),
            EXISTS (SELECT 1 FROM pins WHERE pins.person = listed.person
                      AND pins.root = listed.root) AS pinned,
            (SELECT group_concat(tag, char(10)) FROM (
                 SELECT tag FROM session_tags WHERE session_tags.person = listed.person
                   AND session_tags.root = listed.root ORDER BY tag)),
            (SELECT entity FROM session_attachments
             WHERE session_attachments.person = listed.person
               AND session_attachments.root = listed.root) AS attached
     FROM sessions AS listed
     ";

/// The size of a page for filters without a limit, which must not get everything.
const DEFAULT_PAGE: usize = 50;

pub(crate) const fn status_name(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "active",
        SessionStatus::Archived => "archived",
    }
}

pub(crate) fn put(
    connection: &Connection,
    person: &PersonId,
    meta: &SessionMeta,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sessions
                 (person, session, agent, origin, title, status, created_at, updated_at,
                  message_count, token_count, preview, root, fork_turn, last_run, last_run_status,
                  agents, mode, titled_by)
             VALUES (:person, :session, :agent, :origin, :title, :status, :created_at, :updated_at,
                     :message_count, :token_count, :preview, :root, :fork_turn, :last_run,
                     :last_run_status, :agents, :mode, :titled_by)",
        )?
        .execute(named_params! {
            ":person": person.as_str(),
            ":session": meta.session_id.to_string(),
            ":agent": meta.agent.as_str(),
            ":origin": meta.origin.as_str(),
            ":title": meta.title,
            ":status": status_name(meta.status),
            ":created_at": meta.created_at.as_millis(),
            ":updated_at": meta.updated_at.as_millis(),
            ":message_count": integer(meta.message_count),
            ":token_count": integer(meta.token_count),
            ":preview": meta.preview,
            ":root": meta.root.to_string(),
            ":fork_turn": meta.fork_turn.map(|turn| turn.to_string()),
            ":last_run": meta.last_run.map(|run| run.to_string()),
            ":last_run_status": meta.last_run_status.map(|status| status.as_str()),
            ":agents": listed(&meta.agents),
            ":mode": meta.mode.as_str(),
            ":titled_by": meta.titled_by.as_str(),
        })?;
    Ok(())
}

fn listed(agents: &[AgentId]) -> String {
    let ids: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    ids.join(" ")
}

pub(crate) fn change(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
    change: &SessionChange,
) -> Result<SessionMeta, StoreError> {
    let (title, by) = change.title.as_ref().map(|(title, by)| (title, by.as_str())).unzip();
    connection
        .prepare_cached(
            // Every expression in the statement sees the row as it was before.
            "UPDATE sessions SET
                 title = iif(:by = 'person' OR titled_by <> 'person', coalesce(:title, title), title),
                 titled_by = iif(:by = 'person' OR titled_by <> 'person',
                                 coalesce(:by, titled_by), titled_by),
                 status = coalesce(:status, status),
                 agents = coalesce(:agents, agents),
                 mode = coalesce(:mode, mode)
             WHERE person = :person AND session = :session",
        )?
        .execute(named_params! {
            ":person": person.as_str(),
            ":session": session.to_string(),
            ":title": title,
            ":by": by,
            ":status": change.status.map(status_name),
            ":agents": change.agents.as_deref().map(listed),
            ":mode": change.mode.map(LaneOrder::as_str),
        })?;
    if let Some(pinned) = change.pinned {
        pin(connection, person, session, pinned)?;
    }
    if let Some(tags) = &change.tags {
        tag(connection, person, session, tags)?;
    }
    if let Some(entity) = &change.attached {
        attach(connection, person, session, entity.as_ref())?;
    }
    one(connection, person, session)?.ok_or(StoreError::NotFound)
}

/// Pins or unpins a family of forks as a whole, so that an answer in a new fork does not lose the
/// pin.
fn pin(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
    pinned: bool,
) -> Result<(), StoreError> {
    let statement = if pinned {
        "INSERT OR IGNORE INTO pins (person, root)
         SELECT person, root FROM sessions WHERE person = ?1 AND session = ?2"
    } else {
        "DELETE FROM pins WHERE person = ?1
           AND root = (SELECT root FROM sessions WHERE person = ?1 AND session = ?2)"
    };
    connection.prepare_cached(statement)?.execute(params![person.as_str(), session.to_string()])?;
    Ok(())
}

/// Replaces the tags of a family of forks as a whole, as with pins.
fn tag(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
    tags: &[String],
) -> Result<(), StoreError> {
    let (person, session) = (person.as_str(), session.to_string());
    connection
        .prepare_cached(
            "DELETE FROM session_tags WHERE person = ?1
               AND root = (SELECT root FROM sessions WHERE person = ?1 AND session = ?2)",
        )?
        .execute(params![person, session])?;
    let mut insert = connection.prepare_cached(
        "INSERT OR IGNORE INTO session_tags (person, root, tag)
         SELECT person, root, ?3 FROM sessions WHERE person = ?1 AND session = ?2",
    )?;
    for tag in tags {
        insert.execute(params![person, session, tag])?;
    }
    Ok(())
}

fn attach(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
    entity: Option<&EntityRef>,
) -> Result<(), StoreError> {
    let statement = match entity {
        Some(_) => {
            "INSERT OR REPLACE INTO session_attachments (person, root, entity)
             SELECT person, root, ?3 FROM sessions WHERE person = ?1 AND session = ?2"
        }
        None => {
            "DELETE FROM session_attachments WHERE person = ?1 AND ?3 IS NULL
               AND root = (SELECT root FROM sessions WHERE person = ?1 AND session = ?2)"
        }
    };
    let entity = entity.map(EntityRef::path);
    let at = params![person.as_str(), session.to_string(), entity];
    connection.prepare_cached(statement)?.execute(at)?;
    Ok(())
}

pub(crate) fn all_tags(
    connection: &Connection,
    person: &PersonId,
) -> Result<Vec<TagCount>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT tag, count(*) FROM session_tags WHERE person = ?1 GROUP BY tag ORDER BY tag",
    )?;
    let rows = statement.query_map(params![person.as_str()], |row| {
        Ok(TagCount { tag: row.get(0)?, conversations: count(row, 1)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn delete(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
) -> Result<(), StoreError> {
    super::drafts::forget_session(connection, person, session)?;
    let session = session.to_string();
    connection
        .prepare_cached("DELETE FROM sessions WHERE person = ?1 AND session = ?2")?
        .execute(params![person.as_str(), session])?;
    connection
        .prepare_cached("DELETE FROM inbox WHERE person = ?1 AND session = ?2")?
        .execute(params![person.as_str(), session])?;
    connection
        .prepare_cached("DELETE FROM unread WHERE person = ?1 AND session = ?2")?
        .execute(params![person.as_str(), session])?;
    for of_family in [
        "DELETE FROM pins WHERE person = ?1
           AND root NOT IN (SELECT root FROM sessions WHERE person = ?1)",
        "DELETE FROM session_tags WHERE person = ?1
           AND root NOT IN (SELECT root FROM sessions WHERE person = ?1)",
        "DELETE FROM session_attachments WHERE person = ?1
           AND root NOT IN (SELECT root FROM sessions WHERE person = ?1)",
    ] {
        connection.prepare_cached(of_family)?.execute(params![person.as_str()])?;
    }
    Ok(())
}

pub(crate) fn mark_read(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
) -> Result<bool, StoreError> {
    let read = connection
        .prepare_cached("DELETE FROM unread WHERE person = ?1 AND session = ?2")?
        .execute(params![person.as_str(), session.to_string()])?;
    Ok(read > 0)
}

pub(crate) fn one(
    connection: &Connection,
    person: &PersonId,
    session: SessionId,
) -> Result<Option<SessionMeta>, StoreError> {
    let select = [ROW, "WHERE person = ?1 AND session = ?2"].concat();
    let mut statement = connection.prepare_cached(&select)?;
    let found = statement.query_row(params![person.as_str(), session.to_string()], session_row);
    Ok(found.optional()?)
}

pub(crate) fn sequence(connection: &Connection) -> Result<SessionSequence, StoreError> {
    let select = "SELECT value, (SELECT coalesce(max(seq), 0) FROM session_changes)
                  FROM session_epoch";
    Ok(connection.prepare_cached(select)?.query_row([], |row| {
        Ok(SessionSequence { epoch: count(row, 0)?, last: count(row, 1)?, removed: 0 })
    })?)
}

pub(crate) fn moved(
    connection: &Connection,
    after: u64,
    limit: u32,
) -> Result<Vec<SessionMove>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, person, session FROM session_changes WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let rows = statement.query_map(params![integer(after), limit], |row| {
        Ok(SessionMove { seq: count(row, 0)?, person: parsed(row, 1)?, session: parsed(row, 2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The most forks of one conversation that are listed. Nobody switches between more.
const LARGEST_FAMILY: u32 = 200;

pub(crate) fn family(
    connection: &Connection,
    person: &PersonId,
    root: SessionId,
) -> Result<Vec<SessionMeta>, StoreError> {
    let rest = "WHERE person = ?1 AND root = ?2 ORDER BY created_at, session LIMIT ?3";
    let mut statement = connection.prepare_cached(&[ROW, rest].concat())?;
    let rows = statement
        .query_map(params![person.as_str(), root.to_string(), LARGEST_FAMILY], session_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Lists sessions, those updated last first. Rows come in the order of an index and are read only
/// until the page is full.
pub(crate) fn page(
    connection: &Connection,
    person: &PersonId,
    filter: &SessionFilter,
) -> Result<Vec<SessionMeta>, StoreError> {
    let (before_time, before_session) = match filter.before {
        None => (None, None),
        Some(session) => {
            let cursor = one(connection, person, session)?.ok_or(StoreError::NotFound)?;
            (Some(cursor.updated_at.as_millis()), Some(session.to_string()))
        }
    };
    let select = page_select(filter.before.is_some());
    let mut statement = connection.prepare_cached(&select)?;
    let rows = statement.query_map(
        named_params! {
            ":person": person.as_str(),
            ":before_time": before_time,
            ":before_session": before_session,
            ":agent": filter.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            ":status": filter.status.map(status_name),
            ":origin": filter.origin.map(|origin| origin.as_str()),
            ":since": filter.since.map(|at| at.as_millis()),
            ":until": filter.until.map(|at| at.as_millis()),
            ":pinned": filter.pinned,
            ":tag": filter.tag,
            ":attached": filter.attached.as_ref().map(EntityRef::path),
        },
        session_row,
    )?;
    let limit = match filter.limit {
        0 => DEFAULT_PAGE,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let wanted = filter.text.as_ref().map(|text| text.to_lowercase());
    let holding = families(connection, person, &filter.holding)?;
    let matching = rows.filter(|row| match (row, &wanted) {
        // The text is compared here and not in SQL, because LIKE ignores case only for ASCII
        // letters.
        (Ok(meta), Some(wanted)) => holding.contains(&meta.root) || mentions(meta, wanted),
        (Ok(_), None) | (Err(_), _) => true,
    });
    Ok(matching.take(limit).collect::<Result<_, _>>()?)
}

fn page_select(is_later_page: bool) -> String {
    // A page after the first starts in the index where the last one ended. With an `OR` that also
    // allows for the first page, every page would be read from the start.
    let after = if is_later_page {
        "AND (updated_at, session) < (:before_time, :before_session)"
    } else {
        "AND :before_time IS NULL AND :before_session IS NULL"
    };
    // Without the hint, SQLite looks for newer forks among all newer sessions, for every row. A
    // family is small, and its index leads straight to it.
    [
        ROW,
        "WHERE person = :person
           AND NOT EXISTS (
               SELECT 1 FROM sessions AS fork INDEXED BY sessions_family
               WHERE fork.person = :person AND fork.root = listed.root
                 AND (fork.updated_at, fork.session) > (listed.updated_at, listed.session))
           ",
        after,
        "
           AND (:agent IS NULL OR agent = :agent)
           AND (:status IS NULL OR status = :status)
           AND (origin = :origin OR (:origin IS NULL AND origin NOT IN ('api', 'temporary')))
           AND (:since IS NULL OR updated_at >= :since)
           AND (:until IS NULL OR updated_at < :until)
           AND (:pinned IS NULL OR pinned = :pinned)
           AND (:tag IS NULL OR EXISTS (
               SELECT 1 FROM session_tags
               WHERE session_tags.person = listed.person AND session_tags.root = listed.root
                 AND tag = :tag))
           AND (:attached IS NULL OR attached = :attached)
         ORDER BY updated_at DESC, session DESC",
    ]
    .concat()
}

/// A session that is not used since a time was made before it, so the index by age leads to all of
/// them. Without the hints, SQLite may read all sessions instead.
const UNUSED: &str = "SELECT created_at, person, session
     FROM sessions AS listed INDEXED BY sessions_passing
     WHERE origin IN ('api', 'temporary')
       AND created_at < :until AND updated_at < :until
       AND (created_at, person, session) > (:after_time, :after_person, :after_session)
       AND NOT EXISTS (
           SELECT 1 FROM sessions AS fork INDEXED BY sessions_family
           WHERE fork.person = listed.person AND fork.root = listed.root
             AND fork.updated_at >= :until)
     ORDER BY created_at, person, session LIMIT :limit";

pub(crate) fn unused(
    connection: &Connection,
    until: Timestamp,
    after: Option<&UnusedSession>,
    limit: u32,
) -> Result<Vec<UnusedSession>, StoreError> {
    let mut statement = connection.prepare_cached(UNUSED)?;
    let rows = statement.query_map(
        named_params! {
            ":until": until.as_millis(),
            ":after_time": after.map_or(i64::MIN, |after| after.created_at.as_millis()),
            ":after_person": after.map_or("", |after| after.person.as_str()),
            ":after_session": after.map(|after| after.session.to_string()).unwrap_or_default(),
            ":limit": limit,
        },
        |row| {
            Ok(UnusedSession {
                created_at: timestamp(row, 0)?,
                person: parsed(row, 1)?,
                session: parsed(row, 2)?,
            })
        },
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Counts at most as many sessions as given, for callers that ask at every turn. Forks of one
/// session count as one.
pub(crate) fn count_most(
    connection: &Connection,
    person: &PersonId,
    most: u32,
) -> Result<u32, StoreError> {
    let select = "SELECT count(*) FROM (
         SELECT DISTINCT root FROM sessions
         WHERE person = ?1 AND origin NOT IN ('api', 'temporary') LIMIT ?2)";
    let mut statement = connection.prepare_cached(select)?;
    Ok(statement.query_row(params![person.as_str(), most], |row| row.get(0))?)
}

/// Returns the first sessions of the families to which sessions belong.
fn families(
    connection: &Connection,
    person: &PersonId,
    sessions: &[SessionId],
) -> Result<HashSet<SessionId>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT root FROM sessions WHERE person = ?1 AND session = ?2")?;
    let mut roots = HashSet::with_capacity(sessions.len());
    for session in sessions {
        let root = statement
            .query_row(params![person.as_str(), session.to_string()], |row| {
                parsed::<SessionId>(row, 0)
            })
            .optional()?;
        roots.extend(root);
    }
    Ok(roots)
}

fn mentions(meta: &SessionMeta, wanted: &str) -> bool {
    meta.title.iter().chain([&meta.preview]).any(|text| text.to_lowercase().contains(wanted))
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionMeta> {
    let agent: AgentId = parsed(row, 1)?;
    Ok(SessionMeta {
        session_id: parsed(row, 0)?,
        agents: agents(row, 14)?.unwrap_or_else(|| vec![agent.clone()]),
        agent,
        origin: named(row, 2)?,
        mode: named(row, 15)?,
        title: row.get(3)?,
        titled_by: named(row, 16)?,
        status: named(row, 4)?,
        created_at: timestamp(row, 5)?,
        updated_at: timestamp(row, 6)?,
        message_count: count(row, 7)?,
        token_count: count(row, 8)?,
        preview: row.get(9)?,
        root: parsed(row, 10)?,
        fork_turn: parsed_if_any(row, 11)?,
        last_run: parsed_if_any(row, 12)?,
        last_run_status: named_if_any(row, 13)?,
        marks: SessionMarks {
            unread: row.get(17)?,
            pinned: row.get(18)?,
            tags: tags(row, 19)?,
            // A path that is no entity's any more cannot be shown, so it counts as none.
            attached: row.get_ref(20)?.as_str_or_null()?.and_then(EntityRef::of_path),
        },
    })
}

/// Reads the tags, which are joined by newlines because a tag is one line.
fn tags(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let joined = row.get_ref(column)?.as_str_or_null()?;
    Ok(joined.map(|tags| tags.split('\n').map(str::to_owned).collect()).unwrap_or_default())
}

/// Reads agent ids, which are joined by spaces because ids contain none. `None`: the session was
/// created when it could have only one agent.
fn agents(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Vec<AgentId>>> {
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
    let ids = text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>();
    ids.map(|ids| (!ids.is_empty()).then_some(ids)).map_err(|error| unreadable(column, error))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::sqlite::ledger::make_ledger;

    fn add(connection: &Connection, session: &str, origin: &str, at: i64) {
        let insert = "INSERT INTO sessions (person, session, agent, origin, status, created_at,
                updated_at, message_count, token_count, preview, root)
            VALUES ('anna', ?1, 'main', ?2, 'active', ?3, ?3, 1, 1, '', ?1)";
        connection.execute(insert, params![session, origin, at]).unwrap();
    }

    fn steps_to_list_unused(connection: &Connection) -> i32 {
        let mut statement = connection.prepare(UNUSED).unwrap();
        let rows = statement.query_map(
            named_params! {
                ":until": 100, ":after_time": i64::MIN, ":after_person": "", ":after_session": "",
                ":limit": 9,
            },
            |_| Ok(()),
        );
        assert_eq!(rows.unwrap().count(), 1);
        statement.get_status(StatementStatus::VmStep)
    }

    /// Every start and every hour looks for unused sessions, so this must read neither the sessions
    /// in people's lists nor passing ones that are younger.
    #[test]
    fn unused_sessions_are_listed_without_reading_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let connection = make_ledger(&folder.path().join("ledger.db")).unwrap();
        add(&connection, "old", "api", 1);
        let alone = steps_to_list_unused(&connection);
        for n in 0..500 {
            add(&connection, &format!("chat-{n}"), "chat", 2);
            add(&connection, &format!("young-{n}"), "api", 200);
        }
        let beside_others = steps_to_list_unused(&connection);
        assert!(beside_others <= alone + 10, "{alone} alone, {beside_others} beside others");
    }

    /// Without the right index, every row of a page would be compared with all newer ones, and the
    /// time to read all pages would grow with the square of their number.
    #[test]
    fn newer_forks_are_looked_for_in_their_own_family() {
        let folder = tempfile::tempdir().unwrap();
        let connection = make_ledger(&folder.path().join("ledger.db")).unwrap();
        for is_later_page in [false, true] {
            let explain = format!("EXPLAIN QUERY PLAN {}", page_select(is_later_page));
            let mut statement = connection.prepare(&explain).unwrap();
            let (mut steps, mut rows) = (Vec::new(), statement.raw_query());
            while let Some(row) = rows.next().unwrap() {
                steps.push(row.get::<_, String>("detail").unwrap());
            }
            let family = "SEARCH fork USING INDEX sessions_family (person=? AND root=?)";
            assert!(steps.iter().any(|step| step == family), "{steps:#?}");
        }
    }
}
