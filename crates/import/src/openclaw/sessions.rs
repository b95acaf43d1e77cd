//! Reads sessions from the agent's `openclaw-agent.sqlite`, or from the JSONL files of older versions. A
//! session that is in both is read from the database.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read as _;

use onyx_types::AgentId;
use serde_json::{Map, Value};

use super::transcript::{Branch, Record, Transcript};
use crate::error::ImportError;
use crate::reading::{Database, OpenedExport, Reading, json_file, json_lines, text};

const LARGEST_RECORD: u64 = 8 * 1024 * 1024;

pub(super) fn read(
    opened: &OpenedExport,
    agent: &str,
    id: &AgentId,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let mut known = HashSet::new();
    let file = format!("agents/{agent}/agent/openclaw-agent.sqlite");
    if opened.has(&file) {
        let found = from_database(opened, &file, id, reading);
        known = reading.tolerate(found)?.unwrap_or_default();
    }
    from_files(opened, agent, id, &known, reading)
}

/// Reads the sessions of a database and returns their names.
fn from_database(
    opened: &OpenedExport,
    file: &str,
    agent: &AgentId,
    reading: &mut Reading,
) -> Result<HashSet<String>, ImportError> {
    let database = Database::open(&opened.root().join(file), file)?;
    if !database.has_table("transcript_events")? {
        return Ok(HashSet::new());
    }
    let nodes = nodes(&database)?;
    let sessions = records(&database)?;
    let shown = shown(&database)?;
    for (session, records) in &sessions {
        // The database stores which branch was shown; for sessions without that, the newest record
        // decides.
        let places = shown.get(session);
        let branch = match places {
            Some(places) => Branch::Given(places),
            None => Branch::OfNewest,
        };
        let node = nodes.get(session);
        let transcript = Transcript {
            file,
            session,
            agent,
            title: node.and_then(|node| node.title.clone()),
            archived: node.is_some_and(|node| node.archived),
        };
        let read = transcript.read(records, branch, reading);
        if let Some(session) = reading.tolerate(read)? {
            reading.add_session(session);
        }
    }
    tell_archives(&database, agent, reading)?;
    Ok(sessions.into_keys().collect())
}

/// Every session's records in order.
fn records(database: &Database) -> Result<BTreeMap<String, Vec<Record>>, ImportError> {
    // Newer versions compress old records.
    let sql = if database.has_column("transcript_events", "event_zstd")? {
        "SELECT session_id, seq, event_json, event_zstd FROM transcript_events ORDER BY session_id, seq"
    } else {
        "SELECT session_id, seq, event_json, NULL FROM transcript_events ORDER BY session_id, seq"
    };
    let rows = database.rows(sql, |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, Option<String>>(2)?,
            row.get::<_, Option<Vec<u8>>>(3)?,
        ))
    })?;
    let mut sessions: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for (session, seq, plain, packed) in rows {
        let flaw = |why: String| ImportError::Database {
            file: database.file().to_owned(),
            why: format!("table transcript_events, session {session}, seq {seq}: {why}"),
        };
        let json = match (plain, packed) {
            (Some(plain), _) => plain,
            (None, Some(packed)) => unpacked(&packed).map_err(&flaw)?,
            (None, None) => return Err(flaw("it is empty".to_owned())),
        };
        let record = serde_json::from_str(&json).map_err(|error| flaw(error.to_string()))?;
        let line = usize::try_from(seq).map_err(|_| flaw("its number is negative".to_owned()))?;
        sessions.entry(session).or_default().push((line, record));
    }
    Ok(sessions)
}

fn unpacked(packed: &[u8]) -> Result<String, String> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
    let decoder = decoder.map_err(|error| error.to_string())?;
    let mut text = String::new();
    // OpenClaw writes 4 MiB at most.
    let read = decoder.take(LARGEST_RECORD).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    Ok(text)
}

