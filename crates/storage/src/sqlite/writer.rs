use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;

use super::connection::{Durability, set_durability};

/// Requests that may wait; beyond it callers wait for a place.
const QUEUE: usize = 1024;
/// The most requests that share one commit, so that the first of them does not wait for long.
const GROUP: usize = 256;

/// One thread that does all writing. Whatever has queued up while the disk was busy goes into one
/// transaction: the cost of a sync is shared by all who wait for it.
#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` only while it is being dropped.
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// The connection's commits are durable.
    pub(crate) fn start(name: &str, connection: Connection) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || serve(&connection, Durability::Full, jobs))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
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

    async fn queue<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let request = Request { durability, state: Some(State::Waiting(work)), sender };
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(Box::new(request)).await.map_err(|_| stopped())?;
        receiver.await.map_err(|_| stopped())?
    }
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

struct Request<T, F> {
    durability: Durability,
    state: Option<State<T, F>>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

enum State<T, F> {
    Waiting(F),
    Ran(Result<T, StoreError>),
}

impl<T, F> Job for Request<T, F>
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
        // A caller that went away does not need to know.
        drop(self.sender.send(result));
    }
}

/// `level` is the connection's when it begins.
fn serve(connection: &Connection, mut level: Durability, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP
            && let Ok(job) = jobs.try_recv()
        {
            group.push(job);
        }
        let derived = group.iter().all(|job| job.durability() == Durability::Normal);
        let wanted = if derived { Durability::Normal } else { Durability::Full };
        let mut waiting = group.into_iter();
        while waiting.len() > 0 {
            let mut settled = Vec::new();
            let ready = match level == wanted {
                true => Ok(()),
                false => set_durability(connection, wanted).inspect(|()| level = wanted),
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
    use crate::sqlite::connection::open_writer;

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
}
