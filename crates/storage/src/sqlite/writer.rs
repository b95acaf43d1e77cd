use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::blocking::{lock, may_wait_here};

use super::connection::{Durability, set_durability};

/// The most requests that share one commit, so that the first of them does not wait long.
const GROUP: usize = 256;

/// Performs all writes, one transaction after the other. All requests that were queued while the
/// disk was busy share one transaction, so they share the cost of a sync. A caller that may wait
/// for the disk on its own thread writes for everybody who queues; the writer's thread does it for
/// callers that may not.
#[derive(Debug)]
pub(crate) struct Writer {
    state: Arc<WriterState>,
    thread: Option<JoinHandle<()>>,
}

struct WriterState {
    queue: Mutex<Queue>,
    /// Notified when a caller has queued that cannot wait on its own thread.
    came: Condvar,
    pen: Mutex<WriteConnection>,
}

#[derive(Default)]
struct Queue {
    /// There are never more requests than callers that wait for them.
    requests: VecDeque<Box<dyn QueuedRequest>>,
    closed: bool,
}

/// The connection and its durability. Whoever holds the lock on it writes.
struct WriteConnection {
    connection: Connection,
    level: Durability,
}

impl std::fmt::Debug for WriterState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterState").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the writer. Commits of the connection must be durable.
    pub(crate) fn start(name: &str, connection: Connection) -> Result<Self, StoreError> {
        let state = Arc::new(WriterState {
            queue: Mutex::default(),
            came: Condvar::new(),
            pen: Mutex::new(WriteConnection { connection, level: Durability::Full }),
        });
        let served = Arc::clone(&state);
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(move || served.serve())?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Runs the work inside a transaction and returns once it is durable. An error undoes only this
    /// work, not that of others in the same commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(Durability::Full, work).await
    }

    /// Does what `write` does, for data that is durable elsewhere already: the commit survives the
    /// end of the process, but perhaps not a loss of power.
    pub(crate) async fn write_derived<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(Durability::Normal, work).await
    }

    async fn queue<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let request = Request { durability, state: Some(State::Waiting(work)), sender };
        lock(&self.state.queue).requests.push_back(Box::new(request));
        if may_wait_here() {
            self.state.write_until(|| !receiver.is_empty());
        } else {
            self.state.came.notify_one();
        }
        receiver.await.map_err(|_| stopped())?
    }
}

fn stopped() -> StoreError {
    StoreError::Failed("the database writer has stopped".to_owned())
}

impl Drop for Writer {
    /// Waits until everything in the queue is written, so that the next process to open the
    /// database finds it complete.
    fn drop(&mut self) {
        lock(&self.state.queue).closed = true;
        self.state.came.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the database writer panicked");
        }
    }
}

impl WriterState {
    /// Writes for callers that cannot wait on their own threads, until the queue is closed and
    /// empty.
    fn serve(&self) {
        loop {
            {
                let none = |queue: &mut Queue| queue.requests.is_empty() && !queue.closed;
                let waited = self.came.wait_while(lock(&self.queue), none);
                if waited.unwrap_or_else(PoisonError::into_inner).requests.is_empty() {
                    return;
                }
            }
            self.write_group(&mut lock(&self.pen));
        }
    }

    /// Writes what is queued until the caller has its answer, either from this thread or from the
    /// one that wrote before.
    fn write_until(&self, answered: impl Fn() -> bool) {
        loop {
            let mut pen = lock(&self.pen);
            // If nothing is queued and there is no answer, the thread that wrote for this caller
            // has panicked.
            if answered() || !self.write_group(&mut pen) {
                return;
            }
        }
    }

    /// Writes one group of requests. `false`: nothing was queued.
    fn write_group(&self, pen: &mut WriteConnection) -> bool {
        let group: Vec<_> = {
            let mut queue = lock(&self.queue);
            let most = queue.requests.len().min(GROUP);
            queue.requests.drain(..most).collect()
        };
        let any = !group.is_empty();
        if any {
            pen.write(group);
        }
        any
    }
}

impl WriteConnection {
    fn write(&mut self, group: Vec<Box<dyn QueuedRequest>>) {
        let derived = group.iter().all(|request| request.durability() == Durability::Normal);
        let wanted = if derived { Durability::Normal } else { Durability::Full };
        let mut waiting = group.into_iter();
        while waiting.len() > 0 {
            let mut settled = Vec::new();
            let outcome = match self.set_level(wanted) {
                Ok(()) => transact(&self.connection, &mut waiting, &mut settled),
                Err(error) => {
                    settled.extend(&mut waiting);
                    Err(error)
                }
            };
            for request in settled {
                request.reply(outcome.clone());
            }
        }
    }

    fn set_level(&mut self, wanted: Durability) -> Result<(), StoreError> {
        if self.level != wanted {
            set_durability(&self.connection, wanted)?;
            self.level = wanted;
        }
        Ok(())
    }
}

/// A request without its types, so that many kinds can share a queue.
trait QueuedRequest: Send {
    fn durability(&self) -> Durability;

    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Sends the caller its result. `shared` is the outcome of the whole transaction.
    fn reply(self: Box<Self>, shared: Result<(), StoreError>);
}

