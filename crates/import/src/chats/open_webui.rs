//! Open WebUI: the JSON file that it exports all chats to, or its database `webui.db`.

use std::collections::HashMap;

use onyx_types::Timestamp;
use serde_json::{Map, Value};

use super::tree::path;
use crate::error::ImportError;
use crate::form::{ImportedMessage, ImportedPart, ImportedSession};
use crate::reading::{Database, OpenedExport, Reading, json_file, number, object, seconds, text};

const DATABASE: &str = "webui.db";

pub(crate) fn read(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    match opened.only() {
        Some(file) if is_database(opened, file)? => database(opened, file, reading),
        Some(file) => export(opened, file, reading),
        None if opened.has(DATABASE) => database(opened, DATABASE, reading),
        None => {
            let names = opened.names("")?;
            let is_export =
                |name: &&String| name.starts_with("chat-export") && name.ends_with(".json");
            match names.iter().find(is_export) {
                Some(file) => export(opened, file, reading),
                None => Err(ImportError::NotIt {
                    path: opened.root().to_owned(),
                    program: "folder of Open WebUI",
                    why: "it holds no webui.db and no chat-export-….json".to_owned(),
                }),
            }
        }
    }
}

fn is_database(opened: &OpenedExport, file: &str) -> Result<bool, ImportError> {
    use std::io::Read as _;
    let path = opened.root().join(file);
    let mut begin = Vec::new();
    let open = std::fs::File::open(&path).map_err(ImportError::io(&path))?;
    open.take(15).read_to_end(&mut begin).map_err(ImportError::io(&path))?;
    Ok(begin == b"SQLite format 3")
}

fn export(opened: &OpenedExport, file: &str, reading: &mut Reading) -> Result<(), ImportError> {
    let chats = json_file(opened, file).and_then(|value| match value {
        Value::Array(chats) => Ok(chats),
        _ => Err(ImportError::broken(file, 1, "a list of chats is expected")),
    });
    for (index, value) in reading.tolerate(chats)?.iter().flatten().enumerate() {
        take(exported(file, index, value), reading)?;
    }
    Ok(())
}

fn exported(
    file: &str,
    index: usize,
    value: &Value,
) -> Result<(ImportedSession, usize), ImportError> {
    let flaw = |why: &str| ImportError::broken(file, 1, format!("chat {}: {why}", index + 1));
    let fields = value.as_object().ok_or_else(|| flaw("an object is expected"))?;
    let chat = object(fields, "chat").ok_or_else(|| flaw("it has no `chat`"))?;
    let created = number(fields, "created_at").or_else(|| number(chat, "timestamp"));
    let row = Row {
        key: text(fields, "id").ok_or_else(|| flaw("it has no id"))?,
        title: text(fields, "title").or_else(|| text(chat, "title")),
        created_at: moment(created.ok_or_else(|| flaw("it has no `created_at`"))?),
        archived: fields.get("archived").and_then(Value::as_bool).unwrap_or(false),
    };
    session(&row, chat).ok_or_else(|| flaw("it has no `history`"))
}

/// A chat's row.
struct Row<'a> {
    key: &'a str,
    title: Option<&'a str>,
    created_at: Timestamp,
    archived: bool,
}

struct StoredChat {
    id: String,
    person: String,
    title: Option<String>,
    chat: String,
    created_at: f64,
    archived: bool,
}