/// The positions of the records that were shown, by session.
fn shown(database: &Database) -> Result<HashMap<String, HashSet<usize>>, ImportError> {
    let mut shown: HashMap<String, HashSet<usize>> = HashMap::new();
    if !database.has_table("session_transcript_active_events")? {
        return Ok(shown);
    }
    let sql = "SELECT session_id, event_seq FROM session_transcript_active_events";
    let rows = database.rows(sql, |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    for (session, seq) in rows {
        shown.entry(session).or_default().extend(usize::try_from(seq));
    }
    Ok(shown)
}

/// The details of a session beside its records.
struct Node {
    title: Option<String>,
    archived: bool,
}

fn nodes(database: &Database) -> Result<HashMap<String, Node>, ImportError> {
    if !database.has_table("session_nodes")? {
        return Ok(HashMap::new());
    }
    let sql = "SELECT current_session_id, label, display_name, archived_at FROM session_nodes";
    let rows = database.rows(sql, |row| {
        let names = [row.get::<_, Option<String>>(1)?, row.get::<_, Option<String>>(2)?];
        let title = names.into_iter().flatten().find(|name| !name.is_empty());
        let archived = row.get::<_, Option<i64>>(3)?.is_some();
        Ok((row.get::<_, String>(0)?, Node { title, archived }))
    })?;
    Ok(rows.into_iter().collect())
}

fn tell_archives(
    database: &Database,
    agent: &AgentId,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    for (table, sql, what) in [
        (
            "session_transcript_archives",
            "SELECT 1 FROM session_transcript_archives",
            "sessions that were reset or deleted",
        ),
        (
            "session_transcript_cold_archives",
            "SELECT 1 FROM session_transcript_cold_archives",
            "sessions that OpenClaw has archived",
        ),
    ] {
        if database.has_table(table)? {
            let count = database.rows(sql, |_| Ok(()))?.len();
            if count > 0 {
                reading.left_out(format!("{count} {what} of {agent}"), "they are in archives");
            }
        }
    }
    Ok(())
}

fn titled(entry: &Map<String, Value>) -> Option<(String, String)> {
    let session = text(entry, "sessionId")?;
    let names = ["label", "displayName", "subject"];
    let title = names.iter().find_map(|name| text(entry, name))?;
    Some((session.to_owned(), title.to_owned()))
}

fn from_files(
    opened: &OpenedExport,
    agent: &str,
    id: &AgentId,
    known: &HashSet<String>,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let folder = format!("agents/{agent}/sessions");
    let mut titles = HashMap::new();
    let list = format!("{folder}/sessions.json");
    if opened.has(&list) {
        let entries = json_file(opened, &list);
        let entries = reading.tolerate(entries)?;
        let entries = entries.as_ref().and_then(Value::as_object).into_iter().flatten();
        titles.extend(entries.filter_map(|(_, entry)| titled(entry.as_object()?)));
    }
    for name in opened.names(&folder)? {
        let Some((session, rest)) = name.split_once(".jsonl") else { continue };
        // Names with a dot are traces of runs and copies that OpenClaw made for itself.
        if session.contains('.') || known.contains(session) {
            continue;
        }
        let archived = match rest {
            "" => false,
            rest if rest.ends_with(".zst") => {
                reading.left_out(format!("{folder}/{name}"), "it is compressed");
                continue;
            }
            rest if rest.starts_with(".reset.") => true,
            _ => {
                reading.left_out(format!("{folder}/{name}"), "it was deleted, or is a copy");
                continue;
            }
        };
        let file = format!("{folder}/{name}");
        let title = titles.get(session).cloned();
        let transcript = Transcript { file: &file, session, agent: id, title, archived };
        let read = opened.bytes(&file).and_then(|bytes| json_lines(&file, &bytes));
        let read = read.and_then(|records| transcript.read(&records, Branch::OfNewest, reading));
        if let Some(session) = reading.tolerate(read)? {
            reading.add_session(session);
        }
    }
    Ok(())
}
