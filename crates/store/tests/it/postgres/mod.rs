//! The PostgreSQL store against its contract, a real server, and what can happen to it.

mod bytes;
mod isolation;
mod janitor;
mod kills;
mod many_copies;
mod migrations;
mod nodes;
mod outcomes;
mod passwords;
mod proxy;
mod races;
mod server;
mod transfer;

pub(crate) use server::Server;

use std::{cell::Cell, sync::Arc};
use store::{
    PostgresStore,
    contract::{self, Fixture},
};

/// Executes statements as the superuser.
async fn execute(url: &str, sql: &str) {
    let client = connect(url).await;
    client.batch_execute(sql).await.unwrap();
}

/// Connects as the superuser.
async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Creates a migrated database.
pub(crate) async fn database(server: &Server, name: &str) -> String {
    execute(&server.url("postgres"), &format!("CREATE DATABASE {name}")).await;
    let url = server.url(name);
    PostgresStore::migrate(&url).await.unwrap();
    url
}

#[tokio::test]
async fn the_postgres_store_keeps_the_contract() {
    let Some(server) = Server::start() else { return };
    database(&server, "template").await;
    let count = Cell::new(0);
    contract::check(|| {
        count.set(count.get() + 1);
        let url = server.url(&format!("case_{}", count.get()));
        let create = format!("CREATE DATABASE case_{} TEMPLATE template", count.get());
        let admin = server.url("postgres");
        async move {
            execute(&admin, &create).await;
            Fixture {
                store: Arc::new(PostgresStore::open(&url).await.unwrap()),
                other: Some(Arc::new(PostgresStore::open(&url).await.unwrap())),
            }
        }
    })
    .await;
}
