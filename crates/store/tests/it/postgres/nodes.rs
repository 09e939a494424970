//! What the nodes of a server know of each other.

use super::{Server, connect, database};
use crate::session;
use agent::{NewSession, Owner, SessionStore as _};
use store::{PostgresStore, nodes::NodeHolder};

#[tokio::test]
async fn nodes_find_each_other_and_the_holder_of_a_session() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "nodes").await;
    let stores = [PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap()];
    let nodes = stores.each_ref().map(PostgresStore::cluster);
    assert_eq!(nodes[0].others().await.unwrap(), [], "a node without an address takes no sessions");
    nodes[1].announce(Some("b:7000".to_owned()), false).await.unwrap();
    let others = nodes[0].others().await.unwrap();
    assert_eq!(others.iter().map(|peer| peer.address.as_deref()).collect::<Vec<_>>(), [Some("b:7000")]);
    assert_eq!(others[0].id, nodes[1].id());

    let owner = Owner { tenant: "acme".to_owned(), user: "ada".to_owned() };
    let lease = stores[1].create(NewSession { owner: Some(owner.clone()), ..session("s1") }).await.unwrap();
    let stranger = Owner { user: "bob".to_owned(), ..owner.clone() };
    let holder =
        async |by: usize, owner: &Owner| nodes[by].holder(Some(owner), &lease.session).await.unwrap();
    assert_eq!(holder(0, &owner).await, NodeHolder::Other(others[0].clone()));
    assert_eq!(holder(1, &owner).await, NodeHolder::Here);
    assert_eq!(holder(0, &stranger).await, NodeHolder::Free, "another user's session does not exist");

    nodes[1].announce(Some("b:7000".to_owned()), true).await.unwrap();
    assert_eq!(nodes[0].others().await.unwrap(), [], "a node that drains takes no sessions");
    assert_eq!(holder(0, &owner).await, NodeHolder::Other(others[0].clone()), "but it holds those it has");

    assert_eq!(nodes[0].orphans(9).await.unwrap(), []);
    let expire = "UPDATE tiller.nodes SET expires_at = clock_timestamp() WHERE draining";
    assert_eq!(connect(&url).await.execute(expire, &[]).await.unwrap(), 1);
    let orphans = nodes[0].orphans(9).await.unwrap();
    assert_eq!(orphans.len(), 1);
    assert_eq!((&orphans[0].owner, &orphans[0].id), (&Some(owner.clone()), &lease.session));
    assert_eq!(holder(0, &owner).await, NodeHolder::Free);
}
