//! A thread that owns a connection and processes a queue of requests.

use super::{
    connection,
    database::Database,
    failure::{failed, named},
    file_state::FileState,
    salvage,
};
use crate::limits::{QUEUED_REQUESTS, WRITES_PER_COMMIT};
use agent::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};
use tokio::sync::{mpsc, oneshot};

/// The sending end of a thread's queue. The thread ends once this is dropped and the queue is
/// empty.
pub(super) struct Worker {
    queue: mpsc::Sender<Box<dyn Job>>,
}

/// When a write must have reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Before it is acknowledged: it survives a kill and a power failure.
    Now,
    /// With the next write that is `Now`. Until then it survives a kill, but maybe not a power
    /// failure.
    WithNextFlush,
}

/// A request, from execution to response.
pub(super) trait Job: Send {
    /// Returns when its writes must have reached the disk.
    fn durable(&self) -> Durability;

    /// Executes the request, stores its result, and returns whether it succeeded. A second run
    /// replaces the result of the first.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Returns whether the request found the file damaged.
    fn found_damage(&self) -> bool;

    /// Sends the response for the file at `path`: the result of the request, or the error that made
    /// it void.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>, path: &Path);
}

/// How a thread opens its file and executes requests.
pub(super) trait Service: Send + 'static {
    /// Returns the path of the file.
    fn path(&self) -> &Path;

    /// Opens the file. `old` is the file that was open before, if another one has replaced it.
    fn open(&mut self, old: Option<Database>) -> Result<Database, StoreError>;

    /// Executes requests that were queued together.
    fn serve(&self, connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError>;

    /// Called after requests were acknowledged.
    fn after_requests(&mut self, _connection: &Connection) {}

    /// Runs a step of background work while the queue is empty. Returns whether more is left.
    fn run_idle_work(&mut self, _connection: &mut Connection) -> bool {
        false
    }
}

impl Worker {
    /// Starts the thread, which opens its file at the first request. If opening fails, the queued
    /// requests get the error, and the next ones retry.
    pub(super) fn spawn(name: &str, service: impl Service) -> Result<Self, StoreError> {
        let (queue, requests) = mpsc::channel::<Box<dyn Job>>(QUEUED_REQUESTS);
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || Thread { service, database: None, requests, recovered: false }.run())
            .map_err(|error| {
                StoreError::Io(format!(
                    "its thread cannot be started: {error}; end other programs and try again"
                ))
            })?;
        Ok(Self { queue })
    }

    /// Runs the work on the thread and returns after its writes are on disk. Dropping the future
    /// does not cancel it.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call_with(Durability::Now, work).await
    }

    /// Runs the work on the thread. Dropping the future does not cancel it.
    pub(super) async fn call_with<T: Send + 'static>(
        &self,
        durable: Durability,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = |_| StoreError::Io("its thread has ended; restart the program".to_owned());
        let request = Request { durable, work, result: None, reply };
        self.queue.send(Box::new(request)).await.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))?
    }

    /// Makes the thread open and prepare its connection early; nothing is written.
    pub(super) fn prepare_early(&self, prepare: fn(&Connection) -> rusqlite::Result<()>) {
        let (reply, _) = oneshot::channel();
        let work = move |connection: &Connection| {
            if let Err(error) = prepare(connection) {
                tracing::debug!(%error, "the statements could not be prepared; the first request reports the error");
            }
            Err::<(), _>(StoreError::Io("no result is expected".to_owned()))
        };
        // If the queue is full, the thread is awake already.
        let request = Request { durable: Durability::WithNextFlush, work, result: None, reply };
        let _ = self.queue.try_send(Box::new(request));
    }
}

struct Thread<S> {
    service: S,
    database: Option<Database>,
    requests: mpsc::Receiver<Box<dyn Job>>,
    /// Whether this thread has just replaced the open file by a repaired one.
    recovered: bool,
}

