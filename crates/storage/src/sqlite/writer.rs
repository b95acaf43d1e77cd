use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;
use crate::blocking::lock;

use super::connection::{Durability, set_durability};

/// Requests that may wait; beyond it callers wait for a place.
const QUEUE: usize = 1024;
/// The most requests that share one commit, so that the first of them does not wait for long.
const GROUP: usize = 256;
/// How long what can wait waits for a commit to share.
const PATIENCE: Duration = Duration::from_millis(250);

/// One thread that does all writing. Whatever has queued up while the disk was busy goes into one
/// transaction: the cost of a sync is shared by all who wait for it.
#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` only while it is being dropped.
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    later: Arc<Later>,
}

impl Writer {
    /// The connection's commits are durable.
    pub(crate) fn start(name: &str, connection: Connection) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let later = Arc::<Later>::default();
        let waiting = Arc::clone(&later);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || serve(&connection, jobs, &waiting))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), later })
    }

    /// Runs the work inside a transaction and returns once it is durable. An error undoes this
    /// work alone, not that of others in the same commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(Durability::Full, work).await
    }

    /// As `write`, for what is durable elsewhere already: a loss of power may take it back, the end
    /// of the process may not.
    pub(crate) async fn write_derived<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(Durability::Normal, work).await
    }

    /// As `write_derived`, without waiting: it goes with the next commit, whoever's it is, at the
    /// latest a moment from now. Whoever reads settles it first.
    pub(crate) fn write_later<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        done: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        self.later.open.fetch_add(1, Ordering::SeqCst);
        let later = Arc::clone(&self.later);
        let done = move |result| {
            done(result);
            later.open.fetch_sub(1, Ordering::SeqCst);
        };
        let state = Some(State::Waiting(work));
        lock(&self.later.jobs).push(Box::new(Request {
            durability: Durability::Normal,
            state,
            done,
        }));
        if !self.later.timed.swap(true, Ordering::SeqCst) {
            self.commit_soon();
        }
    }

    /// Returns when all that could wait is committed.
    pub(crate) async fn settle(&self) -> Result<(), StoreError> {
        match self.later.open.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ => self.write_derived(|_| Ok(())).await,
        }
    }

    fn commit_soon(&self) {
        let Some(queue) = &self.queue else { return };
        // It keeps nobody from dropping the writer, who commits what is left.
        let (queue, later) = (queue.downgrade(), Arc::clone(&self.later));
        let commit = move || {
            later.timed.store(false, Ordering::SeqCst);
            if later.open.load(Ordering::SeqCst) > 0
                && let Some(queue) = queue.upgrade()
            {
                // A full queue is a commit at once.
                let _ = queue.try_send(Box::new(nothing()));
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                tokio::time::sleep(PATIENCE).await;
                commit();
            })),
            Err(_) => commit(),
        }
    }

    async fn queue<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        // A caller that went away does not need to know.
        let done = move |result| drop(sender.send(result));
        let request = Request { durability, state: Some(State::Waiting(work)), done };
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(Box::new(request)).await.map_err(|_| stopped())?;
        receiver.await.map_err(|_| stopped())?
    }
}

/// What waits for somebody else's commit.
#[derive(Default)]
struct Later {
    jobs: Mutex<Vec<Box<dyn Job>>>,
    /// Not committed yet: waiting, or just being written.
    open: AtomicUsize,
    /// Somebody will see to it soon.
    timed: AtomicBool,
}

impl Later {
    fn take(&self) -> Vec<Box<dyn Job>> {
        std::mem::take(&mut *lock(&self.jobs))
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").field("open", &self.open).finish_non_exhaustive()
    }
}

/// Makes a commit of what waits.
fn nothing() -> impl Job {
    let work = |_: &Connection| Ok(());
    let state = Some(State::Waiting(work));
    Request { durability: Durability::Normal, state, done: |_: Result<(), StoreError>| {} }
}

