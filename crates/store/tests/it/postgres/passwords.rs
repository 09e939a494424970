//! Passwords that are not in the URL.

use super::{Server, connect, database, execute};
use crate::session;
use agent::SessionStore as _;
use std::{fs, ops::Add as _, os::unix::fs::PermissionsExt as _};
use store::{
    PostgresStore, StoreAddress,
    password::{PasswordSources, with_password},
};
use system::AbsPath;

const PASSWORD: &str = r"p@ss: \ w?rd/";

#[tokio::test]
async fn a_server_that_wants_a_password_gets_it_from_a_file_or_a_variable() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "passwords").await;
    execute(&url, &format!("CREATE ROLE anna LOGIN PASSWORD '{PASSWORD}'; GRANT tiller_app TO anna")).await;
    let admin = connect(&url).await;
    let rules: String = admin.query_one("SHOW hba_file", &[]).await.unwrap().get(0);
    // The first rule that fits counts.
    let rules = format!(
        "COPY (SELECT unnest(ARRAY['local all anna scram-sha-256', 'local all all trust'])) TO '{rules}'"
    );
    admin.batch_execute(&rules).await.unwrap();
    admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let address: StoreAddress = url.replace("postgres@", "anna@").parse().unwrap();
    let open = async |address: &StoreAddress| match address {
        StoreAddress::Postgres(url) => PostgresStore::open(url).await,
        StoreAddress::Sqlite(_) => unreachable!("it is a database of a server"),
    };
    // The server reads its rules a moment later.
    let refused = loop {
        if let Err(error) = open(&address).await {
            break error.to_string();
        }
        tokio::task::yield_now().await;
    };
    assert!(refused.contains("password"), "{refused}");

    let directory = tempfile::tempdir().unwrap();
    let file = AbsPath::from_os(&directory.path().join("passwords")).unwrap();
    let place = server.socket().parent().unwrap().display().to_string();
    let written = PASSWORD.replace('\\', r"\\").replace(':', r"\:");
    fs::write(file.as_std(), format!("{place}:5432:other:anna:no\n{place}:*:passwords:anna:{written}\n"))
        .unwrap();
    fs::set_permissions(file.as_std(), fs::Permissions::from_mode(0o600)).unwrap();
    let none = PasswordSources {
        password: None,
        named_file: None,
        usual_file: None,
        user: None,
        directory: AbsPath::from_os(directory.path()).unwrap(),
    };
    let named: StoreAddress = url.replace("postgres@", "anna@").add("?passfile=passwords").parse().unwrap();
    let variable = PasswordSources { password: Some(PASSWORD.to_owned()), ..none.clone() };
    let in_file = PasswordSources { named_file: Some(file.clone()), ..none.clone() };
    for (nth, (address, sources)) in
        [(&address, &variable), (&address, &in_file), (&named, &none)].into_iter().enumerate()
    {
        let complete = with_password(address.clone(), sources).unwrap();
        assert_eq!(complete.to_string(), format!("postgres://{}/passwords", place.replace('/', "%2F")));
        let store = open(&complete).await.unwrap();
        store.create(session(&format!("s{nth}"))).await.unwrap();
    }
    let wrong = PasswordSources { password: Some("wrong one".to_owned()), ..none };
    let refused = open(&with_password(address, &wrong).unwrap()).await.err().unwrap().to_string();
    assert!(refused.contains("password") && !refused.contains("wrong"), "{refused}");
}
