use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use onyx_types::{Clock as _, Hash, Origin, SystemClock, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::blocking::lock;
use crate::{ContentRecord, OpenCommand, OriginNote, Origins, StoreError, TICK_MS};

use super::convert::{named, timestamp};
use super::ledger::SqliteLedger;

/// What is asked about every file, kept in memory. Of hardly any file is anything recorded, and
/// then no query is needed.
#[derive(Debug, Default)]
pub(super) struct KnownOrigins {
    owners: Mutex<HashMap<String, Owner>>,
    commands: Mutex<Vec<OpenCommand>>,
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Owner {
    /// The prints of the owner's foreign texts.
    prints: HashSet<u64>,
    /// The hashes of paths, contents and names that have records. Two of them may have the same
    /// hash, which only costs a query.
    marks: HashSet<u64>,
}

#[derive(Clone, Copy, Hash)]
enum Mark<'a> {
    Path(&'a str),
    Content(&'a str),
    Name(&'a str),
}

impl Mark<'_> {
    fn number(self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Owner {
    fn has(&self, mark: Mark<'_>) -> bool {
        self.marks.contains(&mark.number())
    }

    fn add(&mut self, mark: Mark<'_>) {
        self.marks.insert(mark.number());
    }
}

impl KnownOrigins {
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let mut owners: HashMap<String, Owner> = HashMap::new();
        let mut statement = connection.prepare("SELECT owner, print FROM prints")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let print: i64 = row.get(1)?;
            owners.entry(row.get(0)?).or_default().prints.insert(print.cast_unsigned());
        }
        let mut statement = connection.prepare("SELECT owner, path, hash FROM origins")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let owner = owners.entry(row.get(0)?).or_default();
            owner.add(Mark::Path(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?));
            owner.add(Mark::Content(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?));
        }
        let mut statement = connection.prepare("SELECT owner, path FROM foreign_names")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let owner = owners.entry(row.get(0)?).or_default();
            owner.add(Mark::Name(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?));
        }
        let commands = Mutex::new(open_commands(connection)?);
        Ok(Self { owners: Mutex::new(owners), commands, version: AtomicU64::default() })
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Origins for SqliteLedger {
    async fn note(&self, owner: &str, notes: Vec<OriginNote>) -> Result<(), StoreError> {
        // The marks are added before the rows, because a mark too many costs a query, while one too
        // few would hide a row.
        {
            let mut owners = lock(&self.known_origins.owners);
            let known = owners.entry(owner.to_owned()).or_default();
            for note in &notes {
                known.prints.extend(&note.prints);
                known.add(Mark::Path(&note.path));
                if let Some(hash) = note.hash {
                    known.add(Mark::Content(&hash.to_string()));
                }
                note.names.iter().for_each(|name| known.add(Mark::Name(name)));
            }
        }
        let owner = owner.to_owned();
        let at = SystemClock::new().wall();
        let written = self.writer.write(move |connection| {
            notes.iter().try_for_each(|note| put(connection, &owner, note, at))
        });
        let written = written.await;
        self.known_origins.changed();
        written
    }

    async fn known(
        &self,
        owner: &str,
        path: &str,
        hash: Hash,
    ) -> Result<ContentRecord, StoreError> {
        let is_known = lock(&self.known_origins.owners).get(owner).is_some_and(|owner| {
            owner.has(Mark::Path(path)) || owner.has(Mark::Content(&hash.to_string()))
        });
        if !is_known {
            return Ok(ContentRecord::default());
        }
        let (owner, path) = (owner.to_owned(), path.to_owned());
        self.readers.read(move |connection| known(connection, &owner, &path, hash)).await
    }

    async fn has_foreign_text(&self, owner: &str) -> Result<bool, StoreError> {
        let owners = lock(&self.known_origins.owners);
        Ok(owners.get(owner).is_some_and(|owner| !owner.prints.is_empty()))
    }

    async fn alike(
        &self,
        owner: &str,
        mut prints: Vec<u64>,
        by: Timestamp,
    ) -> Result<Option<Origin>, StoreError> {
        match lock(&self.known_origins.owners).get(owner) {
            Some(known) => prints.retain(|print| known.prints.contains(print)),
            None => return Ok(None),
        }
        if prints.len() < 2 {
            return Ok(None);
        }
        let owner = owner.to_owned();
        self.readers.read(move |connection| alike(connection, &owner, &prints, by)).await
    }

    async fn named_by(&self, owner: &str, mut paths: Vec<String>) -> Result<Origin, StoreError> {
        match lock(&self.known_origins.owners).get(owner) {
            Some(known) => paths.retain(|path| known.has(Mark::Name(path))),
            None => return Ok(Origin::Person),
        }
        if paths.is_empty() {
            return Ok(Origin::Person);
        }
        let owner = owner.to_owned();
        self.readers.read(move |connection| named_by(connection, &owner, &paths)).await
    }

    async fn begin_command(&self, owner: &str) -> Result<OpenCommand, StoreError> {
        let started = SystemClock::new().wall().as_millis() - TICK_MS;
        let (owner, started_at) = (owner.to_owned(), Timestamp::from_millis(started));
        let of = owner.clone();
        let begin = move |connection: &Connection| {
            connection
                .prepare_cached("INSERT INTO open_commands (owner, started_at) VALUES (?1, ?2)")?
                .execute(params![of, started])?;
            Ok(connection.last_insert_rowid())
        };
        let id = self.writer.write(begin).await?;
        let command = OpenCommand { id, owner, started_at };
        lock(&self.known_origins.commands).push(command.clone());
        self.known_origins.changed();
        Ok(command)
    }

    async fn end_command(&self, id: i64) -> Result<(), StoreError> {
        let end = move |connection: &Connection| {
            connection
                .prepare_cached("DELETE FROM open_commands WHERE id = ?1")?
                .execute(params![id])?;
            Ok(())
        };
        self.writer.write(end).await?;
        lock(&self.known_origins.commands).retain(|command| command.id != id);
        self.known_origins.changed();
        Ok(())
    }

    async fn open_commands(&self) -> Result<Vec<OpenCommand>, StoreError> {
        Ok(lock(&self.known_origins.commands).clone())
    }

    async fn command_since(&self, owner: &str) -> Result<Option<Timestamp>, StoreError> {
        let commands = lock(&self.known_origins.commands);
        let ours = commands.iter().filter(|command| command.owner == owner);
        Ok(ours.map(|command| command.started_at).min())
    }

    async fn version(&self, _owner: &str) -> Result<u64, StoreError> {
        Ok(self.known_origins.version.load(Ordering::Relaxed))
    }
}

fn put(
    connection: &Connection,
    owner: &str,
    note: &OriginNote,
    at: Timestamp,
) -> Result<(), StoreError> {
    let origin = note.origin.as_str();
    if !note.path.is_empty() {
        let hash = note.hash.map(|hash| hash.to_string()).unwrap_or_default();
        let prints = u32::try_from(note.prints.len()).unwrap_or(u32::MAX);
        connection
            .prepare_cached(
                "DELETE FROM prints WHERE note IN
                     (SELECT id FROM origins WHERE owner = ?1 AND path = ?2 AND hash = ?3)",
            )?
            .execute(params![owner, note.path, hash])?;
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO origins (owner, path, hash, origin, prints, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![owner, note.path, hash, origin, prints, at.as_millis()])?;
        let id = connection.last_insert_rowid();
        let mut statement = connection.prepare_cached(
            "INSERT OR IGNORE INTO prints (owner, print, note) VALUES (?1, ?2, ?3)",
        )?;
        for print in &note.prints {
            statement.execute(params![owner, print.cast_signed(), id])?;
        }
    }
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO foreign_names (owner, path, origin) VALUES (?1, ?2, ?3)",
    )?;
    for name in &note.names {
        statement.execute(params![owner, name, origin])?;
    }
    Ok(())
}

fn known(
    connection: &Connection,
    owner: &str,
    path: &str,
    hash: Hash,
) -> Result<ContentRecord, StoreError> {
    let hash = hash.to_string();
    let here: Option<Origin> = connection
        .prepare_cached("SELECT origin FROM origins WHERE owner = ?1 AND path = ?2 AND hash = ?3")?
        .query_row(params![owner, path, hash], |row| named(row, 0))
        .optional()?;
    if here.is_some() {
        return Ok(ContentRecord { here, ..ContentRecord::default() });
    }
    let newest: Option<(String, Origin)> = connection
        .prepare_cached(
            "SELECT hash, origin FROM origins WHERE owner = ?1 AND path = ?2
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![owner, path], |row| Ok((row.get(0)?, named(row, 1)?)))
        .optional()?;
    let before = newest.filter(|(hash, _)| !hash.is_empty()).map(|(_, origin)| origin);
    let mut statement = connection
        .prepare_cached("SELECT origin, at FROM origins WHERE owner = ?1 AND hash = ?2")?;
    let rows = statement
        .query_map(params![owner, hash], |row| Ok((named(row, 0)?, timestamp(row, 1)?)))?;
    let mut elsewhere: Option<(Origin, Timestamp)> = None;
    for row in rows {
        let found: (Origin, Timestamp) = row?;
        if elsewhere.is_none_or(|(worst, _)| worst < found.0) {
            elsewhere = Some(found);
        }
    }
    Ok(ContentRecord { here, before, elsewhere })
}

fn alike(
    connection: &Connection,
    owner: &str,
    prints: &[u64],
    by: Timestamp,
) -> Result<Option<Origin>, StoreError> {
    let signed: Vec<i64> = prints.iter().map(|print| print.cast_signed()).collect();
    let signed =
        serde_json::to_string(&signed).map_err(|error| StoreError::Failed(error.to_string()))?;
    // The condition at the end is the rule of `provenance::prints::is_alike`.
    let mut statement = connection.prepare_cached(
        "SELECT origins.origin FROM prints JOIN origins ON origins.id = prints.note
         WHERE prints.owner = ?1 AND prints.print IN (SELECT value FROM json_each(?2))
           AND origins.at <= ?3
         GROUP BY prints.note
         HAVING COUNT(*) >= 2 AND COUNT(*) * 2 >= origins.prints",
    )?;
    let found = statement.query_map(params![owner, signed, by.as_millis()], |row| named(row, 0))?;
    let found: Vec<Origin> = found.collect::<Result<_, _>>()?;
    Ok(found.into_iter().max())
}

fn named_by(connection: &Connection, owner: &str, paths: &[String]) -> Result<Origin, StoreError> {
    let paths =
        serde_json::to_string(paths).map_err(|error| StoreError::Failed(error.to_string()))?;
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT origin FROM foreign_names
         WHERE owner = ?1 AND path IN (SELECT value FROM json_each(?2))",
    )?;
    let found = statement.query_map(params![owner, paths], |row| named(row, 0))?;
    let found: Vec<Origin> = found.collect::<Result<_, _>>()?;
    Ok(found.into_iter().max().unwrap_or(Origin::Person))
}

fn open_commands(connection: &Connection) -> Result<Vec<OpenCommand>, StoreError> {
    let mut statement =
        connection.prepare("SELECT id, owner, started_at FROM open_commands ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        Ok(OpenCommand { id: row.get(0)?, owner: row.get(1)?, started_at: timestamp(row, 2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
