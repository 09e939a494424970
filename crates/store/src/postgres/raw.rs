//! Reading and writing sessions as their rows.

use super::{
    blobs,
    column::text,
    read::body,
    scope::{Scope, owner},
    shared::Shared,
    transaction::Transaction,
    write::add_user,
};
use crate::{
    limits::{BODY_INLINE, EVENTS_READ},
    raw::{
        Digest, Digesting, RawContent, RawControls, RawDirectories, RawEvent, RawRow, RawSession, unreadable,
    },
};
use agent::{ContentHash, Lease, Owner, SessionId, StoreError};
use std::sync::Arc;

/// The rows of a scope.
pub(super) struct RawRows<'a> {
    pub(super) shared: &'a Shared,
    pub(super) scope: &'a Scope,
}

impl RawRows<'_> {
    /// Returns the ids of all sessions of an owner, those of subagents too; of all owners of the
    /// tenant without one.
    pub(super) async fn ids(
        &self,
        owner: Option<Option<Owner>>,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        let scope = owner.as_ref().map_or_else(|| self.scope.clone(), |owner| Scope::of(owner.as_ref()));
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let rows = transaction
            .query("SELECT id, parent_id FROM sessions WHERE tenant_id = $1 ORDER BY id", &[&scope.tenant])
            .await?;
        transaction.commit().await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns the digest of a session's events; `None` without the session.
    pub(super) async fn digest(&self, id: &str) -> Result<Option<Digest>, StoreError> {
        let transaction = Transaction::begin(&self.shared.pool, self.scope).await?;
        let known = transaction.first("SELECT 1 FROM sessions WHERE id = $1", &[&id]).await?;
        let mut digesting = Digesting::default();
        if known.is_some() {
            each_event(&transaction, id, |event| digesting.add(&event)).await?;
        }
        transaction.commit().await?;
        Ok(known.map(|_| digesting.end()))
    }

    /// Returns a session with its rows.
    pub(super) async fn read(&self, id: &str) -> Result<RawSession, StoreError> {
        let transaction = Transaction::begin(&self.shared.pool, self.scope).await?;
        let row = raw_row(&transaction, id).await?;
        let mut events = Vec::new();
        each_event(&transaction, id, |event| events.push(event)).await?;
        let hashes =
            transaction.query("SELECT hash FROM contents WHERE session_id = $1 ORDER BY nth", &[&id]).await?;
        let mut contents = Vec::new();
        for hash in hashes {
            let hash: Vec<u8> = hash.get(0);
            let bytes = blobs::get(&transaction, &hash).await?;
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            let bytes =
                bytes.ok_or_else(|| unreadable(id, &format!("the content {hash} is missing or changed")))?;
            contents.push(RawContent { hash, bytes });
        }
        transaction.commit().await?;
        Ok(RawSession { row, events, contents })
    }

    /// Stores a session that does not exist, in one transaction, and acquires its lease.
    pub(super) async fn write(&self, session: RawSession) -> Result<Lease, StoreError> {
        let scope = Scope::of(session.row.owner.as_ref());
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        add_user(&transaction, &scope).await?;
        self.insert_row(&transaction, &scope, &session.row).await?;
        let (id, last) = (session.row.id, session.row.last_seq);
        // In parts, so that no statement takes long.
        for part in session.events.chunks(usize::try_from(EVENTS_READ).unwrap_or(1)) {
            insert_events(&transaction, &scope, &id, part).await?;
        }
        let contents: Vec<(ContentHash, Arc<[u8]>)> = session
            .contents
            .into_iter()
            .map(|content| (ContentHash(content.hash), content.bytes.into()))
            .collect();
        let kept: Vec<_> =
            contents.iter().map(|(hash, bytes)| (blobs::hash_bytes(hash), bytes.clone())).collect();
        blobs::keep(&transaction, &scope, &kept).await?;
        let lease = Lease { session: SessionId(id), epoch: 1 };
        blobs::keep_contents(&transaction, &scope, &lease.session, &contents).await?;
        transaction.commit().await?;
        self.shared.leases.put(&lease, last.cast_unsigned());
        Ok(lease)
    }

    async fn insert_row(
        &self,
        transaction: &Transaction,
        scope: &Scope,
        row: &RawRow,
    ) -> Result<(), StoreError> {
        let inserted = transaction
            .execute(
                "INSERT INTO sessions (tenant_id, owner_id, id, parent_id, cwd, additional_directories, branch, model, mode, \
                 permission_mode, effort, title, archived, created_at, updated_at, last_seq, turns, cost, \
                 lease_epoch, lease_node, lease_incarnation, lease_since, identity) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
                 1, $19, $20, clock_timestamp(), $21) ON CONFLICT DO NOTHING",
                &[
                    &scope.tenant,
                    &scope.owner,
                    &row.id,
                    &row.parent,
                    &row.directories.cwd,
                    &row.directories.additional,
                    &row.directories.branch.as_deref().map(text),
                    &text(&row.controls.model),
                    &row.controls.mode,
                    &row.controls.permission_mode,
                    &row.controls.effort,
                    &row.title.as_deref().map(text),
                    &row.archived,
                    &row.times.0,
                    &row.times.1,
                    &row.last_seq,
                    &row.totals.0,
                    &row.totals.1,
                    &self.shared.node.id,
                    &self.shared.node.incarnation(),
                    &row.directories.identity,
                ],
            )
            .await?;
        match inserted {
            0 => Err(unreadable(&row.id, "one with this id exists there already, of this user or another")),
            _ => Ok(()),
        }
    }
}

