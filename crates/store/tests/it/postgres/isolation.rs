//! Row-level security: what a connection of the programs' role sees, whatever it asks for.

use super::{Server, connect, database};
use crate::{session, user_message};
use agent::{
    Expiry, MemoryClass, MemoryKind, MemoryNote, NewMemory, Owner, SearchQuery, SessionEvent, SessionStore,
    scoped,
};
use std::sync::Arc;
use store::{PostgresStore, contract::samples};
use tokio_postgres::Client;

/// The tables with rows of users, and those that are visible to a whole tenant.
const TABLES: [&str; 8] =
    ["sessions", "events", "contents", "words", "memories", "users", "tenants", "blobs"];

fn owner(tenant: &str, user: &str) -> Owner {
    Owner { tenant: tenant.to_owned(), user: user.to_owned() }
}

/// Fills every table for a user.
async fn fill(store: &Arc<dyn SessionStore>, owner: &Owner) {
    let own = scoped(store, owner);
    let id = format!("{}-{}", owner.tenant, owner.user);
    let lease = own.create(session(&id)).await.unwrap();
    let change = samples().into_iter().find(|event| matches!(event, SessionEvent::FileChanged(_))).unwrap();
    own.append(&lease, vec![user_message("needle"), user_message(&"x".repeat(80_000)), change])
        .await
        .unwrap();
    let query = SearchQuery { text: "needle".to_owned(), limit: 9, ..SearchQuery::default() };
    assert_eq!(own.search(query).await.unwrap().len(), 1);
    let (kind, class) = (MemoryKind::User, MemoryClass::Durable);
    let note = MemoryNote { kind, class, title: "t".to_owned(), content: "c".to_owned(), pinned: false };
    let memory = NewMemory { note, project: None, session: None, expiry: Expiry::Never };
    own.memories().unwrap().add(memory).await.unwrap();
}

/// Returns how many sessions' worth of each table a transaction sees.
async fn visible(client: &Client, settings: &[(&str, String)]) -> Result<Vec<i64>, tokio_postgres::Error> {
    client.batch_execute("BEGIN").await?;
    let mut counts = Vec::new();
    let mut look = async || {
        for (name, value) in settings {
            client.query("SELECT set_config($1, $2, true)", &[name, value]).await?;
        }
        for table in TABLES {
            // Ids of sessions tell whose they are; of the others it is their owner or tenant.
            let what = match table {
                "sessions" => "id",
                "events" | "contents" | "words" => "session_id",
                "memories" => "owner_id",
                "users" | "tenants" => "id",
                _ => "tenant_id",
            };
            let row = client.query_one(&format!("SELECT count(DISTINCT {what}) FROM {table}"), &[]).await?;
            counts.push(row.get(0));
        }
        Ok(())
    };
    let looked: Result<(), tokio_postgres::Error> = look().await;
    client.batch_execute("ROLLBACK").await?;
    looked.map(|()| counts)
}

