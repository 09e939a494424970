use super::*;
use crate::auth::{NewToken, contract, wall_clock};
use agent::Scopes;
use std::{fs, os::unix::fs::PermissionsExt as _};
use system::LocalSystem;

fn path(directory: &tempfile::TempDir) -> AbsPath {
    AbsPath::from_os(&directory.path().join("data/tokens.toml")).unwrap()
}

fn at(path: AbsPath) -> FileTokens {
    FileTokens::new(Arc::new(LocalSystem::new()), wall_clock(), path)
}

fn row(name: &str) -> TokenRow {
    let new = NewToken {
        name: name.to_owned(),
        tenant: "default".to_owned(),
        user: "ada".to_owned(),
        scopes: Scopes::all(),
        expires: None,
    };
    new.make(wall_clock()()).unwrap().1
}

#[tokio::test(start_paused = true)]
async fn tokens_in_a_file_hold_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    contract::tokens(&at(path(&directory)), &at(path(&directory))).await;
}

#[tokio::test]
async fn a_created_token_is_found_by_others_at_once_and_the_file_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (at(path(&directory)), at(path(&directory)));
    let (first, second) = (row("first"), row("second"));
    assert_eq!(other.find(&first.digest).await.unwrap(), None);
    one.insert(first.clone()).await.unwrap();
    assert_eq!(other.find(&first.digest).await.unwrap(), Some(first.clone()));
    other.insert(second.clone()).await.unwrap();
    assert_eq!(one.list().await.unwrap(), [first, second]);
    let mode = fs::metadata(path(&directory).as_std()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_used_nor_written() {
    let directory = tempfile::tempdir().unwrap();
    let (tokens, row) = (at(path(&directory)), row("first"));
    tokens.insert(row.clone()).await.unwrap();
    assert!(tokens.find(&row.digest).await.unwrap().is_some());
    let file = path(&directory);
    fs::set_permissions(file.as_std(), fs::Permissions::from_mode(0o644)).unwrap();
    let before = fs::read(file.as_std()).unwrap();
    let error = tokens.list().await.unwrap_err().to_string();
    assert!(error.contains(&format!("chmod 600 {file}")), "{error}");
    assert!(tokens.insert(row.clone()).await.is_err());
    assert_eq!(fs::read(file.as_std()).unwrap(), before);
    assert!(tokens.find(&row.digest).await.is_err(), "what was read before is not used either");
    fs::set_permissions(file.as_std(), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(tokens.find(&row.digest).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_change_by_another_process_is_seen_within_five_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let (server, command) = (at(path(&directory)), at(path(&directory)));
    let row = row("first");
    command.insert(row.clone()).await.unwrap();
    assert!(server.find(&row.digest).await.unwrap().unwrap().revoked.is_none());
    let revocation = Revocation { at: Timestamp::from_second(1).unwrap(), stop_turns: true };
    command.revoke(&row.id, revocation).await.unwrap().unwrap();
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    assert_eq!(server.row(&row.id).await.unwrap().unwrap().revoked, Some(revocation));
    fs::remove_file(path(&directory).as_std()).unwrap();
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    assert_eq!(server.find(&row.digest).await.unwrap(), None, "without a file there is no token");
}

#[tokio::test]
async fn a_revocation_stays_as_it_was_first() {
    let directory = tempfile::tempdir().unwrap();
    let (tokens, row) = (at(path(&directory)), row("first"));
    tokens.insert(row.clone()).await.unwrap();
    let revocation =
        |second, stop_turns| Revocation { at: Timestamp::from_second(second).unwrap(), stop_turns };
    for (asked, expected) in [
        (revocation(1, false), revocation(1, false)),
        (revocation(2, true), revocation(1, true)),
        (revocation(3, false), revocation(1, true)),
    ] {
        assert_eq!(tokens.revoke(&row.id, asked).await.unwrap().unwrap().revoked, Some(expected));
        assert_eq!(tokens.list().await.unwrap()[0].revoked, Some(expected));
    }
    assert_eq!(tokens.revoke("tok_none", revocation(1, false)).await.unwrap(), None);
}

#[tokio::test]
async fn tokens_that_ended_long_ago_leave_the_file_with_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::from_second(10_000_000).unwrap();
    let tokens = FileTokens::new(Arc::new(LocalSystem::new()), Arc::new(move || now), path(&directory));
    let days = |days: i64| Timestamp::from_second(10_000_000 - days * 24 * 60 * 60).unwrap();
    let revoked = |at| Some(Revocation { at, stop_turns: false });
    let rows = [
        row("valid"),
        TokenRow { revoked: revoked(days(29)), ..row("revoked lately") },
        TokenRow { revoked: revoked(days(31)), ..row("revoked long ago") },
        TokenRow { expires: Some(days(31)), ..row("expired long ago") },
    ];
    for row in rows {
        tokens.insert(row).await.unwrap();
    }
    tokens.insert(row("new")).await.unwrap();
    let names: Vec<_> = tokens.list().await.unwrap().into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["valid", "revoked lately", "new"]);
}

#[tokio::test]
async fn writes_wait_for_each_other_and_lose_no_row() {
    let directory = tempfile::tempdir().unwrap();
    // Each store opens the lock by itself, as another process does.
    let writes = (0..24).map(|number| {
        let tokens = at(path(&directory));
        async move { tokens.insert(row(&format!("token {number}"))).await }
    });
    for result in futures::future::join_all(writes).await {
        result.unwrap();
    }
    assert_eq!(at(path(&directory)).list().await.unwrap().len(), 24);
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_stays_taken_is_reported_and_a_use_does_not_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let (tokens, row) = (at(path(&directory)), row("first"));
    tokens.insert(row.clone()).await.unwrap();
    let held = FileLock::try_take(&lock_path(tokens.path())).unwrap().unwrap();
    let error = tokens.insert(row.clone()).await.unwrap_err().to_string();
    assert!(error.contains("by another process"), "{error}");
    let hour = Timestamp::from_second(3_600).unwrap();
    tokens.note_use(&row.id, hour).await.unwrap();
    assert_eq!(tokens.list().await.unwrap()[0].last_used, None);
    drop(held);
    tokens.note_use(&row.id, hour).await.unwrap();
    assert_eq!(tokens.list().await.unwrap()[0].last_used, Some(hour));
}

#[tokio::test]
async fn keys_of_another_version_survive_a_change() {
    let directory = tempfile::tempdir().unwrap();
    let tokens = at(path(&directory));
    tokens.insert(row("first")).await.unwrap();
    let file = path(&directory);
    let text = fs::read_to_string(file.as_std()).unwrap() + "colour = \"green\" # mine\n";
    fs::write(file.as_std(), text).unwrap();
    tokens.insert(row("second")).await.unwrap();
    assert!(fs::read_to_string(file.as_std()).unwrap().contains("colour = \"green\" # mine\n"));
}
