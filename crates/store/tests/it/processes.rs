//! Several processes on one file.

use crate::{place, said, session};
use agent::{SessionStore as _, StoreError};
use rusqlite::Connection;
use store::{Holder, SqliteStore};

fn elsewhere() -> Holder {
    Holder { host: "elsewhere".to_owned(), pid: 1, start: 1 }
}

#[tokio::test]
async fn a_holder_that_is_gone_is_not_asked() {
    let me = Holder::this_process();
    let gone = Holder { pid: i32::MAX as u32, ..me.clone() };
    let number_used_again = Holder { start: me.start + 1, ..me };
    for holder in [gone, number_used_again] {
        let (_folder, path) = place();
        let lease = SqliteStore::open_as(&path, holder).unwrap().create(session("s1")).await.unwrap();
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(store.acquire(&lease.session, false).await.unwrap().epoch, lease.epoch + 1);
    }
}

#[tokio::test]
async fn a_holder_elsewhere_lives_as_long_as_it_writes() {
    let (_folder, path) = place();
    let remote = SqliteStore::open_as(&path, elsewhere()).unwrap();
    let lease = remote.create(session("s1")).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    let silent_for = |seconds: i64| {
        raw.execute("UPDATE sessions SET lease_seen = lease_seen - ?1", [seconds * 1000]).unwrap();
    };
    let store = SqliteStore::open(&path).unwrap();

    silent_for(61);
    remote.append(&lease, vec![said("still here")]).await.unwrap();
    let Err(StoreError::Held { holder, .. }) = store.acquire(&lease.session, false).await else {
        panic!("the holder has just written")
    };
    assert!(holder.to_string().starts_with("process 1 on elsewhere since 20"), "{holder}");

    silent_for(61);
    let taken = store.acquire(&lease.session, false).await.unwrap();
    assert_eq!(remote.append(&lease, vec![said("late")]).await, Err(StoreError::Fenced(lease.session)));
    assert_eq!(store.append(&taken, vec![said("2")]).await, Ok(2));
}

#[tokio::test]
async fn many_may_make_the_file_at_once() {
    let (_folder, path) = place();
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
        assert_eq!(store.append(&lease, vec![said("1")]).await, Ok(1));
    }
    for n in 0..8 {
        assert_eq!(stores[0].get(&format!("s{n}").as_str().into()).await.unwrap().last_seq, 1);
    }
}

#[tokio::test]
async fn an_open_in_the_background_is_an_open() {
    let (_folder, path) = place();
    let store = SqliteStore::open_in_background(&path).unwrap();
    assert!(matches!(store.get(&"s1".into()).await, Err(StoreError::NotFound(_))));
    let lease = store.create(session("s1")).await.unwrap();
    assert_eq!(store.append(&lease, vec![said("1")]).await, Ok(1));
    assert_eq!(SqliteStore::open(&path).unwrap().get(&lease.session).await.unwrap().last_seq, 1);
}