fn database(opened: &OpenedExport, file: &str, reading: &mut Reading) -> Result<(), ImportError> {
    let database = Database::open(&opened.root().join(file), file)?;
    if !database.has_table("chat")? {
        return Err(ImportError::NotIt {
            path: opened.root().join(file),
            program: "database of Open WebUI",
            why: "it has no table `chat`".to_owned(),
        });
    }
    let sql =
        "SELECT id, user_id, title, chat, created_at, archived FROM chat ORDER BY created_at, id";
    let chats = database.rows(sql, |row| {
        Ok(StoredChat {
            id: row.get(0)?,
            person: row.get(1)?,
            title: row.get(2)?,
            chat: row.get(3)?,
            created_at: row.get(4)?,
            archived: row.get::<_, Option<bool>>(5)?.unwrap_or(false),
        })
    })?;
    let person = person_of(&database, &chats)?;
    let others = chats.iter().filter(|chat| Some(&chat.person) != person.as_ref()).count();
    if others > 0 {
        reading.left_out(
            format!("{others} chats of other accounts"),
            "only those of the first administrator are imported",
        );
    }
    for chat in chats.iter().filter(|chat| Some(&chat.person) == person.as_ref()) {
        let flaw = |why: String| ImportError::Database {
            file: file.to_owned(),
            why: format!("table chat, row {}: {why}", chat.id),
        };
        let read = serde_json::from_str::<Map<String, Value>>(&chat.chat);
        let read = read.map_err(|error| flaw(error.to_string())).and_then(|fields| {
            let row = Row {
                key: &chat.id,
                title: chat.title.as_deref(),
                created_at: moment(chat.created_at),
                archived: chat.archived,
            };
            session(&row, &fields).ok_or_else(|| flaw("it has no `history`".to_owned()))
        });
        take(read, reading)?;
    }
    for (table, sql, what) in [
        ("prompt", "SELECT 1 FROM prompt", "prompts"),
        ("tool", "SELECT 1 FROM tool", "tools"),
        ("function", "SELECT 1 FROM function", "functions"),
        ("knowledge", "SELECT 1 FROM knowledge", "knowledge bases"),
    ] {
        if database.has_table(table)? {
            let count = database.rows(sql, |_| Ok(()))?.len();
            if count > 0 {
                reading.left_out(format!("{count} {what}"), "only conversations are imported");
            }
        }
    }
    Ok(())
}

/// The first administrator, or, if there is none, the account that has chats.
fn person_of(database: &Database, chats: &[StoredChat]) -> Result<Option<String>, ImportError> {
    if database.has_table("user")? {
        let sql = "SELECT id FROM user WHERE role = 'admin' ORDER BY created_at, id LIMIT 1";
        let admins = database.rows(sql, |row| row.get::<_, String>(0))?;
        if let Some(admin) = admins.into_iter().next() {
            return Ok(Some(admin));
        }
    }
    Ok(chats.first().map(|chat| chat.person.clone()))
}

fn take(
    read: Result<(ImportedSession, usize), ImportError>,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let Some((session, beside)) = reading.tolerate(read)? else { return Ok(()) };
    if beside > 0 {
        let name = session.title.as_ref().unwrap_or(&session.key);
        reading.left_out(
            format!("{beside} messages of other branches in {name}"),
            "only the branch that was shown is imported",
        );
    }
    reading.add_session(session);
    Ok(())
}

/// The time in seconds as most versions write it, or in the milliseconds or nanoseconds of some
/// others.
fn moment(number: f64) -> Timestamp {
    let mut number = number;
    while number > 1e11 {
        number /= 1_000.0;
    }
    seconds(number)
}

/// Reads a session, and counts the messages that are not on the branch that was shown.
fn session(row: &Row<'_>, chat: &Map<String, Value>) -> Option<(ImportedSession, usize)> {
    let history = object(chat, "history")?;
    let all = object(history, "messages")?;
    let nodes: HashMap<&str, &Map<String, Value>> =
        all.iter().filter_map(|(id, node)| Some((id.as_str(), node.as_object()?))).collect();
    let newest = text(history, "currentId").unwrap_or_default();
    let (way, beside) = path(&nodes, newest, |node| text(node, "parentId"));
    let mut at = row.created_at;
    let mut messages = Vec::new();
    for node in way {
        at = number(node, "timestamp").map_or(at, moment);
        let words = text(node, "content").unwrap_or_default().to_owned();
        let said = match text(node, "role") {
            Some("user") => ImportedPart::Person { text: words },
            Some("assistant") => {
                let model = text(node, "model").unwrap_or("model");
                ImportedPart::Model { text: words, model: format!("open-webui/{model}") }
            }
            _ => continue,
        };
        messages.push(ImportedMessage { at, said });
    }
    let session = ImportedSession {
        key: row.key.to_owned(),
        agent: None,
        title: row.title.map(str::to_owned),
        archived: row.archived,
        created_at: row.created_at,
        messages,
    };
    Some((session, beside))
}