fn stopped() -> StoreError {
    StoreError::Failed("the database writer has stopped".to_owned())
}

impl Drop for Writer {
    /// Waits for what is queued, so that whoever opens the database next finds it settled.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the database writer panicked");
        }
    }
}

/// A request whose types are forgotten, so that many kinds can share a queue.
trait Job: Send {
    fn durability(&self) -> Durability;

    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Tells the caller how it went; `shared` is what befell the whole transaction.
    fn reply(self: Box<Self>, shared: Result<(), StoreError>);
}

struct Request<T, F, D> {
    durability: Durability,
    state: Option<State<T, F>>,
    done: D,
}

enum State<T, F> {
    Waiting(F),
    Ran(Result<T, StoreError>),
}

impl<T, F, D> Job for Request<T, F, D>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
    D: FnOnce(Result<T, StoreError>) + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let Some(State::Waiting(work)) = self.state.take() else { return Ok(()) };
        let result = work(connection);
        let outcome = result.as_ref().map(|_| ()).map_err(Clone::clone);
        self.state = Some(State::Ran(result));
        outcome
    }

    fn reply(self: Box<Self>, shared: Result<(), StoreError>) {
        let result = match (self.state, shared) {
            (Some(State::Ran(Err(own))), _) => Err(own),
            (_, Err(shared)) => Err(shared),
            (Some(State::Ran(Ok(value))), Ok(())) => Ok(value),
            (Some(State::Waiting(_)) | None, Ok(())) => Err(stopped()),
        };
        (self.done)(result);
    }
}

fn serve(connection: &Connection, mut jobs: mpsc::Receiver<Box<dyn Job>>, later: &Later) {
    let mut level = Durability::Full;
    while let Some(first) = jobs.blocking_recv() {
        // What waited was said before.
        let mut group = later.take();
        group.push(first);
        while group.len() < GROUP
            && let Ok(job) = jobs.try_recv()
        {
            group.push(job);
        }
        commit(connection, &mut level, group);
    }
    commit(connection, &mut level, later.take());
}

/// In one transaction, or in several where the database gives one up.
fn commit(connection: &Connection, level: &mut Durability, group: Vec<Box<dyn Job>>) {
    let derived = group.iter().all(|job| job.durability() == Durability::Normal);
    let wanted = if derived { Durability::Normal } else { Durability::Full };
    let mut waiting = group.into_iter();
    while waiting.len() > 0 {
        let mut settled = Vec::new();
        let ready = match *level == wanted {
            true => Ok(()),
            false => set_durability(connection, wanted).inspect(|()| *level = wanted),
        };
        let outcome = match ready {
            Ok(()) => transact(connection, &mut waiting, &mut settled),
            Err(error) => {
                settled.extend(&mut waiting);
                Err(error)
            }
        };
        for job in settled {
            job.reply(outcome.clone());
        }
    }
}

/// Works through the jobs in one transaction, to the end or until the database gives the whole
/// transaction up (as it may on a full disk); the jobs it took are settled by the outcome.
fn transact(
    connection: &Connection,
    waiting: &mut std::vec::IntoIter<Box<dyn Job>>,
    settled: &mut Vec<Box<dyn Job>>,
) -> Result<(), StoreError> {
    execute(connection, "BEGIN IMMEDIATE").inspect_err(|_| settled.extend(&mut *waiting))?;
    let several = waiting.len() > 1;
    for mut job in waiting {
        let outcome = if several { run_alone(connection, &mut *job) } else { job.run(connection) };
        settled.push(job);
        if connection.is_autocommit() {
            return Err(outcome.err().unwrap_or_else(stopped));
        }
        if !several && outcome.is_err() {
            return roll_back(connection);
        }
    }
    execute(connection, "COMMIT").or_else(|error| {
        roll_back(connection)?;
        Err(error)
    })
}

