//! Migrations, and what is refused.

use super::{Server, connect, database, execute};
use crate::{session, user_message};
use agent::{SessionStore as _, StoreError};
use futures::future::join_all;
use store::{PostgresStore, server::Migrated};

#[tokio::test]
async fn migrations_are_repeated_and_run_concurrently() {
    let Some(server) = Server::start() else { return };
    execute(&server.url("postgres"), "CREATE DATABASE fresh").await;
    let url = server.url("fresh");
    let refused = PostgresStore::open(&url).await.err().unwrap().to_string();
    assert!(refused.contains("tiller store migrate"), "{refused}");
    let status = PostgresStore::status(&url).await.unwrap();
    assert_eq!((status.schema, status.problems.len()), (None, 1), "{status:?}");
    let newest = status.supported.1;

    let all = join_all((0..4).map(|_| PostgresStore::migrate(&url))).await;
    let mut from: Vec<i32> = all.into_iter().map(|migrated| migrated.unwrap().from).collect();
    from.sort_unstable();
    assert_eq!(from, [0, newest, newest, newest], "one creates the tables, the others find them");

    let store = PostgresStore::open(&url).await.unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![user_message("kept")]).await.unwrap();
    assert_eq!(PostgresStore::migrate(&url).await, Ok(Migrated { from: newest, to: newest }));
    assert_eq!(store.append(&lease, vec![user_message("on")]).await, Ok(2));
    let status = PostgresStore::status(&url).await.unwrap();
    assert_eq!((status.schema, status.problems, status.nodes.len()), (Some(newest), Vec::new(), 1));
    let values = status.settings.iter().map(|setting| (setting.name.as_str(), setting.value.as_str()));
    let values: std::collections::BTreeMap<_, _> = values.collect();
    for (name, value) in [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("statement_timeout", "10s"),
        ("synchronous_commit", "on"),
        ("target_session_attrs", "read-write"),
        ("tcp_user_timeout", "10s"),
    ] {
        assert_eq!(values.get(name), Some(&value), "{values:?}");
    }

    // A second database of the server has the role already.
    database(&server, "second").await;
}

#[tokio::test]
async fn a_failed_migration_changes_nothing() {
    let Some(server) = Server::start() else { return };
    execute(&server.url("postgres"), "CREATE DATABASE broken").await;
    let url = server.url("broken");
    // A later statement of the step fails at this.
    execute(&url, "CREATE SCHEMA tiller; CREATE TABLE tiller.words (a int)").await;
    assert!(matches!(PostgresStore::migrate(&url).await, Err(StoreError::Io(_))));
    assert_eq!(PostgresStore::status(&url).await.unwrap().schema, None);
    execute(&url, "DROP TABLE tiller.words").await;
    let newest = PostgresStore::status(&url).await.unwrap().supported.1;
    assert_eq!(PostgresStore::migrate(&url).await, Ok(Migrated { from: 0, to: newest }));
}

#[tokio::test]
async fn a_database_that_loses_or_is_newer_is_refused() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "refused").await;
    for (change, words, back) in [
        (
            "ALTER DATABASE refused SET synchronous_commit = off",
            "synchronous_commit",
            "ALTER DATABASE refused RESET synchronous_commit",
        ),
        (
            "INSERT INTO tiller.migrations (version, usable_by) VALUES (99, 99)",
            "schema 99",
            "DELETE FROM tiller.migrations WHERE version = 99",
        ),
        (
            "ALTER DATABASE refused SET default_transaction_read_only = on",
            "cannot be reached",
            "SET default_transaction_read_only = off; ALTER DATABASE refused RESET default_transaction_read_only",
        ),
    ] {
        let admin = connect(&url).await;
        admin.batch_execute(change).await.unwrap();
        let error = PostgresStore::open(&url).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.contains(words) || words == "cannot be reached" && !error.is_empty(),
            "{change}: {error}"
        );
        admin.batch_execute(back).await.unwrap();
    }
    PostgresStore::open(&url).await.unwrap();
    for url in ["postgres://u:secret@localhost:port/x", "nonsense"] {
        let error = PostgresStore::open(url).await.err().unwrap().to_string();
        assert!(error.contains("postgres://USER@HOST/DATABASE") && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn nodes_of_two_releases_use_a_schema_that_says_so() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "rolling").await;
    let before = PostgresStore::open(&url).await.unwrap();
    let lease = before.create(session("s1")).await.unwrap();
    // The next release adds to the schema.
    execute(
        &url,
        "ALTER TABLE tiller.sessions ADD COLUMN added text; ALTER TABLE tiller.events ADD COLUMN added text; \
         INSERT INTO tiller.migrations (version) VALUES (99)",
    )
    .await;
    assert_eq!(before.append(&lease, vec![user_message("1")]).await, Ok(1), "a running node goes on");
    let after = PostgresStore::open(&url).await.unwrap();
    assert_eq!(after.events(&"s1".into(), 0, 10).await.unwrap().len(), 1);
    let other = after.create(session("s2")).await.unwrap();
    assert_eq!(after.append(&other, vec![user_message("1")]).await, Ok(1));
    before.ready().await.unwrap();
}

#[tokio::test]
async fn a_program_needs_no_more_than_its_role() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "roles").await;
    execute(&url, "CREATE ROLE program LOGIN; CREATE ROLE stranger LOGIN; GRANT tiller_app TO program").await;
    let of = |user: &str| url.replace("postgres://postgres@", &format!("postgres://{user}@"));
    let store = PostgresStore::open(&of("program")).await.unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    assert_eq!(store.append(&lease, vec![user_message("1")]).await, Ok(1));
    assert!(PostgresStore::migrate(&of("stranger")).await.is_err());
    let refused = PostgresStore::open(&of("stranger")).await.err().unwrap().to_string();
    assert!(refused.contains("grant the role `tiller_app`"), "{refused}");
    // Without row-level security in its way, the login itself sees nothing either.
    let raw = connect(&of("program")).await;
    assert_eq!(raw.query_one("SELECT count(*) FROM tiller.sessions", &[]).await.unwrap().get::<_, i64>(0), 0);
}
