//! A copy of everything that gateways share, as it is at one moment, while they keep working. One
//! transaction sees the database as it was at its beginning, and the objects named there are
//! protected from the sweep until it ends. Backups use it. Its calls block as those of a disk do,
//! so it must not be used on a thread that runs async tasks.

use std::future::Future;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use onyx_types::{Clock as _, SystemClock};
use tokio::runtime::Runtime;

use super::files::person_of;
use super::logs::{self, LogName};
use super::{MoveError, ledger};
use crate::postgres::connect::Database;
use crate::postgres::convert::get;
use crate::postgres::files::Blobs;
use crate::postgres::query::{execute, row_if_any, rows};
use crate::postgres::schema::inspect_database;
use crate::s3::Bucket;
use crate::{ServerError, ServerSettings, StoreError};

/// The number of files that one query lists, with the contents of the small ones.
const PAGE: i64 = 500;
/// How long objects stay protected from the sweep after each request to protect them.
const HELD_FOR: Duration = Duration::from_secs(30 * 60);
const HELD_AGAIN: Duration = Duration::from_secs(60);

/// A copy of a server as it is at one moment.
pub struct ServerCopy {
    runtime: Runtime,
    /// The connection on which the transaction stays open.
    client: Object,
    database: Database,
    blobs: Blobs,
    /// The name of the row in `agreed` that makes the sweep wait.
    name: String,
    held: Mutex<Instant>,
}

impl std::fmt::Debug for ServerCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerCopy").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A file or folder, with its path in a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    pub path: String,
    /// The time in milliseconds since 1970.
    pub modified: i64,
    pub content: CopiedContent,
    person: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopiedContent {
    Folder,
    Bytes(Vec<u8>),
    /// The content is in the object store under this name, which is the hash of the content.
    Object(String),
}

/// A conversation, with the path that its log has in a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedLog {
    pub path: String,
    /// The time of the last write in milliseconds since 1970.
    pub written: i64,
    /// Logs with the same path and the same state hold the same bytes.
    pub state: String,
    key: LogName,
}

