//! Moves ledgers. The tables have the same names and columns on both sides and are moved row by
//! row, in a form that both databases can read. Statements are assembled only from the names of our
//! own tables and columns.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use deadpool_postgres::GenericClient;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::MoveError;
use super::server_side::ServerSide;
use crate::blocking::Blocking;
use crate::postgres::convert::get;
use crate::postgres::query::{execute, rows};
use crate::postgres::transaction::transact;
use crate::sqlite::make_ledger;
use crate::{SealedSecret, StoreError};

/// The number of rows that one statement inserts.
const AT_ONCE: usize = 500;

struct Table {
    name: &'static str,
    of_home: &'static str,
    of_server: &'static str,
    clear_server: &'static str,
    fill_server: &'static str,
}

macro_rules! tables {
    ($($name:literal)*) => {
        &[$(Table {
            name: $name,
            of_home: concat!("SELECT * FROM ", $name),
            of_server: concat!("SELECT row_to_json(", $name, ")::TEXT FROM ", $name),
            clear_server: concat!("DELETE FROM ", $name),
            fill_server: concat!(
                "INSERT INTO ", $name, " OVERRIDING SYSTEM VALUE
                 SELECT * FROM json_populate_recordset(NULL::", $name, ", $1::TEXT::JSON)"
            ),
        }),*]
    };
}

/// The tables that are moved. Derived data (changes of sessions, the index) is left out and rebuilt
/// at the destination.
const TABLES: &[Table] = tables! {
    "acceptances" "audit" "audit_heads" "connector_accounts" "connector_conversations"
    "connector_inbox" "connector_mail" "connector_outbox" "connector_peers" "connector_proposals"
    "credentials" "drafts" "draft_artifacts" "foreign_names" "inbox" "job_slots" "jobs"
    "open_commands" "origins" "passwords" "people" "pins" "prints" "runs" "secrets" "session_attachments" "session_tags"
    "sessions" "unread" "usage"
};

/// Statements that set the sequences, so that numbers which the database assigns continue after
/// those that were moved.
const SEQUENCES: [&str; 6] = [
    "SELECT setval(pg_get_serial_sequence('connector_inbox', 'id'),
                   coalesce((SELECT max(id) FROM connector_inbox), 0) + 1, FALSE)",
    "SELECT setval(pg_get_serial_sequence('connector_mail', 'id'),
                   coalesce((SELECT max(id) FROM connector_mail), 0) + 1, FALSE)",
    "SELECT setval(pg_get_serial_sequence('connector_outbox', 'id'),
                   coalesce((SELECT max(id) FROM connector_outbox), 0) + 1, FALSE)",
    "SELECT setval(pg_get_serial_sequence('connector_peers', 'id'),
                   coalesce((SELECT max(id) FROM connector_peers), 0) + 1, FALSE)",
    "SELECT setval(pg_get_serial_sequence('open_commands', 'id'),
                   coalesce((SELECT max(id) FROM open_commands), 0) + 1, FALSE)",
    "SELECT setval(pg_get_serial_sequence('origins', 'id'),
                   coalesce((SELECT max(id) FROM origins), 0) + 1, FALSE)",
];

type TableRow = BTreeMap<String, Value>;

/// The rows of all tables.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeMap<&'static str, Vec<TableRow>>);

impl Tables {
    pub(super) fn rows(&self) -> u64 {
        self.0.values().map(|rows| rows.len() as u64).sum()
    }

    /// Replaces the secrets, which are sealed with a key of the source, by these.
    pub(super) fn with_secrets(mut self, secrets: &[SealedSecret]) -> Self {
        let row = |secret: &SealedSecret| {
            TableRow::from([
                ("person".to_owned(), secret.id.person.as_str().into()),
                ("provider".to_owned(), secret.id.provider.as_str().into()),
                ("name".to_owned(), secret.id.name.as_str().into()),
                ("key".to_owned(), secret.key.as_str().into()),
                ("nonce".to_owned(), hex(&secret.nonce).into()),
                ("sealed".to_owned(), hex(&secret.sealed).into()),
                ("updated_at".to_owned(), secret.updated_at.as_millis().into()),
            ])
        };
        self.0.insert("secrets", secrets.iter().map(row).collect());
        self
    }

