use std::fmt;
use std::path::Path;
use std::sync::Arc;

use onyx_types::Clock;

use crate::blocking::{Blocking, Steps};
use crate::home::Home;
use crate::local::{LocalLeases, LocalTurnLog};
use crate::objects::Files;
use crate::provenance::{import_histories, settle_commands_cut_off};
use crate::sessions::rebuild_person;
use crate::sqlite::{LedgerOrigin, SqliteChunks, SqliteLedger};
use crate::{
    Acceptances, Accounts, AuditWitnesses, ChunkStore, ConnectorLedger, Drafts, Duties, JobLedger,
    Leases, Ledger, LocalDuties, LocalShortLived, Origins, RunLog, SealedSecrets, ShortLived,
    StepwiseRunLog, StoreError, TurnLog,
};

/// All stores of one home or server, behind the traits that callers see.
#[derive(Clone)]
pub struct Store {
    pub turns: Arc<dyn TurnLog>,
    pub ledger: Arc<dyn Ledger>,
    /// The log of runs. It writes to both of the stores above when a run begins or ends.
    pub runs: Arc<dyn RunLog>,
    pub drafts: Arc<dyn Drafts>,
    pub accounts: Arc<dyn Accounts>,
    pub secrets: Arc<dyn SealedSecrets>,
    pub jobs: Arc<dyn JobLedger>,
    pub acceptances: Arc<dyn Acceptances>,
    pub connectors: Arc<dyn ConnectorLedger>,
    pub leases: Arc<dyn Leases>,
    pub duties: Arc<dyn Duties>,
    /// What is kept for a short time, such as codes and the keys of messages.
    pub short_lived: Arc<dyn ShortLived>,
    pub chunks: Arc<dyn ChunkStore>,
    /// The files. In a home, they also keep it owned by this process while any other store is in
    /// use.
    pub files: Arc<dyn Files>,
    /// Runs a series of steps that use several of the stores.
    pub steps: Steps,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens files and SQLite in the home, without any server. If the database is new but sessions
    /// exist (it was lost, or the files were copied here), their metadata is rebuilt.
    pub async fn open_embedded(home: Home, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::open_witnessed(home, clock, AuditWitnesses::default()).await
    }

    /// Does what `open_embedded` does, with witnesses outside the home that record every audit row.
    pub async fn open_witnessed(
        home: Home,
        clock: Arc<dyn Clock>,
        witnesses: AuditWitnesses,
    ) -> Result<Self, StoreError> {
        if home.paths().moving().exists() {
            let why = "a move into this home was cut off; run the same `onyx storage move` again";
            return Err(StoreError::Failed(why.to_owned()));
        }
        let blocking = home.blocking();
        let database = home.paths().database();
        let ledger_blocking = blocking.clone();
        let days = Arc::clone(&clock);
        let (ledger, opened) =
            blocking.run(move || open_ledger(&database, days, ledger_blocking, witnesses)).await?;
        let leases = LocalLeases::new(Arc::clone(&clock));
        let turns = LocalTurnLog::new(home.root(), leases.clone(), home.ops(), blocking.clone());
        let chunks = SqliteChunks::new(&home.paths().index(), Arc::clone(&clock), blocking.clone());
        let (ledger, turns, leases) = (Arc::new(ledger), Arc::new(turns), Arc::new(leases));
        home.keep_origins_in(Arc::clone(&ledger) as Arc<dyn Origins>);
        let store = Self {
            runs: Arc::new(StepwiseRunLog {
                turns: Arc::clone(&turns) as Arc<dyn TurnLog>,
                ledger: Arc::clone(&ledger) as Arc<dyn Ledger>,
                leases: Arc::clone(&leases) as Arc<dyn Leases>,
            }),
            turns,
            drafts: Arc::clone(&ledger) as Arc<dyn Drafts>,
            accounts: Arc::clone(&ledger) as Arc<dyn Accounts>,
            secrets: Arc::clone(&ledger) as Arc<dyn SealedSecrets>,
            jobs: Arc::clone(&ledger) as Arc<dyn JobLedger>,
            acceptances: Arc::clone(&ledger) as Arc<dyn Acceptances>,
            connectors: Arc::clone(&ledger) as Arc<dyn ConnectorLedger>,
            ledger,
            leases,
            duties: Arc::new(LocalDuties),
            short_lived: Arc::new(LocalShortLived::new(clock)),
            chunks: Arc::new(chunks),
            files: Arc::new(home),
            steps: Steps::on_one_thread(blocking),
        };
        match opened {
            LedgerOrigin::New => {
                store.rebuild_sessions().await?;
                import_histories(&*store.files).await?;
            }
            LedgerOrigin::BeforeOrigins => import_histories(&*store.files).await?,
            LedgerOrigin::Existing => {}
        }
        settle_commands_cut_off(&*store.files).await?;
        Ok(store)
    }

    /// Rebuilds the metadata of every session from its log, as `onyx reindex` does.
    pub async fn rebuild_sessions(&self) -> Result<(), StoreError> {
        for person in self.files.people().await? {
            let rebuilt =
                rebuild_person(&*self.turns, &*self.ledger, &*self.files, &person).await?;
            if rebuilt.sessions > 0 {
                tracing::info!(%person, rebuilt.sessions, rebuilt.damaged, "session metadata rebuilt");
            }
        }
        Ok(())
    }
}

/// Opens the ledger. Ledgers cannot be made again, so a database that cannot be used prevents the
/// start, and the error names its file.
fn open_ledger(
    path: &Path,
    clock: Arc<dyn Clock>,
    blocking: Blocking,
    witnesses: AuditWitnesses,
) -> Result<(SqliteLedger, LedgerOrigin), StoreError> {
    let name = path.display();
    SqliteLedger::open(path, clock, blocking, witnesses).map_err(|error| match error {
        StoreError::Damaged(why) => StoreError::Damaged(format!("{name}: {why}")),
        StoreError::Newer(_) => StoreError::Newer(name.to_string()),
        StoreError::Failed(why) => StoreError::Failed(format!("{name}: {why}")),
        StoreError::NotFound
        | StoreError::Conflict
        | StoreError::LeaseLost
        | StoreError::Busy
        | StoreError::AlreadyRun
        | StoreError::Full
        | StoreError::ReadOnly(_)
        | StoreError::Refused(_)
        | StoreError::Unavailable(_) => error,
    })
}