impl ServerCopy {
    pub fn begin(settings: &ServerSettings) -> Result<Self, MoveError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("server-copy")
            .enable_all()
            .build()
            .map_err(|error| ServerError::Failed(error.to_string()))?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| StoreError::Failed(error.to_string()))?;
        let name = format!("copy:{:016x}", u64::from_le_bytes(random));
        let opened = runtime.block_on(open(settings, &name));
        let (client, database, blobs) = opened?;
        Ok(Self { runtime, client, database, blobs, name, held: Mutex::new(Instant::now()) })
    }

    /// The shared `onyx.json` of the gateways.
    pub fn config(&self) -> Result<Option<String>, MoveError> {
        self.wait(async {
            let select = "SELECT text FROM config_versions ORDER BY version DESC LIMIT 1";
            let found = row_if_any(&self.client, select, &[]).await.map_err(StoreError::from)?;
            Ok(found.map(|row| get(&row, 0)).transpose()?)
        })
    }

    /// Writes the ledgers into a new file, as the database of a home. Secrets stay sealed with the
    /// server's key.
    pub fn ledger_into(&self, path: &Path) -> Result<(), MoveError> {
        self.wait(async {
            let tables = ledger::of_server(&self.client).await?;
            ledger::into_home(path, &tables).await
        })
    }

    /// Lists the next files after a file (`None`: the first files). Derived files are left out.
    /// Folders above those of people appear once for each person.
    pub fn files_after(&self, last: Option<&CopiedFile>) -> Result<Vec<CopiedFile>, MoveError> {
        let (person, path) =
            last.map_or(("", ""), |last| (last.person.as_str(), last.path.as_str()));
        self.wait(async {
            let select = "SELECT path, modified, is_folder, bytes, sha256, person FROM files
                          WHERE (person, path) > ($1, $2)
                            AND path <> 'cache' AND NOT starts_with(path, 'cache/')
                          ORDER BY person, path LIMIT $3";
            let found = rows(&self.client, select, &[&person, &path, &PAGE]).await;
            let mut files = Vec::new();
            for row in &found.map_err(StoreError::from)? {
                let path: String = get(row, 0)?;
                let content = match (get(row, 2)?, get(row, 3)?, get(row, 4)?) {
                    (true, _, _) => CopiedContent::Folder,
                    (false, Some(bytes), _) => CopiedContent::Bytes(bytes),
                    (false, None, Some(name)) => CopiedContent::Object(name),
                    (false, None, None) => {
                        return Err(StoreError::Damaged(format!("{path} has no content")).into());
                    }
                };
                let (modified, person) = (get(row, 1)?, get(row, 5)?);
                files.push(CopiedFile { path, modified, content, person });
            }
            Ok(files)
        })
    }

    /// Reads the content of a file in the object store.
    pub fn object(&self, path: &str, name: &str) -> Result<Vec<u8>, MoveError> {
        self.wait(async { Ok(self.blobs.get(person_of(path), name).await?) })
    }

    /// Lists every conversation that has been written to, ordered by path.
    pub fn logs(&self) -> Result<Vec<CopiedLog>, MoveError> {
        self.wait(async {
            let select = "SELECT person, agent, session,
                                 (extract(epoch FROM written) * 1000)::BIGINT,
                                 concat_ws(' ', generation, next_pos,
                                     (SELECT string_agg(sha256, ' ' ORDER BY first_pos)
                                      FROM segments
                                      WHERE segments.person = session_log.person
                                        AND segments.agent = session_log.agent
                                        AND segments.session = session_log.session),
                                     (SELECT turn FROM turns
                                      WHERE turns.person = session_log.person
                                        AND turns.agent = session_log.agent
                                        AND turns.session = session_log.session
                                      ORDER BY pos DESC LIMIT 1))
                          FROM session_log WHERE next_pos > 0 ORDER BY person, agent, session";
            let found = rows(&self.client, select, &[]).await.map_err(StoreError::from)?;
            let mut all = Vec::with_capacity(found.len());
            for row in &found {
                let key =
                    LogName { person: get(row, 0)?, agent: get(row, 1)?, session: get(row, 2)? };
                let path = logs::path(&key).display().to_string();
                all.push(CopiedLog { path, written: get(row, 3)?, state: get(row, 4)?, key });
            }
            Ok(all)
        })
    }

    pub fn log(&self, log: &CopiedLog) -> Result<Vec<u8>, MoveError> {
        self.wait(logs::bytes(&self.client, &self.blobs, &log.key))
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, MoveError>>) -> Result<T, MoveError> {
        self.runtime.block_on(async {
            self.hold_again().await?;
            work.await
        })
    }

    async fn hold_again(&self) -> Result<(), MoveError> {
        let since = self.held.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        if since < HELD_AGAIN {
            return Ok(());
        }
        if since >= HELD_FOR {
            let why = "the backup paused for too long; objects may have been deleted meanwhile";
            return Err(StoreError::Failed(why.to_owned()).into());
        }
        hold(&self.database, &self.name).await?;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }
}

impl Drop for ServerCopy {
    fn drop(&mut self) {
        self.runtime.block_on(async {
            // Errors do not matter here, because both end on their own: the transaction with the
            // connection, the row when its time is over.
            let _ = self.client.batch_execute("ROLLBACK").await;
            if let Ok(client) = self.database.client().await {
                let release = "DELETE FROM agreed WHERE name = $1";
                let _ = execute(&client, release, &[&self.name]).await;
            }
        });
    }
}

async fn open(
    settings: &ServerSettings,
    name: &str,
) -> Result<(Object, Database, Blobs), MoveError> {
    let now = SystemClock::new().wall();
    inspect_database(&settings.database, now, settings.clock_slack).await?;
    let bucket = Bucket::new(settings.objects.clone(), &settings.s3)?;
    bucket.look().await?;
    let database = Database::new(&settings.database)?;
    if super::half_moved(&database).await? {
        return Err(ServerError::HalfMoved.into());
    }
    // The protection is recorded before the transaction begins. A sweep that does not see it yet
    // deletes nothing that the transaction can name.
    hold(&database, name).await?;
    let client = database.client().await?;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
                 SET LOCAL idle_in_transaction_session_timeout = 0;
                 SELECT 1 FROM agreed LIMIT 1";
    client.batch_execute(begin).await.map_err(StoreError::from)?;
    Ok((client, database.clone(), Blobs::new(database, bucket)))
}

async fn hold(database: &Database, name: &str) -> Result<(), MoveError> {
    let client = database.client().await?;
    let hold = "INSERT INTO agreed (name, value)
                VALUES ($1, (extract(epoch FROM clock_timestamp()) + $2::DOUBLE PRECISION)::BIGINT::TEXT)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    let length = HELD_FOR.as_secs_f64();
    execute(&client, hold, &[&name, &length]).await.map_err(StoreError::from)?;
    Ok(())
}
