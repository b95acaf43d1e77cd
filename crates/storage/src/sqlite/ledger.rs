use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onyx_types::{
    AgentId, Clock, ModelId, PersonId, RunId, SessionId, SessionKey, Timestamp, TurnId, Usage,
};
use rusqlite::Connection;

use crate::blocking::{Blocking, lock};
use crate::{
    AuditEntry, AuditRow, AuditWitnesses, BeginRun, ChainState, DaySpending, InboxRow, Ledger,
    ModelUse, RunOutcome, RunRow, SessionChange, SessionFilter, SessionMeta, SessionMove,
    SessionSequence, StoreError, TagCount, UnusedSession, UsageRow,
};

use super::connection::{Durability, migrate, open_writer};
use super::origins::KnownOrigins;
use super::readers::Readers;
use super::spending::{KnownSpending, SpendingOwner};
use super::writer::Writer;
use super::{audit, drafts, inbox, runs, sessions, spending};

mod migrations {
    refinery::embed_migrations!("migrations/ledger");
}

/// The ledgers of a home in `onyx.db`.
#[derive(Debug)]
pub(crate) struct SqliteLedger {
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    /// Sessions that may have messages in their inbox. Every run looks for such messages and hardly
    /// any session has some, so this saves a query.
    spoken_to: Mutex<HashSet<(PersonId, SessionId)>>,
    /// Sessions that may have drafts. The set saves queries in the same way.
    pub(super) drafted: Mutex<HashSet<(PersonId, SessionId)>>,
    /// Runs that may be open, with their sessions. The map saves queries in the same way.
    open: Mutex<HashMap<RunId, (PersonId, SessionId)>>,
    known_spending: Arc<KnownSpending>,
    pub(super) known_origins: KnownOrigins,
    pub(super) witnesses: AuditWitnesses,
}

/// What was in the file before it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerOrigin {
    New,
    /// The database is older than its table of origins. The table is filled from the history files.
    BeforeOrigins,
    Existing,
}

/// The number of the migration that created the table of origins.
const ORIGINS: i32 = 14;

/// Creates a ledger's tables without any rows, for a move that fills them.
pub(crate) fn make_ledger(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = open_writer(path, Durability::Full)?;
    migrate(&mut connection, migrations::migrations::runner())?;
    Ok(connection)
}

