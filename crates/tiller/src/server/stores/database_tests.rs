use super::*;
use ::serve::auth::{contract, wall_clock};
use postgres::Server;
use store::PostgresStore;

#[expect(dead_code, reason = "the tests of the store also kill it")]
#[expect(clippy::disallowed_methods, reason = "it starts a real database in files of its own")]
#[path = "../../../../store/tests/it/postgres/server.rs"]
mod postgres;

async fn tables(url: &str) -> Arc<AccessTables> {
    Arc::new(AccessTables::open(url).await.unwrap())
}

#[tokio::test]
async fn tokens_and_the_audit_in_a_database_hold_the_contract_of_those_in_files() {
    let Some(server) = Server::start() else { return };
    let url = server.url("postgres");
    let refused = AccessTables::open(&url).await.err().unwrap().to_string();
    assert!(refused.contains("tiller store migrate"), "{refused}");
    PostgresStore::migrate(&url).await.unwrap();
    let opened = async || TableTokens::new(tables(&url).await, wall_clock());
    contract::tokens(&opened().await, &opened().await).await;
    contract::audit(&TableAudit(tables(&url).await), &TableAudit(tables(&url).await)).await;
}
