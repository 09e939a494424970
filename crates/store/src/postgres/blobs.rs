//! Large bodies of events and contents of files, by their BLAKE3 hash, in parts.

use super::{scope::Scope, transaction::Transaction};
use crate::limits::{BLOB_PART, CONTENTS_BYTES};
use agent::{ContentHash, Owner, SessionId, StoreError};
use std::sync::Arc;

/// How often the blobs of an append are stored again because another process deleted them
/// meanwhile.
const ROUNDS: usize = 5;

/// Stores blobs that are missing, and keeps them from being deleted until the transaction ends.
pub(super) async fn keep(
    transaction: &Transaction,
    scope: &Scope,
    blobs: &[(Vec<u8>, Arc<[u8]>)],
) -> Result<(), StoreError> {
    // In one order for all, so that two appends never wait for each other.
    let mut blobs: Vec<_> = blobs.iter().collect();
    blobs.sort_by(|a, b| a.0.cmp(&b.0));
    blobs.dedup_by(|a, b| a.0 == b.0);
    for (hash, bytes) in blobs {
        for round in 0.. {
            for (part, bytes) in (0i32..).zip(parts(bytes)) {
                transaction
                    .execute(
                        "INSERT INTO blobs (tenant_id, hash, part, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                        &[&scope.tenant, hash, &part, &bytes],
                    )
                    .await?;
            }
            let kept = transaction
                .query(
                    "SELECT 1 FROM blobs WHERE tenant_id = $1 AND hash = $2 FOR KEY SHARE",
                    &[&scope.tenant, hash],
                )
                .await?;
            if kept.len() == parts(bytes).count() {
                break;
            }
            if round == ROUNDS {
                return Err(StoreError::Io("a stored content was deleted repeatedly; try again".to_owned()));
            }
        }
    }
    Ok(())
}

/// An empty blob has one empty part.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let empty = bytes.is_empty().then_some(bytes);
    bytes.chunks(BLOB_PART).chain(empty)
}

/// Notes contents as those of a session, and deletes its oldest ones beyond [`CONTENTS_BYTES`].
pub(super) async fn keep_contents(
    transaction: &Transaction,
    scope: &Scope,
    id: &SessionId,
    contents: &[(ContentHash, Arc<[u8]>)],
) -> Result<(), StoreError> {
    for (hash, bytes) in contents {
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        transaction
            .execute(
                "INSERT INTO contents (tenant_id, session_id, hash, size, nth) SELECT $1, $2, $3, $4, \
                 coalesce(max(nth), 0) + 1 FROM contents WHERE session_id = $2 ON CONFLICT DO NOTHING",
                &[&scope.tenant, &id.as_str(), &hash_bytes(hash), &size],
            )
            .await?;
    }
    if contents.is_empty() {
        return Ok(());
    }
    let old = transaction
        .query(
            "DELETE FROM contents WHERE session_id = $1 AND hash IN (SELECT hash FROM \
             (SELECT hash, sum(size) OVER (ORDER BY nth DESC) AS newer FROM contents WHERE session_id = $1) AS c \
             WHERE newer > $2::int8) RETURNING hash",
            &[&id.as_str(), &CONTENTS_BYTES],
        )
        .await?;
    drop_unused(transaction, &old.iter().map(|row| row.get(0)).collect::<Vec<Vec<u8>>>()).await
}

/// Deletes the blobs that nothing of the tenant refers to any more.
pub(super) async fn drop_unused(transaction: &Transaction, hashes: &[Vec<u8>]) -> Result<(), StoreError> {
    if !hashes.is_empty() {
        transaction.query("SELECT drop_blobs($1)", &[&hashes]).await?;
    }
    Ok(())
}

/// Returns the bytes of a blob; `None` if a part is missing.
pub(super) async fn get(transaction: &Transaction, hash: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let rows = transaction
        .query(
            "SELECT bytes FROM blobs WHERE tenant_id = current_tenant() AND hash = $1 ORDER BY part",
            &[&hash],
        )
        .await?;
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.get::<_, &[u8]>(0)).copied().collect();
    Ok((blake3::hash(&bytes).as_bytes() == hash).then_some(bytes))
}

/// Returns the content of a file that a session has.
pub(super) async fn content(
    transaction: &Transaction,
    id: &SessionId,
    hash: &ContentHash,
) -> Result<Option<Vec<u8>>, StoreError> {
    let hash = hash_bytes(hash);
    let known = transaction
        .first("SELECT 1 FROM contents WHERE session_id = $1 AND hash = $2", &[&id.as_str(), &hash])
        .await?;
    match known {
        Some(_) => get(transaction, &hash).await,
        None => Ok(None),
    }
}

/// Returns the bytes of the contents of each user of a tenant. What sessions share counts for each.
pub(super) async fn sums(
    transaction: &Transaction,
    scope: &Scope,
    tenant: &str,
) -> Result<Vec<(Owner, u64)>, StoreError> {
    let rows = transaction
        .query(
            "SELECT u.subject, sum(c.size)::int8 FROM contents c \
             JOIN sessions s ON s.tenant_id = c.tenant_id AND s.id = c.session_id \
             JOIN users u ON u.id = s.owner_id AND u.subject <> '' WHERE c.tenant_id = $1 GROUP BY u.subject",
            &[&scope.tenant],
        )
        .await?;
    let sum = |row: &tokio_postgres::Row| {
        let owner = Owner { tenant: tenant.to_owned(), user: row.get(0) };
        (owner, row.get::<_, i64>(1).cast_unsigned())
    };
    Ok(rows.iter().map(sum).collect())
}

/// Returns the bytes of a hash that is written in hexadecimal digits; other texts have their own.
pub(super) fn hash_bytes(hash: &ContentHash) -> Vec<u8> {
    blake3::Hash::from_hex(&hash.0)
        .map_or_else(|_| hash.0.as_bytes().to_vec(), |hash| hash.as_bytes().to_vec())
}
