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

/// A request, from its work to its answer.
pub(super) trait Job: Send {
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

    /// Has the work done on the thread. Dropping the future does not undo it.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = |_| StoreError::Io("its thread has ended; start the program again".to_owned());
        let request = Request { work: Some(work), result: None, reply };
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
        let _ = self.queue.try_send(Box::new(Request { work: Some(work), result: None, reply }));
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
    work: Option<W>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Job for Request<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
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