impl<S: Service> Thread<S> {
    fn run(mut self) {
        let mut more = false;
        while let Some(first) = self.next(&mut more) {
            let mut jobs = vec![first];
            while jobs.len() < WRITES_PER_COMMIT
                && let Ok(job) = self.requests.try_recv()
            {
                jobs.push(job);
            }
            // Background work starts after a durable write only, so that a process that just
            // answers a query is not delayed.
            more |= jobs.iter().any(|job| job.durable() == Durability::Now);
            let served = catch_unwind(AssertUnwindSafe(|| self.serve(&mut jobs)));
            let outcome = served.unwrap_or_else(|_panic| {
                // Dropping the connection rolls back the interrupted work.
                self.database = None;
                Err(StoreError::Io("a request to the session database panicked; try again".to_owned()))
            });
            let path = self.service.path();
            let outcome = outcome.map_err(|error| named(error, path));
            jobs.into_iter().for_each(|job| job.answer(outcome.clone(), path));
            if let Some(database) = &self.database {
                self.service.after_requests(&database.connection);
            }
        }
    }

    /// Returns the next request; runs background work until there is one.
    fn next(&mut self, more: &mut bool) -> Option<Box<dyn Job>> {
        while *more {
            match self.requests.try_recv() {
                Ok(job) => return Some(job),
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
                Err(mpsc::error::TryRecvError::Empty) => {}
            }
            *more = match &mut self.database {
                Some(database) => self.service.run_idle_work(&mut database.connection),
                None => false,
            };
        }
        self.requests.blocking_recv()
    }

    /// Executes requests. If the file is damaged or was replaced, executes them a second time on
    /// the recovered or new file.
    fn serve(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let mut again = true;
        loop {
            let mut database = self.opened()?;
            let outcome = self.service.serve(&mut database.connection, jobs);
            let damaged =
                matches!(outcome, Err(StoreError::Damaged(_))) || jobs.iter().any(|job| job.found_damage());
            let file_state = database.file_state();
            if file_state == FileState::Kept && !damaged || !again {
                self.database = Some(database);
                // What was written to a file that is gone must not be acknowledged.
                return if file_state == FileState::Moved {
                    Err(keeps_being_replaced(self.service.path()))
                } else {
                    outcome
                };
            }
            again = false;
            self.database = Some(database);
            if file_state != FileState::Moved {
                self.recover()?;
            }
        }
    }

    /// Returns the file that is at the path now, opened.
    fn opened(&mut self) -> Result<Database, StoreError> {
        if let Some(database) = self.database.take_if(|database| database.file_state() == FileState::Kept) {
            return Ok(database);
        }
        if self.database.as_ref().is_some_and(|database| database.file_state() == FileState::Emptied) {
            self.recover()?;
        }
        let old = self.database.take();
        if let Some(old) = &old {
            old.preserve_log()?;
            if !std::mem::take(&mut self.recovered) {
                tracing::warn!(
                    "{} was deleted, moved or replaced while it was in use; the file that is at its path now is opened instead",
                    self.service.path().display()
                );
            }
        }
        self.service.open(old)
    }

    /// Salvages what can be read of the damaged file.
    fn recover(&mut self) -> Result<(), StoreError> {
        let identity = self.database.as_ref().map(Database::identity);
        self.recovered |= salvage::recover(self.service.path(), identity)?.is_some();
        Ok(())
    }
}

fn keeps_being_replaced(path: &Path) -> StoreError {
    StoreError::Io(format!(
        "{} was replaced repeatedly while it was being written, and nothing was stored; stop the program that replaces it, and try again",
        path.display()
    ))
}

/// Executes all writes in one transaction, each in a savepoint of its own, so that a failed write
/// does not void the others.
pub(super) fn commit(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    if jobs.iter().any(|job| job.durable() == Durability::Now) {
        return transact(connection, jobs);
    }
    // The log is written but not flushed; the next flush covers it.
    let set =
        |connection: &Connection, level| connection.execute_batch(level).map_err(|error| failed(&error));
    set(connection, "PRAGMA synchronous = NORMAL")?;
    let written = transact(connection, jobs);
    set(connection, "PRAGMA synchronous = FULL")?;
    written
}

fn transact(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    write(connection, jobs).unwrap_or_else(|error| Err(failed(&error)))
}