    /// Whether there is a run without a recorded end.
    pub(super) fn has_open_runs(&self) -> bool {
        let is_open = |row: &TableRow| row.get("status").is_none_or(Value::is_null);
        self.0.get("runs").is_some_and(|runs| runs.iter().any(is_open))
    }

    fn of(&self, table: &Table) -> &[TableRow] {
        self.0.get(table.name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn same_as(&self, other: &Self) -> Result<(), MoveError> {
        for table in TABLES {
            if sorted(self.of(table)) != sorted(other.of(table)) {
                return Err(MoveError::Different(format!("the table {}", table.name)));
            }
        }
        Ok(())
    }
}

fn sorted(rows: &[TableRow]) -> Vec<String> {
    let text = |row: &TableRow| serde_json::to_string(row).unwrap_or_default();
    let mut all: Vec<String> = rows.iter().map(text).collect();
    all.sort();
    all
}

/// Whether only one of the two databases has this column.
fn is_of_one_side(table: &str, column: &str) -> bool {
    matches!(
        (table, column),
        ("runs", "active" | "gateway" | "incarnation")
            | ("job_slots" | "connector_inbox" | "connector_outbox", "gateway" | "incarnation")
    )
}

/// Brings a value into the form that both sides have: booleans become numbers, and whole numbers
/// have no fraction.
fn plain(value: Value) -> Value {
    match value {
        Value::Bool(truth) => Value::from(i64::from(truth)),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                #[allow(clippy::cast_possible_truncation, reason = "a whole number below 10^15")]
                let whole = float as i64;
                Value::from(whole)
            }
            _ => Value::Number(number),
        },
        // PostgreSQL cannot store NUL characters, so they are replaced by the symbol for NUL.
        Value::String(text) => Value::String(text.replace('\0', "\u{2400}")),
        other => other,
    }
}

pub(super) async fn of_home(path: &Path) -> Result<Tables, MoveError> {
    let path = path.to_owned();
    if !path.exists() {
        return Ok(Tables::default());
    }
    let read = move || -> Result<Tables, StoreError> {
        let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let mut all = BTreeMap::new();
        for table in TABLES {
            let mut statement = connection.prepare(table.of_home)?;
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut found = statement.query([])?;
            let mut rows = Vec::new();
            while let Some(row) = found.next()? {
                let mut values = TableRow::new();
                for (index, column) in columns.iter().enumerate() {
                    if !is_of_one_side(table.name, column) {
                        values.insert(column.clone(), plain(cell(row.get_ref(index)?)));
                    }
                }
                rows.push(values);
            }
            all.insert(table.name, rows);
        }
        Ok(Tables(all))
    };
    Ok(Blocking::new().run(read).await?)
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(text) => Value::String(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::String(hex(bytes)),
    }
}

/// Writes bytes in the hex form of PostgreSQL.
fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\\x{digits}")
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?;
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect()
}

pub(super) async fn of_server(client: &impl GenericClient) -> Result<Tables, MoveError> {
    let mut all = BTreeMap::new();
    for table in TABLES {
        let found = rows(client, table.of_server, &[]).await.map_err(StoreError::from)?;
        let mut read = Vec::with_capacity(found.len());
        for row in &found {
            let row: BTreeMap<String, Value> = serde_json::from_str(get(row, 0)?)
                .map_err(|error| StoreError::Failed(error.to_string()))?;
            let row = row.into_iter().filter(|(column, _)| !is_of_one_side(table.name, column));
            read.push(row.map(|(column, value)| (column, plain(value))).collect());
        }
        all.insert(table.name, read);
    }
    Ok(Tables(all))
}