#[tokio::test]
async fn a_wrong_setting_shows_nothing() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "isolation").await;
    let store: Arc<dyn SessionStore> = Arc::new(PostgresStore::open(&url).await.unwrap());
    let owners = [owner("one", "anna"), owner("one", "ben"), owner("two", "anna")];
    for owner in &owners {
        fill(&store, owner).await;
    }
    let admin = connect(&url).await;
    let rows = admin
        .query("SELECT tenant_id::text, owner_id::text FROM tiller.sessions ORDER BY id", &[])
        .await
        .unwrap();
    let ids: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let [(one, anna), (_, ben), (two, other_anna)] = <[_; 3]>::try_from(ids).unwrap();
    let nobody = "00000000-0000-0000-0000-000000000000".to_owned();

    let app = connect(&url).await;
    app.batch_execute("SET ROLE tiller_app; SET search_path = tiller").await.unwrap();
    let set = |tenant: &str, owner: &str, admin: &str| {
        vec![
            ("tiller.tenant", tenant.to_owned()),
            ("tiller.owner", owner.to_owned()),
            ("tiller.admin", admin.to_owned()),
        ]
    };
    let (own, of_tenant, nothing) = ([1; 8], [2, 2, 2, 2, 2, 2, 1, 1], [0; 8]);
    // A user of one tenant who claims another sees only what the tenant shares.
    let shared = [0, 0, 0, 0, 0, 0, 1, 1];
    for (what, settings, expected) in [
        ("right", set(&one, &anna, "off"), own),
        ("right, unset admin", set(&one, &anna, ""), own),
        ("right, other user", set(&one, &ben, "off"), own),
        ("right, other tenant", set(&two, &other_anna, "off"), own),
        ("admin", set(&one, "", "on"), of_tenant),
        ("nothing set", Vec::new(), nothing),
        ("no tenant", set("", &anna, "off"), nothing),
        ("no tenant, admin", set("", &anna, "on"), nothing),
        ("another tenant", set(&two, &anna, "off"), shared),
        ("no user", set(&one, "", "off"), shared),
        ("unknown user", set(&one, &nobody, "off"), shared),
        ("unknown tenant", set(&nobody, &anna, "on"), nothing),
        ("not an admin", set(&one, "", "yes"), shared),
    ] {
        assert_eq!(visible(&app, &settings).await.unwrap(), expected, "{what}");
    }
    for garbage in [set("x", &anna, "off"), set(&one, "' OR true --", "off")] {
        assert!(visible(&app, &garbage).await.is_err());
    }

    // What is not seen is not changed either, and nothing can be put where it belongs to another.
    app.batch_execute(&format!(
        "BEGIN; SET LOCAL tiller.tenant = '{one}'; SET LOCAL tiller.owner = '{anna}'"
    ))
    .await
    .unwrap();
    for (sql, changed) in [
        ("UPDATE sessions SET title = 'x'", 1),
        ("UPDATE events SET damaged = 'x'", 3),
        ("DELETE FROM memories", 1),
    ] {
        assert_eq!(app.execute(sql, &[]).await.unwrap(), changed, "{sql}");
    }
    app.batch_execute("ROLLBACK").await.unwrap();
    for sql in [
        format!("UPDATE sessions SET tenant_id = '{two}'"),
        format!("UPDATE sessions SET owner_id = '{ben}'"),
        format!(
            "INSERT INTO events (tenant_id, session_id, seq, format, kind, body, at) VALUES ('{one}', 'one-ben', 9, 1, 'x', '', 0)"
        ),
        format!(
            "INSERT INTO events (tenant_id, session_id, seq, format, kind, body, at) VALUES ('{two}', 'two-anna', 9, 1, 'x', '', 0)"
        ),
        format!("INSERT INTO tenants (id, name) VALUES ('{nobody}', 'x')"),
        "ALTER TABLE sessions DISABLE ROW LEVEL SECURITY".to_owned(),
        "CREATE TABLE mine (a int)".to_owned(),
        "DELETE FROM nodes".to_owned(),
    ] {
        app.batch_execute(&format!(
            "BEGIN; SET LOCAL tiller.tenant = '{one}'; SET LOCAL tiller.owner = '{anna}'"
        ))
        .await
        .unwrap();
        let refused = app.execute(&sql, &[]).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE),
            "{sql}: {refused}"
        );
        app.batch_execute("ROLLBACK").await.unwrap();
    }
}

#[tokio::test]
async fn every_table_with_rows_of_users_is_protected() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "protected").await;
    let admin = connect(&url).await;
    let open = admin
        .query(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' \
             WHERE c.relnamespace = 'tiller'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition \
             AND NOT (c.relrowsecurity AND c.relforcerowsecurity)",
            &[],
        )
        .await
        .unwrap();
    assert!(open.is_empty(), "{:?}", open.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>());
    // The partitions can be reached only through their tables.
    let direct = admin
        .query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'tiller'::regnamespace AND relispartition \
             AND relkind = 'r' AND has_table_privilege('tiller_app', oid, 'SELECT, INSERT, UPDATE, DELETE')",
            &[],
        )
        .await
        .unwrap();
    assert!(direct.is_empty());
    let role = admin
        .query_one(
            "SELECT rolsuper OR rolbypassrls OR rolcreaterole, (SELECT count(*) FROM pg_class WHERE relowner = r.oid) \
             FROM pg_roles r WHERE rolname = 'tiller_app'",
            &[],
        )
        .await
        .unwrap();
    assert_eq!((role.get::<_, bool>(0), role.get::<_, i64>(1)), (false, 0));
}
