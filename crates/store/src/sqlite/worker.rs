//! A thread that owns a connection and works off a queue.

use crate::limits::{QUEUED_REQUESTS, WRITES_PER_COMMIT};
use agent::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// Sends requests to the thread. The thread ends when this is dropped and the queue is empty.
pub(super) struct Worker {
    queue: mpsc::Sender<Box<dyn Job>>,
}

/// When what a request wrote must have reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    /// Before it is answered: neither a kill nor a power cut takes it.
    Now,
    /// With the next request that must be. A kill does not take it, a power cut may.
    WithTheNext,
}

/// A request, from its work to its answer.
pub(super) trait Job: Send {
    /// When what it writes must have reached the disk.
    fn durable(&self) -> Durable;

    /// Does the work, once, and keeps what came of it. Returns whether it succeeded.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Answers with what came of the work, or with the error that made it void.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

impl Worker {
    /// Starts the thread. It calls `open` when the first request comes; if that fails, every request gets its error. `serve` gets the first
    /// requests that wait.
    pub(super) fn spawn(
        name: &str,
        open: impl FnOnce() -> Result<Connection, StoreError> + Send + 'static,
        serve: fn(&mut Connection, Vec<Box<dyn Job>>),
    ) -> Result<Self, StoreError> {
        let (queue, mut requests) = mpsc::channel::<Box<dyn Job>>(QUEUED_REQUESTS);
        let work = move || {
            let mut open = Some(open);
            let mut connection = Err(StoreError::Io("the database is not open".to_owned()));
            while let Some(first) = requests.blocking_recv() {
                if let Some(open) = open.take() {
                    connection = open();
                }
                let mut jobs = vec![first];
                while jobs.len() < WRITES_PER_COMMIT
                    && let Ok(job) = requests.try_recv()
                {
                    jobs.push(job);
                }
                match &mut connection {
                    Ok(connection) => serve(connection, jobs),
                    Err(error) => answer_all(jobs, &Err(error.clone())),
                }
            }
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(|error| StoreError::Io(format!("no thread for it: {error}")))?;
        Ok(Self { queue })
    }

    /// Has the work done on the thread; what it wrote is on disk then. Dropping the future does not undo it.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.call_durably(Durable::Now, work).await
    }

    /// Has the work done on the thread. Dropping the future does not undo it.
    pub(super) async fn call_durably<T: Send + 'static>(
        &self,
        durable: Durable,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = |_| StoreError::Io("its thread has ended; start the program again".to_owned());
        let request = Request { durable, work: Some(work), result: None, reply };
        self.queue.send(Box::new(request)).await.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))?
    }

    /// Makes the thread open its connection now and prepare it; nothing is written.
    pub(super) fn wake(&self, prepare: fn(&Connection) -> rusqlite::Result<()>) {
        let (reply, _) = oneshot::channel();
        let work = move |connection: &Connection| {
            if let Err(error) = prepare(connection) {
                tracing::debug!(%error, "the database could not be prepared; the first request will say more");
            }
            Err::<(), _>(StoreError::Io("nothing was asked".to_owned()))
        };
        // A full queue has woken it already.
        let request = Request { durable: Durable::WithTheNext, work: Some(work), result: None, reply };
        let _ = self.queue.try_send(Box::new(request));
    }
}

/// Does all the writes in one transaction, each in a savepoint of its own: one that is refused does not void the others.
pub(super) fn commit(connection: &mut Connection, mut jobs: Vec<Box<dyn Job>>) {
    let outcome = write(connection, &mut jobs).map_err(|error| super::database::failed(&error));
    answer_all(jobs, &outcome);
    // After the answers, so that nobody waits for it. A failure changes nothing that was acknowledged; the next write tries again.
    if let Err(error) = super::database::checkpoint(connection) {
        tracing::warn!(%error, "the write-ahead log could not be moved into the database");
    }
}

/// Does the reads one by one.
pub(super) fn answer(connection: &mut Connection, jobs: Vec<Box<dyn Job>>) {
    for mut job in jobs {
        job.run(connection);
        job.answer(Ok(()));
    }
}

fn write(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
    if jobs.iter().any(|job| job.durable() == Durable::Now) {
        return transact(connection, jobs);
    }
    // The log is written and not flushed; the next flush takes it along.
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    let written = transact(connection, jobs);
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    written
}

fn transact(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in jobs {
        let savepoint = transaction.savepoint()?;
        if job.run(&savepoint) {
            savepoint.commit()?;
        } else {
            savepoint.finish()?;
        }
    }
    transaction.commit()
}

fn answer_all(jobs: Vec<Box<dyn Job>>, outcome: &Result<(), StoreError>) {
    for job in jobs {
        job.answer(outcome.clone());
    }
}

struct Request<T, W> {
    durable: Durable,
    work: Option<W>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Job for Request<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn durable(&self) -> Durable {
        self.durable
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            self.result = Some(work(connection));
        }
        matches!(self.result, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (outcome, self.result) {
            // Its own refusal says more than that the commit it had no part in failed.
            (_, Some(Err(error))) | (Err(error), _) => Err(error),
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(StoreError::Io("the request was not served".to_owned())),
        };
        // Whoever asked may have stopped waiting.
        let _ = self.reply.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(connection: &Connection) -> Result<i64, StoreError> {
        connection
            .query_row("PRAGMA synchronous", [], |row| row.get(0))
            .map_err(|error| super::super::database::failed(&error))
    }

    /// 1 flushes with the next commit that does, 2 at each commit.
    #[tokio::test]
    async fn only_what_may_wait_for_the_next_flush_does() {
        let open = || {
            let connection =
                Connection::open_in_memory().map_err(|error| super::super::database::failed(&error))?;
            connection
                .execute_batch("PRAGMA synchronous = FULL")
                .map_err(|error| super::super::database::failed(&error))?;
            Ok(connection)
        };
        let worker = Worker::spawn("store-test", open, commit).unwrap();
        let refused = |_: &Connection| Err::<i64, _>(StoreError::Io("no".to_owned()));
        assert_eq!(worker.call(level).await, Ok(2));
        assert_eq!(worker.call_durably(Durable::WithTheNext, level).await, Ok(1));
        assert_eq!(worker.call(level).await, Ok(2));
        assert!(worker.call_durably(Durable::WithTheNext, refused).await.is_err());
        assert_eq!(worker.call(level).await, Ok(2), "also after one that failed");
        // Those that are written together are as durable as the one that must be.
        let (first, second) =
            futures::join!(worker.call_durably(Durable::WithTheNext, level), worker.call(level));
        assert!(matches!(first, Ok(1 | 2)) && second == Ok(2), "{first:?} {second:?}");
    }
}
