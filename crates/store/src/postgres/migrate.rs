//! The schema and its migrations.

use super::{
    address::{Address, SCHEMA},
    failure::{cannot_connect, failed},
};
use crate::server_state::Migrated;
use agent::StoreError;
use tokio_postgres::{Client, GenericClient};

/// The migration to each schema version from the one before. A released step must never change, and
/// must leave a schema that the release before can use: nodes of both run at the same time. In
/// particular, `tokens` gets no further column: functions return it whole.
const MIGRATIONS: [&str; 7] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];
/// The schema version that this program creates.
pub(super) const NEWEST: i32 = MIGRATIONS.len() as i32;
/// The oldest schema version that this program can use.
pub(super) const OLDEST_SUPPORTED: i32 = 7;
/// The lock of migrations: `tiller` in ASCII.
const LOCK: i64 = 0x7469_6c6c_6572;

/// Creates the schema, or applies the missing steps, in one transaction. Concurrent migrations wait
/// for each other, and the second one finds it done.
pub(super) async fn migrate(address: &Address) -> Result<Migrated, StoreError> {
    let mut client = address.connect().await.map_err(|error| cannot_connect(&error))?;
    let work = async {
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        let from = version(&transaction).await?.unwrap_or_default();
        if from == 0 {
            transaction
                .batch_execute(&format!(
                    "CREATE SCHEMA IF NOT EXISTS {SCHEMA}; \
                     CREATE TABLE {SCHEMA}.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
                ))
                .await?;
        }
        transaction.batch_execute(&format!("SET LOCAL search_path = {SCHEMA}, pg_temp")).await?;
        let steps = (1..).zip(MIGRATIONS).skip(usize::try_from(from).unwrap_or_default());
        for (version, step) in steps {
            transaction.batch_execute(step).await?;
            transaction.execute("INSERT INTO migrations (version) VALUES ($1)", &[&version]).await?;
        }
        transaction.commit().await?;
        Ok(from)
    };
    let from = work.await.map_err(|error: tokio_postgres::Error| failed(&error))?;
    Ok(Migrated { from, to: from.max(NEWEST) })
}

/// Returns the schema version; `None` without our tables.
pub(super) async fn version(client: &impl GenericClient) -> Result<Option<i32>, tokio_postgres::Error> {
    let table = client.query_one("SELECT to_regclass('tiller.migrations') IS NOT NULL", &[]).await?;
    if !table.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    client.query_one("SELECT max(version) FROM tiller.migrations", &[]).await?.try_get(0)
}

/// Returns an error unless this program can use the schema.
pub(super) async fn check(client: &Client) -> Result<(), StoreError> {
    match version(client).await.map_err(|error| failed(&error))? {
        Some(OLDEST_SUPPORTED..=NEWEST) => Ok(()),
        None => Err(StoreError::Format(
            "the database has no sessions yet: create its tables with `tiller store migrate --store URL`"
                .to_owned(),
        )),
        Some(older) if older < OLDEST_SUPPORTED => Err(StoreError::Format(format!(
            "the session database has schema {older}, and this program needs {OLDEST_SUPPORTED} to {NEWEST}: run `tiller store migrate`"
        ))),
        Some(newer) if usable_by(client).await.map_err(|error| failed(&error))? <= NEWEST => {
            tracing::debug!("the session database has schema {newer}, which this program can use");
            Ok(())
        }
        Some(newer) => Err(StoreError::Format(format!(
            "the session database has schema {newer}, and this program supports {OLDEST_SUPPORTED} to {NEWEST}: upgrade it"
        ))),
    }
}

/// Returns the oldest program that can use a schema newer than [`NEWEST`].
async fn usable_by(client: &Client) -> Result<i32, tokio_postgres::Error> {
    client.query_one("SELECT max(usable_by) FROM tiller.migrations", &[]).await?.try_get(0)
}
