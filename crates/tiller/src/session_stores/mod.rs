//! `tiller store`: the state of a session store; `tiller sessions migrate`: copies between two.

mod address;
mod migrate;

pub(crate) use address::Addresses;
pub(crate) use migrate::{TransferReport, run as migrate};

use crate::{
    answer::{Answer, Console},
    args::StoreCommand,
    directories::sessions_file,
    exit::Exit,
};
use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use store::{CheckDepth, Database, SqliteStore, StoreAddress, server, transfer};

/// The result of a migration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoreMigration {
    /// The store.
    store: String,
    /// The schema version before; 0 for a new database.
    from: i32,
    /// The schema version now.
    to: i32,
}

/// The state of a store.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoreStatus {
    /// The store.
    store: String,
    /// The version of the database server.
    server: Option<String>,
    /// The schema version; none before the first migration.
    schema: Option<i32>,
    /// The number of sessions, for a file.
    sessions: Option<u64>,
    /// The settings of the server that matter for durability.
    settings: Vec<SettingRow>,
    /// The processes that are registered and alive.
    nodes: Vec<String>,
    /// What keeps this program from using it.
    problems: Vec<String>,
}

/// A setting of a database server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingRow {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
    /// What is wrong with it.
    problem: Option<String>,
}

/// What reading every row found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Verification {
    /// The store.
    store: String,
    /// The number of sessions.
    sessions: u64,
    /// Sessions with problems.
    unsound: Vec<UnsoundRow>,
}

/// A session with problems.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnsoundRow {
    /// The session.
    session_id: String,
    /// What is wrong with it.
    problems: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run(console: &Console, addresses: &Addresses<'_>, command: StoreCommand) -> Result<Exit> {
    let own = || StoreAddress::Sqlite(sessions_file(&addresses.directories.data).as_std().to_owned());
    let address = async |args| Ok::<_, anyhow::Error>(addresses.of(args).await?.unwrap_or_else(own));
    match command {
        StoreCommand::Migrate(args) => migrate_schema(console, &address(args).await?).await,
        StoreCommand::Status(args) => status(console, &address(args).await?).await,
        StoreCommand::Verify(args) => verify(console, &address(args).await?).await,
    }
}

/// Creates the tables of a store, or brings those of an older program up to date.
pub(crate) async fn migrate_store(address: &StoreAddress) -> Result<server::Migrated> {
    match address {
        StoreAddress::Postgres(url) => Ok(server::migrate(url).await?),
        StoreAddress::Sqlite(path) => Ok(SqliteStore::migrate(path)?),
    }
}

async fn migrate_schema(console: &Console, address: &StoreAddress) -> Result<Exit> {
    let migrated = migrate_store(address).await?;
    let text = match (migrated.from, migrated.to) {
        (0, to) => format!("{address}: created the tables, schema {to}\n"),
        (from, to) if from == to => format!("{address}: schema {to} is up to date\n"),
        (from, to) => format!("{address}: migrated from schema {from} to {to}\n"),
    };
    let migration = StoreMigration { store: address.to_string(), from: migrated.from, to: migrated.to };
    console.print(Answer::new(migration, text))
}

async fn status(console: &Console, address: &StoreAddress) -> Result<Exit> {
    let status = match address {
        StoreAddress::Postgres(url) => {
            let found = server::status(url).await?;
            let row = |setting: server::Setting| {
                let server::Setting { name, value, problem } = setting;
                SettingRow { name, value, problem }
            };
            StoreStatus {
                store: address.to_string(),
                server: Some(found.server),
                schema: found.schema,
                sessions: None,
                settings: found.settings.into_iter().map(row).collect(),
                nodes: found.nodes,
                problems: found.problems,
            }
        }
        StoreAddress::Sqlite(path) => {
            let Some(found) = store::examine(path, CheckDepth::Quick)? else {
                bail!("{address} does not exist yet; the first session creates it");
            };
            StoreStatus {
                store: address.to_string(),
                server: None,
                schema: found.schema,
                sessions: Some(found.sessions),
                settings: Vec::new(),
                nodes: Vec::new(),
                problems: found.problems,
            }
        }
    };
    let is_bad = !status.problems.is_empty();
    let text = status.text();
    console.print(Answer::new(status, text).failed_if(is_bad, "the session store has problems"))
}

impl StoreStatus {
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.store);
        if let Some(server) = &self.server {
            let _ = writeln!(text, "  PostgreSQL {server}");
        }
        if let Some(schema) = self.schema {
            let _ = writeln!(text, "  schema {schema}");
        }
        if let Some(sessions) = self.sessions {
            let _ = writeln!(text, "  {sessions} sessions");
        }
        for SettingRow { name, value, .. } in &self.settings {
            let _ = writeln!(text, "  {name} = {value}");
        }
        for node in &self.nodes {
            let _ = writeln!(text, "  {node}");
        }
        for problem in &self.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        text
    }
}

async fn verify(console: &Console, address: &StoreAddress) -> Result<Exit> {
    existing(address)?;
    let database = Database::open(address).await?;
    let (sessions, found) = transfer::verify(&database).await?;
    let mut text = format!("{address}: {sessions} sessions, {} with problems\n", found.len());
    for unsound in &found {
        for problem in &unsound.problems {
            let _ = writeln!(text, "{}: {problem}", unsound.session);
        }
    }
    let is_bad = !found.is_empty();
    let unsound = found
        .into_iter()
        .map(|found| UnsoundRow { session_id: found.session.to_string(), problems: found.problems })
        .collect();
    let answer = Answer::new(Verification { store: address.to_string(), sessions, unsound }, text);
    console.print(answer.failed_if(is_bad, "the session store has problems"))
}

/// Refuses a file that does not exist: opening it would create it.
fn existing(address: &StoreAddress) -> Result<()> {
    match address {
        StoreAddress::Sqlite(path) if store::examine(path, CheckDepth::Quick)?.is_none() => {
            bail!("{address} does not exist; name the file of the sessions")
        }
        _ => Ok(()),
    }
}