async fn raw_row(transaction: &Transaction, id: &str) -> Result<RawRow, StoreError> {
    let row = transaction
        .first(
            "SELECT s.parent_id, t.name, u.subject, s.cwd, s.additional_directories, s.branch, s.model, s.mode, s.permission_mode, \
             s.effort, s.title, s.archived, s.created_at, s.updated_at, s.last_seq, s.turns, s.cost, s.identity FROM sessions s \
             JOIN users u ON u.id = s.owner_id JOIN tenants t ON t.id = s.tenant_id WHERE s.id = $1",
            &[&id],
        )
        .await?
        .ok_or_else(|| StoreError::NotFound(SessionId(id.to_owned())))?;
    Ok(RawRow {
        id: id.to_owned(),
        parent: row.get(0),
        owner: owner(row.get(1), row.get(2)),
        directories: RawDirectories {
            cwd: row.get(3),
            additional: row.get(4),
            branch: row.get(5),
            identity: row.get(17),
        },
        controls: RawControls {
            model: row.get(6),
            mode: row.get(7),
            permission_mode: row.get(8),
            effort: row.get(9),
        },
        title: row.get(10),
        archived: row.get(11),
        times: (row.get(12), row.get(13)),
        last_seq: row.get(14),
        totals: (row.get(15), row.get(16)),
    })
}

async fn each_event(
    transaction: &Transaction,
    id: &str,
    mut each: impl FnMut(RawEvent),
) -> Result<(), StoreError> {
    let mut reached = 0;
    loop {
        let rows = transaction
            .query(
                "SELECT seq, format, kind, body, blob, at, damaged FROM events WHERE session_id = $1 AND seq > $2 \
                 ORDER BY seq LIMIT $3",
                &[&id, &reached, &EVENTS_READ],
            )
            .await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            let seq: i64 = row.get(0);
            reached = seq;
            let body = body(transaction, row.get(3), row.get(4)).await?;
            let body = body.map_err(|what| unreadable(id, &format!("the body of event {seq}: {what}")))?;
            let format = i64::from(row.get::<_, i16>(1));
            each(RawEvent { seq, format, kind: row.get(2), body, at: row.get(5), damaged: row.get(6) });
        }
    }
}

async fn insert_events(
    transaction: &Transaction,
    scope: &Scope,
    id: &str,
    events: &[RawEvent],
) -> Result<(), StoreError> {
    let is_large = |event: &&RawEvent| event.body.len() > BODY_INLINE;
    let hash = |event: &RawEvent| blake3::hash(event.body.as_bytes()).as_bytes().to_vec();
    let large: Vec<(Vec<u8>, Arc<[u8]>)> =
        events.iter().filter(is_large).map(|event| (hash(event), event.body.as_bytes().into())).collect();
    blobs::keep(transaction, scope, &large).await?;
    if let Some(nul) = events.iter().find(|event| event.body.contains('\0')) {
        return Err(unreadable(id, &format!("the body of event {} has a NUL", nul.seq)));
    }
    let column = |of: fn(&RawEvent) -> i64| events.iter().map(of).collect::<Vec<_>>();
    let bodies: Vec<Option<&str>> =
        events.iter().map(|event| (!is_large(&event)).then_some(event.body.as_str())).collect();
    let hashes: Vec<Option<Vec<u8>>> =
        events.iter().map(|event| is_large(&event).then(|| hash(event))).collect();
    let formats: Vec<i16> =
        events.iter().map(|event| i16::try_from(event.format).unwrap_or(i16::MAX)).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let damaged: Vec<_> = events.iter().map(|event| event.damaged.as_deref().map(text)).collect();
    transaction
        .execute(
            "INSERT INTO events (tenant_id, session_id, seq, format, kind, body, blob, at, damaged) \
             SELECT $1, $2, e.* FROM unnest($3::int8[], $4::int2[], $5::text[], $6::text[], $7::bytea[], $8::int8[], $9::text[]) AS e",
            &[
                &scope.tenant,
                &id,
                &column(|event| event.seq),
                &formats,
                &kinds,
                &bodies,
                &hashes,
                &column(|event| event.at),
                &damaged,
            ],
        )
        .await?;
    Ok(())
}