/// Writes all rows or none. A move that was cut off before is done again from the start.
pub(super) async fn into_server(server: &ServerSide, tables: &Tables) -> Result<(), StoreError> {
    transact!(server.database, transaction => {
        for table in TABLES {
            execute(&transaction, table.clear_server, &[]).await?;
            for some in tables.of(table).chunks(AT_ONCE) {
                let text = for_server(table, some)?;
                execute(&transaction, table.fill_server, &[&text]).await?;
            }
        }
        for statement in SEQUENCES {
            rows(&transaction, statement, &[]).await?;
        }
        execute(&transaction, "DELETE FROM run_inputs", &[]).await?;
        // The ledger of a home has no such table, because it finds the inputs in the runs
        // themselves.
        let inputs = "INSERT INTO run_inputs (person, session, input_turn, run)
                      SELECT person, session, input_turn, run FROM runs
                      WHERE status IS NULL OR status IN ('done', 'awaiting_client')
                      ON CONFLICT DO NOTHING";
        execute(&transaction, inputs, &[]).await?;
        execute(&transaction, "DELETE FROM session_changes", &[]).await?;
        let changes = "INSERT INTO session_changes (person, session, noted)
                       SELECT person, session, clock_timestamp() FROM sessions";
        execute(&transaction, changes, &[]).await?;
        execute(&transaction, "DELETE FROM origin_owners", &[]).await?;
        let owners = "INSERT INTO origin_owners (owner, version)
                      SELECT owner, 1 FROM origins UNION SELECT owner, 1 FROM foreign_names
                      UNION SELECT owner, 1 FROM open_commands";
        execute(&transaction, owners, &[]).await?;
        Ok(())
    })
}

fn for_server(table: &Table, rows: &[TableRow]) -> Result<String, StoreError> {
    let mut rows = rows.to_vec();
    if table.name == "runs" {
        for row in &mut rows {
            row.insert("gateway".to_owned(), "".into());
            row.insert("incarnation".to_owned(), 0.into());
        }
    }
    serde_json::to_string(&rows).map_err(|error| StoreError::Failed(error.to_string()))
}

pub(super) async fn into_home(path: &Path, tables: &Tables) -> Result<(), MoveError> {
    let path = path.to_owned();
    let mut rows = BTreeMap::new();
    for table in TABLES {
        rows.insert(table.name, tables.of(table).to_vec());
    }
    let fill = move || -> Result<(), StoreError> {
        // The file of an earlier try is removed, because it is incomplete and rows of an audit
        // chain cannot be deleted one by one.
        for end in ["", "-wal", "-shm"] {
            let mut left = path.clone().into_os_string();
            left.push(end);
            match std::fs::remove_file(left) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let mut connection = make_ledger(&path)?;
        let transaction = connection.transaction()?;
        for table in TABLES {
            for row in rows.get(table.name).into_iter().flatten() {
                put(&transaction, table, row)?;
            }
        }
        transaction.commit()?;
        Ok(())
    };
    Ok(Blocking::new().run(fill).await?)
}

fn put(connection: &Connection, table: &Table, row: &TableRow) -> Result<(), StoreError> {
    let types = column_types(connection, table)?;
    let mut row = row.clone();
    if table.name == "runs" {
        let is_active = row.get("status").is_none_or(Value::is_null);
        row.insert("active".to_owned(), Value::from(i64::from(is_active)));
    }
    let columns: Vec<&str> = row.keys().map(String::as_str).collect();
    let places: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let insert = [
        "INSERT INTO ",
        table.name,
        " (",
        &columns.join(", "),
        ") VALUES (",
        &places.join(", "),
        ")",
    ];
    let cells = row.iter().map(|(column, value)| for_home(value, types.get(column)));
    let mut statement = connection.prepare_cached(&insert.concat())?;
    statement.execute(rusqlite::params_from_iter(cells))?;
    Ok(())
}

fn column_types(
    connection: &Connection,
    table: &Table,
) -> Result<BTreeMap<String, String>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT name, type FROM pragma_table_info(?1)")?;
    let found = statement.query_map([table.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn for_home(value: &Value, kind: Option<&String>) -> Cell {
    match value {
        Value::String(text) if kind.is_some_and(|kind| kind == "BLOB") => {
            Cell::Blob(from_hex(text).unwrap_or_default())
        }
        Value::String(text) => Cell::Text(text.clone()),
        Value::Number(number) if kind.is_some_and(|kind| kind == "REAL") => {
            number.as_f64().map_or(Cell::Null, Cell::Real)
        }
        Value::Number(number) => number
            .as_i64()
            .map(Cell::Integer)
            .or_else(|| number.as_f64().map(Cell::Real))
            .unwrap_or(Cell::Null),
        Value::Bool(truth) => Cell::Integer(i64::from(*truth)),
        Value::Null | Value::Array(_) | Value::Object(_) => Cell::Null,
    }
}