struct Request<T, F> {
    durability: Durability,
    state: Option<State<T, F>>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

enum State<T, F> {
    Waiting(F),
    Ran(Result<T, StoreError>),
}

impl<T, F> QueuedRequest for Request<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
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
        // Sending fails only if the caller has gone away, and then nobody needs the result.
        drop(self.sender.send(result));
    }
}

/// Runs the requests in one transaction, to the end or until the database gives up the whole
/// transaction (as it may on a full disk). The requests that it ran are added to `settled`, to be
/// answered with the outcome.
fn transact(
    connection: &Connection,
    waiting: &mut std::vec::IntoIter<Box<dyn QueuedRequest>>,
    settled: &mut Vec<Box<dyn QueuedRequest>>,
) -> Result<(), StoreError> {
    // A transaction is open here only if an earlier request panicked.
    roll_back(connection)
        .and_then(|()| execute(connection, "BEGIN IMMEDIATE"))
        .inspect_err(|_| settled.extend(&mut *waiting))?;
    let several = waiting.len() > 1;
    for mut request in waiting {
        let outcome =
            if several { run_alone(connection, &mut *request) } else { request.run(connection) };
        settled.push(request);
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

/// Runs the request within a savepoint, so that an error undoes this request and no other.
fn run_alone(connection: &Connection, request: &mut dyn QueuedRequest) -> Result<(), StoreError> {
    execute(connection, "SAVEPOINT request")?;
    let outcome = request.run(connection);
    // The database may have given up the whole transaction, and the savepoint with it.
    if outcome.is_err() && !connection.is_autocommit() {
        execute(connection, "ROLLBACK TO request")?;
    }
    if !connection.is_autocommit() {
        execute(connection, "RELEASE request")?;
    }
    outcome
}

fn roll_back(connection: &Connection) -> Result<(), StoreError> {
    if connection.is_autocommit() { Ok(()) } else { execute(connection, "ROLLBACK") }
}

/// Executes a cached statement. These statements run at every commit, and parsing them costs more
/// than running them.
fn execute(connection: &Connection, statement: &str) -> Result<(), StoreError> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::{Blocking, Steps};
    use crate::sqlite::connection::open_writer;

    fn started() -> (tempfile::TempDir, Writer) {
        let folder = tempfile::tempdir().unwrap();
        let connection = open_writer(&folder.path().join("test.db"), Durability::Full).unwrap();
        connection.execute("CREATE TABLE notes (text TEXT UNIQUE NOT NULL)", []).unwrap();
        (folder, Writer::start("test", connection).unwrap())
    }

    fn note(text: String) -> impl FnOnce(&Connection) -> Result<(), StoreError> + Send {
        move |connection| {
            Ok(connection.execute("INSERT INTO notes VALUES (?1)", [text]).map(drop)?)
        }
    }

    fn notes(connection: &Connection) -> Result<i64, StoreError> {
        Ok(connection.query_row("SELECT count(*) FROM notes", [], |row| row.get(0))?)
    }

    #[tokio::test]
    async fn those_who_wait_where_they_are_and_those_who_do_not_all_get_their_own_answer() {
        let (_folder, writer) = started();
        let (writer, steps) = (Arc::new(writer), Steps::on_one_thread(Blocking::new()));
        let mut asked = tokio::task::JoinSet::new();
        for index in 0..400 {
            let (writer, steps) = (Arc::clone(&writer), steps.clone());
            // Each text is written twice, so exactly one of the two must be refused.
            let write = async move { writer.write(note((index / 2).to_string())).await.is_ok() };
            asked.spawn(async move {
                if index % 3 == 0 { write.await } else { steps.follow(write).await }
            });
        }
        let written = asked.join_all().await.into_iter().filter(|written| *written).count();
        assert_eq!(written, 200);
        assert_eq!(writer.write(notes).await.unwrap(), 200);
    }

    #[tokio::test]
    async fn work_that_panics_is_taken_back_and_the_next_is_written() {
        let (_folder, writer) = started();
        let (writer, steps) = (Arc::new(writer), Steps::on_one_thread(Blocking::new()));
        let broken = {
            let writer = Arc::clone(&writer);
            let work = move |connection: &Connection| -> Result<(), StoreError> {
                note("lost".to_owned())(connection)?;
                panic!("on purpose")
            };
            tokio::spawn(async move { steps.follow(async move { writer.write(work).await }).await })
        };
        assert!(broken.await.unwrap_err().is_panic());
        assert_eq!(writer.write(notes).await.unwrap(), 0);
        writer.write(note("kept".to_owned())).await.unwrap();
        assert_eq!(writer.write(notes).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn what_is_derived_is_committed_without_a_sync_and_all_else_with_one() {
        let (_folder, writer) = started();
        let level = |connection: &Connection| -> Result<i64, StoreError> {
            Ok(connection.pragma_query_value(None, "synchronous", |row| row.get(0))?)
        };
        assert_eq!(writer.write(level).await.unwrap(), 2);
        assert_eq!(writer.write_derived(level).await.unwrap(), 1);
        assert_eq!(writer.write(level).await.unwrap(), 2);
    }
}