impl SqliteLedger {
    /// Opens the database and brings its tables up to date. This blocks on the disk.
    pub(crate) fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        blocking: Blocking,
        witnesses: AuditWitnesses,
    ) -> Result<(Self, LedgerOrigin), StoreError> {
        let mut connection = open_writer(path, Durability::Full)?;
        let report = migrate(&mut connection, migrations::migrations::runner())?;
        let applied = |version: i32| {
            report.applied_migrations().iter().any(|migration| migration.version() == version)
        };
        let opened = if applied(1) {
            LedgerOrigin::New
        } else if applied(ORIGINS) {
            LedgerOrigin::BeforeOrigins
        } else {
            LedgerOrigin::Existing
        };
        if let Some(export) = &witnesses.export {
            let newest = export.newest()?;
            audit::rows_after(&connection, &newest, |row| export.add(row))?;
        }
        let known_origins = KnownOrigins::read(&connection)?;
        let spoken_to = Mutex::new(inbox::sessions(&connection)?);
        let drafted = Mutex::new(drafts::sessions(&connection)?);
        let open = runs::active(&connection)?.into_iter();
        let open = open.map(|row| (row.run, (row.key.person, row.key.session))).collect();
        let ledger = Self {
            open: Mutex::new(open),
            writer: Writer::start("onyx-ledger", connection)?,
            readers: Readers::new(path, blocking),
            spoken_to,
            drafted,
            known_spending: Arc::new(KnownSpending::new(clock)),
            known_origins,
            witnesses,
        };
        Ok((ledger, opened))
    }

    async fn spent_by(&self, whose: SpendingOwner, day: &str) -> Result<f64, StoreError> {
        let unknown = match self.known_spending.get(&whose, day) {
            Ok(sum) => return Ok(sum),
            Err(unknown) => unknown,
        };
        let (asked, on) = (whose.clone(), day.to_owned());
        let sum = self.readers.read(move |books| spending::spent(books, &asked, &on)).await?;
        self.known_spending.learn(whose, day, sum, unknown);
        Ok(sum)
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn begin_run(&self, begin: BeginRun) -> Result<(), StoreError> {
        let (run, session) = (begin.run, (begin.key.person.clone(), begin.key.session));
        let is_new = lock(&self.open).insert(run, session).is_none();
        let begun = self.writer.write(move |connection| runs::begin(connection, &begin)).await;
        // The run's row may have been written despite any other failure, so only these remove it
        // from the map.
        let refused = matches!(
            begun,
            Err(StoreError::AlreadyRun | StoreError::NotFound | StoreError::Conflict)
        );
        if is_new && refused {
            lock(&self.open).remove(&run);
        }
        begun
    }

    async fn end_run(&self, outcome: RunOutcome) -> Result<(), StoreError> {
        let (known, run) = (Arc::clone(&self.known_spending), outcome.run);
        let end = move |connection: &Connection| runs::end(connection, &known, &outcome);
        // The log contains the end of the run too and was synced, so recovery could close an open
        // run from it. This write therefore needs no sync.
        let written = self.writer.write_derived(end).await;
        match &written {
            Ok(()) => drop(lock(&self.open).remove(&run)),
            Err(_) => self.known_spending.forget(),
        }
        written
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.readers.read(runs::active).await
    }

    async fn open_runs(&self, key: &SessionKey) -> Result<Vec<RunRow>, StoreError> {
        let session = (key.person.clone(), key.session);
        if !lock(&self.open).values().any(|open| *open == session) {
            return Ok(Vec::new());
        }
        let key = key.clone();
        self.readers.read(move |connection| runs::of_session(connection, &key)).await
    }

    async fn run(&self, person: &PersonId, run: RunId) -> Result<Option<RunRow>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| runs::one(connection, &person, run)).await
    }

    async fn session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| sessions::one(connection, &person, session)).await
    }

    async fn count_sessions(&self, person: &PersonId, most: u32) -> Result<u32, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| sessions::count_most(connection, &person, most)).await
    }

    async fn session_sequence(&self) -> Result<Option<SessionSequence>, StoreError> {
        self.readers.read(|connection| sessions::sequence(connection).map(Some)).await
    }

    async fn moved_sessions(&self, after: u64, limit: u32) -> Result<Vec<SessionMove>, StoreError> {
        self.readers.read(move |connection| sessions::moved(connection, after, limit)).await
    }

    async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        let (person, filter) = (person.clone(), filter.clone());
        self.readers.read(move |connection| sessions::page(connection, &person, &filter)).await
    }

    async fn unused_sessions(
        &self,
        until: Timestamp,
        after: Option<&UnusedSession>,
        limit: u32,
    ) -> Result<Vec<UnusedSession>, StoreError> {
        let after = after.cloned();
        let list = move |connection: &Connection| {
            sessions::unused(connection, until, after.as_ref(), limit)
        };
        self.readers.read(list).await
    }

    async fn family(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| sessions::family(connection, &person, root)).await
    }

    async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError> {
        let (person, change) = (person.clone(), change.clone());
        let change =
            move |connection: &Connection| sessions::change(connection, &person, session, &change);
        self.writer.write(change).await
    }

    async fn session_tags(&self, person: &PersonId) -> Result<Vec<TagCount>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| sessions::all_tags(connection, &person)).await
    }

    async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<bool, StoreError> {
        let person = person.clone();
        self.writer.write(move |connection| sessions::mark_read(connection, &person, session)).await
    }

    async fn book(
        &self,
        key: &SessionKey,
        model: &ModelId,
        usage: Usage,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let used = ModelUse { agent: key.agent.clone(), model: model.clone(), usage };
        let key = key.clone();
        let known = Arc::clone(&self.known_spending);
        let book = move |connection: &Connection| runs::book(connection, &known, &key, &used, at);
        let written = self.writer.write(book).await;
        written.inspect_err(|_| self.known_spending.forget())
    }

    async fn put_session(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), StoreError> {
        let (person, meta) = (person.clone(), meta.clone());
        self.writer.write(move |connection| sessions::put(connection, &person, &meta)).await
    }

    async fn delete_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        let person = person.clone();
        self.writer.write(move |connection| sessions::delete(connection, &person, session)).await
    }

    async fn put_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<(), StoreError> {
        let key = key.clone();
        lock(&self.spoken_to).insert((key.person.clone(), key.session));
        self.writer.write(move |connection| inbox::put(connection, &key, &row)).await
    }

    async fn inbox(&self, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError> {
        if !lock(&self.spoken_to).contains(&(key.person.clone(), key.session)) {
            return Ok(Vec::new());
        }
        let key = key.clone();
        self.readers.read(move |connection| inbox::all(connection, &key)).await
    }

    async fn change_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<bool, StoreError> {
        let key = key.clone();
        self.writer.write(move |connection| inbox::change(connection, &key, &row)).await
    }

    async fn clear_inbox(&self, key: &SessionKey, turns: &[TurnId]) -> Result<(), StoreError> {
        let (key, turns) = (key.clone(), turns.to_vec());
        self.writer.write(move |connection| inbox::remove(connection, &key, &turns)).await
    }

    async fn spoken_to(&self) -> Result<Vec<(PersonId, SessionId)>, StoreError> {
        let sessions = self.readers.read(inbox::sessions).await?;
        Ok(sessions.into_iter().collect())
    }

    async fn spent(&self, person: &PersonId, day: &str) -> Result<f64, StoreError> {
        self.spent_by(SpendingOwner::Person(person.to_string()), day).await
    }

    async fn spent_by_agent(&self, agent: &AgentId, day: &str) -> Result<f64, StoreError> {
        self.spent_by(SpendingOwner::Agent(agent.to_string()), day).await
    }

    async fn spending(&self, day: &str) -> Result<DaySpending, StoreError> {
        let day = day.to_owned();
        self.readers.read(move |connection| spending::of_day(connection, &day)).await
    }

    async fn usage(&self, first: &str, last: &str) -> Result<Vec<UsageRow>, StoreError> {
        let (first, last) = (first.to_owned(), last.to_owned());
        self.readers.read(move |connection| spending::between(connection, &first, &last)).await
    }

    async fn append_audit(&self, entry: AuditEntry) -> Result<AuditRow, StoreError> {
        let witnesses = self.witnesses.clone();
        let append =
            move |connection: &Connection| audit::append(connection, entry, witnesses.seal());
        let row = self.writer.write(append).await?;
        self.witnesses.tell(&row);
        Ok(row)
    }

    async fn audit(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| audit::page(connection, &person, before, limit)).await
    }

    async fn verify_audit(&self, person: &PersonId) -> Result<ChainState, StoreError> {
        let person = person.clone();
        let seal = self.witnesses.seal.clone();
        self.readers
            .read(move |connection| audit::verify(connection, &person, seal.as_deref()))
            .await
    }
}