/// Executes the writes. The inner error is damage found by a request: nothing is committed then.
fn write(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> rusqlite::Result<Result<(), StoreError>> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in jobs {
        let savepoint = transaction.savepoint()?;
        if job.run(&savepoint) {
            savepoint.commit()?;
        } else if job.found_damage() {
            return Ok(Err(StoreError::Damaged("the session database is damaged; try again".to_owned())));
        } else {
            savepoint.finish()?;
        }
    }
    transaction.commit()?;
    Ok(Ok(()))
}

/// Checkpoints the write-ahead log if it is long. A failure affects nothing that was acknowledged;
/// the next write retries.
pub(super) fn checkpoint_if_long(connection: &Connection) {
    if let Err(error) = connection::checkpoint(connection) {
        tracing::warn!(%error, "the write-ahead log could not be moved into the database");
    }
}

/// Executes the reads in order.
pub(super) fn read(connection: &Connection, jobs: &mut [Box<dyn Job>]) {
    for job in jobs {
        job.run(connection);
    }
}

struct Request<T, W> {
    durable: Durability,
    work: W,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Job for Request<T, W>
where
    T: Send,
    W: FnMut(&Connection) -> Result<T, StoreError> + Send,
{
    fn durable(&self) -> Durability {
        self.durable
    }

    fn run(&mut self, connection: &Connection) -> bool {
        self.result = Some((self.work)(connection));
        matches!(self.result, Some(Ok(_)))
    }

    fn found_damage(&self) -> bool {
        matches!(self.result, Some(Err(StoreError::Damaged(_))))
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>, path: &Path) {
        let Self { work, result, reply, .. } = *self;
        // Drop the work first: it may hold references to the store's parts, and the caller may drop
        // the store after the response.
        drop(work);
        let answer = match (outcome, result) {
            // The request's own error is more specific than the error of the shared commit.
            (_, Some(Err(error))) | (Err(error), _) => Err(named(error, path)),
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(StoreError::Io("the request was not executed".to_owned())),
        };
        // The caller may have stopped waiting.
        let _ = reply.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::super::database;
    use super::*;

    fn level(connection: &Connection) -> Result<i64, StoreError> {
        connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(|error| failed(&error))
    }

    /// A service that writes like the store.
    struct Writes(std::path::PathBuf);

    impl Service for Writes {
        fn path(&self) -> &Path {
            &self.0
        }

        fn open(&mut self, _old: Option<Database>) -> Result<Database, StoreError> {
            database::open(&self.0)
        }

        fn serve(&self, connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
            commit(connection, jobs)
        }
    }

    #[tokio::test]
    async fn a_panic_in_one_request_does_not_end_the_others() {
        let directory = tempfile::TempDir::new().unwrap();
        let worker = Worker::spawn("store-test", Writes(directory.path().join("sessions.db"))).unwrap();
        let broken = worker.call(|_| -> Result<i64, StoreError> { panic!("as the test wanted") }).await;
        assert!(matches!(&broken, Err(StoreError::Io(text)) if text.contains("try again")), "{broken:?}");
        assert_eq!(worker.call(level).await, Ok(2));
    }

    /// The level is 1 if a commit is not flushed, 2 if it is.
    #[tokio::test]
    async fn only_requests_that_allow_it_wait_for_the_next_flush() {
        let directory = tempfile::TempDir::new().unwrap();
        let worker = Worker::spawn("store-test", Writes(directory.path().join("sessions.db"))).unwrap();
        let refused = |_: &Connection| Err::<i64, _>(StoreError::Io("no".to_owned()));
        assert_eq!(worker.call(level).await, Ok(2));
        assert_eq!(worker.call_with(Durability::WithNextFlush, level).await, Ok(1));
        assert_eq!(worker.call(level).await, Ok(2));
        assert!(worker.call_with(Durability::WithNextFlush, refused).await.is_err());
        assert_eq!(worker.call(level).await, Ok(2), "also after one that failed");
        // Requests in one commit are as durable as the most demanding one.
        let (first, second) =
            futures::join!(worker.call_with(Durability::WithNextFlush, level), worker.call(level));
        assert!(matches!(first, Ok(1 | 2)) && second == Ok(2), "{first:?} {second:?}");
    }
}
