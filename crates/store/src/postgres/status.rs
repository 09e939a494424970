//! What is checked of a database, and reported.

use super::{
    address::Address,
    failure::{cannot_connect, failed},
    migrate,
};
use crate::server_state::{NodeState, ServerStatus, Setting};
use agent::StoreError;
use tokio_postgres::Client;

/// The oldest supported version of PostgreSQL.
const OLDEST_SERVER: i32 = 15;

/// Returns the settings that decide whether what was acknowledged is on disk.
pub(super) async fn settings(client: &Client) -> Result<Vec<Setting>, tokio_postgres::Error> {
    let rows = client
        .query(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', \
             'synchronous_standby_names', 'statement_timeout', 'idle_in_transaction_session_timeout') ORDER BY name",
            &[],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| {
            let (name, value): (String, String) = (row.get(0), row.get(1));
            let problem = problem(&name, &value).map(str::to_owned);
            Setting { name, value, problem }
        })
        .collect())
}

fn problem(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("synchronous_commit", "off") => {
            Some("what was acknowledged may be lost: set synchronous_commit to on for this database")
        }
        ("fsync", "off") => Some("a crash may damage everything: set fsync to on and restart the server"),
        ("full_page_writes", "off") => Some("a crash may damage pages: set full_page_writes to on"),
        _ => None,
    }
}

/// Returns an error unless acknowledged events are on disk, and the server is new enough.
pub(super) async fn check(client: &Client) -> Result<(), StoreError> {
    let sql = |error: tokio_postgres::Error| failed(&error);
    if let Some(problem) = server_problem(client).await.map_err(sql)? {
        return Err(StoreError::Format(problem));
    }
    for setting in settings(client).await.map_err(sql)? {
        match setting.problem {
            Some(problem) if setting.name == "synchronous_commit" => return Err(StoreError::Format(problem)),
            Some(problem) => {
                tracing::warn!("the session database has {} = {}: {problem}", setting.name, setting.value)
            }
            None => {}
        }
    }
    Ok(())
}

async fn server_problem(client: &Client) -> Result<Option<String>, tokio_postgres::Error> {
    let row = client.query_one("SELECT current_setting('server_version_num')::int / 10000", &[]).await?;
    let version: i32 = row.try_get(0)?;
    Ok((version < OLDEST_SERVER).then(|| {
        format!("the session database is on PostgreSQL {version}, and {OLDEST_SERVER} or newer is needed: upgrade the server")
    }))
}

/// Collects the state of a database, as the user of the URL.
pub(super) async fn status(address: &Address) -> Result<ServerStatus, StoreError> {
    let client = address.connect_as_programs_do().await.map_err(|error| cannot_connect(&error))?;
    let work = async {
        let server: String =
            client.query_one("SELECT current_setting('server_version')", &[]).await?.try_get(0)?;
        let schema = migrate::version(&client).await?;
        let mut settings = settings(&client).await?;
        let of_connections = address.settings_of_connections();
        settings.extend(of_connections.map(|(name, value)| Setting { name, value, problem: None }));
        let mut problems: Vec<String> = server_problem(&client).await?.into_iter().collect();
        problems.extend(settings.iter().filter_map(|setting| setting.problem.clone()));
        let mut nodes = Vec::new();
        if schema.is_some() {
            let rows = client
                .query(
                    "SELECT format('process %s on %s, version %s', pid, host, version) FROM tiller.nodes \
                     WHERE expires_at > clock_timestamp() ORDER BY id",
                    &[],
                )
                .await?;
            nodes = rows.iter().map(|row| row.get(0)).collect();
        }
        Ok((server, schema, settings, nodes, problems))
    };
    let (server, schema, settings, nodes, mut problems) =
        work.await.map_err(|error: tokio_postgres::Error| failed(&error))?;
    if let Err(error) = migrate::check(&client).await {
        problems.push(error.to_string());
    }
    let supported = (migrate::OLDEST_SUPPORTED, migrate::NEWEST);
    Ok(ServerStatus { server, schema, supported, settings, nodes, problems })
}

/// Returns the processes that are registered and alive, oldest first.
pub(super) async fn nodes(address: &Address) -> Result<Vec<NodeState>, StoreError> {
    let client = address.connect().await.map_err(|error| cannot_connect(&error))?;
    migrate::check(&client).await?;
    let rows = client
        .query(
            "SELECT id::text, host, pid, version, address, draining, \
             (extract(epoch FROM expires_at) * 1000)::bigint FROM tiller.nodes \
             WHERE expires_at > clock_timestamp() ORDER BY id",
            &[],
        )
        .await
        .map_err(|error| failed(&error))?;
    let node = |row: &tokio_postgres::Row| NodeState {
        id: row.get(0),
        host: row.get(1),
        pid: u32::try_from(row.get::<_, i64>(2)).unwrap_or_default(),
        version: row.get(3),
        address: row.get(4),
        is_draining: row.get(5),
        expires: row.get(6),
    };
    Ok(rows.iter().map(node).collect())
}
