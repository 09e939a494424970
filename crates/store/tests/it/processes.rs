//! Several processes on one file.

use crate::{database_path, session, user_message};
use agent::{SessionStore as _, StoreError};
use store::SqliteStore;

#[tokio::test]
async fn several_processes_can_create_the_file_concurrently() {
    let (_directory, path) = database_path();
    let stores: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || SqliteStore::open(path))
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|thread| thread.join().unwrap().unwrap())
        .collect();
    for (n, store) in stores.iter().enumerate() {
        let lease = store.create(session(&format!("s{n}"))).await.unwrap();
        assert_eq!(store.append(&lease, vec![user_message("1")]).await, Ok(1));
    }
    for n in 0..8 {
        assert_eq!(stores[0].get(&format!("s{n}").as_str().into()).await.unwrap().last_seq, 1);
    }
}

#[tokio::test]
async fn a_store_opened_in_the_background_works_like_any_other() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open_in_background(&path).unwrap();
    assert!(matches!(store.get(&"s1".into()).await, Err(StoreError::NotFound(_))));
    let lease = store.create(session("s1")).await.unwrap();
    assert_eq!(store.append(&lease, vec![user_message("1")]).await, Ok(1));
    assert_eq!(SqliteStore::open(&path).unwrap().get(&lease.session).await.unwrap().last_seq, 1);
}
