//! Transactions, each for one scope.

use super::{
    connections::Connections,
    failure::{failed, is_lost, unreachable},
    scope::Scope,
};
use crate::limits::{POSTGRES_RECONNECT, POSTGRES_RECONNECT_STEP};
use agent::StoreError;
use deadpool_postgres::{Object, PoolError};
use std::time::Instant;
use tokio_postgres::{Row, types::ToSql};

/// The parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// An open transaction. If it is dropped before its end, its connection is closed, and with it the
/// transaction: an operation that was cancelled in the middle leaves nothing for the next one.
pub(super) struct Transaction {
    connection: Option<Object>,
}

impl Transaction {
    /// Begins a transaction. Connections that the server closed meanwhile are replaced; a server
    /// that is just starting is waited for.
    pub(super) async fn begin(pool: &Connections, scope: &Scope) -> Result<Self, StoreError> {
        let begin = scope.begin();
        let started = Instant::now();
        loop {
            let connection = connect(pool, started).await?;
            match connection.batch_execute(&begin).await {
                Ok(()) => return Ok(Self { connection: Some(connection) }),
                Err(error) if is_lost(&error) && started.elapsed() < POSTGRES_RECONNECT => {
                    drop(Object::take(connection));
                }
                Err(error) => {
                    drop(Object::take(connection));
                    return Err(failed(&error));
                }
            }
        }
    }

    /// Returns all rows of a statement.
    pub(super) async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.try_query(sql, params).await.map_err(|error| failed(&error))
    }

    /// Returns all rows of a statement, or the server's own error.
    pub(super) async fn try_query(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let connection = self.connection.as_ref().expect("only the end takes it");
        let statement = connection.prepare_cached(sql).await?;
        connection.query(&statement, params).await
    }

    /// Returns the first row of a statement.
    pub(super) async fn first(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Executes a statement and returns how many rows it changed.
    pub(super) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, StoreError> {
        let connection = self.connection.as_ref().expect("only the end takes it");
        let execute = async {
            let statement = connection.prepare_cached(sql).await?;
            connection.execute(&statement, params).await
        };
        execute.await.map_err(|error| failed(&error))
    }

    /// Commits. After an error of a statement, nothing is committed.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        let connection = self.connection.take().expect("only the end takes it");
        let committed = connection.batch_execute("COMMIT").await;
        committed.map_err(|error| {
            drop(Object::take(connection));
            failed(&error)
        })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}

/// Returns a connection; tries again for a while if the server refuses because it is starting, or
/// the connection ends at once.
pub(super) async fn connect(pool: &Connections, started: Instant) -> Result<Object, StoreError> {
    loop {
        match pool.get().await {
            Ok(connection) => return Ok(connection),
            Err(PoolError::Backend(error)) if is_lost(&error) && started.elapsed() < POSTGRES_RECONNECT => {
                tokio::time::sleep(POSTGRES_RECONNECT_STEP).await;
            }
            Err(error) => return Err(unreachable(&error)),
        }
    }
}

/// Executes one statement in a transaction of its own, in one round trip. An error says whether the
/// statement may have taken effect.
pub(super) async fn pipelined(
    pool: &Connections,
    scope: &Scope,
    sql: &str,
    params: Params<'_>,
) -> Result<Option<Row>, (StoreError, bool)> {
    let connection = connect(pool, Instant::now()).await.map_err(|error| (error, false))?;
    // Until the end it is closed rather than reused.
    let mut guard = Transaction { connection: Some(connection) };
    let connection = guard.connection.as_ref().expect("it was just put there");
    let statement =
        connection.prepare_cached(sql).await.map_err(|error| (failed(&error), is_lost(&error)))?;
    let begin = scope.begin();
    // They are sent in this order before the first answer. If one fails, those after it do nothing.
    let (began, answer, committed) = futures::join!(
        connection.batch_execute(&begin),
        connection.query_opt(&statement, params),
        connection.batch_execute("COMMIT"),
    );
    began.map_err(|error| (failed(&error), is_lost(&error)))?;
    let row = answer.map_err(|error| (failed(&error), is_lost(&error)))?;
    committed.map_err(|error| (failed(&error), true))?;
    drop(guard.connection.take());
    Ok(row)
}