/// Within a savepoint: an error undoes this job and no other.
fn run_alone(connection: &Connection, job: &mut dyn Job) -> Result<(), StoreError> {
    execute(connection, "SAVEPOINT job")?;
    let outcome = job.run(connection);
    // The database may have given the whole transaction up, and the savepoint with it.
    if outcome.is_err() && !connection.is_autocommit() {
        execute(connection, "ROLLBACK TO job")?;
    }
    if !connection.is_autocommit() {
        execute(connection, "RELEASE job")?;
    }
    outcome
}

fn roll_back(connection: &Connection) -> Result<(), StoreError> {
    if connection.is_autocommit() { Ok(()) } else { execute(connection, "ROLLBACK") }
}

/// Prepared once: these run at every commit, and parsing them costs more than they do.
fn execute(connection: &Connection, statement: &str) -> Result<(), StoreError> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::{open_reader, open_writer};

    #[tokio::test]
    async fn what_is_derived_is_committed_without_a_sync_and_all_else_with_one() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open_writer(&folder.path().join("test.db"), Durability::Full).unwrap();
        let writer = Writer::start("test", connection).unwrap();
        let level = |connection: &Connection| -> Result<i64, StoreError> {
            Ok(connection.pragma_query_value(None, "synchronous", |row| row.get(0))?)
        };
        assert_eq!(writer.write(level).await.unwrap(), 2);
        assert_eq!(writer.write_derived(level).await.unwrap(), 1);
        assert_eq!(writer.write(level).await.unwrap(), 2);
    }

    fn notes(path: &std::path::Path) -> i64 {
        let reader = open_reader(path).unwrap();
        reader.query_row("SELECT count(*) FROM notes", [], |row| row.get(0)).unwrap()
    }

    fn note(connection: &Connection) -> Result<usize, StoreError> {
        Ok(connection.execute("INSERT INTO notes VALUES (1)", [])?)
    }

    async fn a_book(path: &std::path::Path) -> Writer {
        let connection = open_writer(path, Durability::Full).unwrap();
        let writer = Writer::start("test", connection).unwrap();
        let made = |connection: &Connection| -> Result<usize, StoreError> {
            Ok(connection.execute("CREATE TABLE notes (number INTEGER)", [])?)
        };
        writer.write(made).await.unwrap();
        writer
    }

    #[tokio::test]
    async fn what_can_wait_goes_with_the_next_commit_or_when_somebody_wants_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let writer = a_book(&path).await;
        let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..2 {
            let said = said.clone();
            writer.write_later(note, move |done| said.send(done.is_ok()).unwrap());
        }
        assert_eq!(notes(&path), 0, "nobody needs it yet");
        writer.settle().await.unwrap();
        assert_eq!(notes(&path), 2);
        assert_eq!((heard.recv().await, heard.recv().await), (Some(true), Some(true)));

        writer.write_later(note, |_| {});
        writer.write(note).await.unwrap();
        assert_eq!(notes(&path), 4);
    }

    #[tokio::test]
    async fn what_can_wait_is_committed_soon_by_itself_and_when_the_writer_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let writer = a_book(&path).await;
        let (said, heard) = oneshot::channel();
        writer.write_later(note, move |done| drop(said.send(done)));
        heard.await.unwrap().unwrap();
        assert_eq!(notes(&path), 1);

        writer.write_later(note, |_| {});
        drop(writer);
        assert_eq!(notes(&path), 2);
    }

    #[tokio::test]
    async fn what_could_wait_and_failed_takes_no_other_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let writer = a_book(&path).await;
        let (said, heard) = oneshot::channel();
        let refused = |_: &Connection| -> Result<(), StoreError> { Err(StoreError::NotFound) };
        writer.write_later(refused, move |done| drop(said.send(done)));
        writer.write(note).await.unwrap();
        assert!(matches!(heard.await.unwrap(), Err(StoreError::NotFound)));
        assert_eq!(notes(&path), 1);
    }
}
