//! The fenced append: one statement that checks the lease, numbers the events and stores them.
//!
//! A lease has its epoch, its node and the number of its last event in this process. The statement
//! requires all three, so it can be sent again after its answer was lost: if the first one arrived,
//! the second one finds another last event and does nothing. Only then the rows tell the outcome.

use super::{
    blobs,
    column::text,
    failure::{failed, is_lost},
    lease,
    leases::Held,
    scope::Scope,
    shared::Shared,
    transaction::{Transaction, pipelined},
};
use crate::{
    changes::Prepared,
    clock::now,
    limits::{BODY_INLINE, POSTGRES_APPEND, POSTGRES_ATTEMPT, POSTGRES_RECONNECT_STEP},
};
use agent::{ContentHash, Effort, Lease, Mode, PermissionMode, StoreError};
use std::{sync::Arc, time::Instant};
use tokio_postgres::types::ToSql;

const APPEND: &str = "WITH fence AS (\
     UPDATE sessions SET last_seq = last_seq + cardinality($5::int2[]), updated_at = greatest(updated_at, $9::int8), \
     model = coalesce($10::text, model), mode = coalesce($11::text, mode), \
     permission_mode = coalesce($12::text, permission_mode), title = coalesce($13::text, title), \
     effort = CASE WHEN $14::bool THEN $15::text ELSE effort END, turns = turns + $16::int8, cost = coalesce($17::int8, cost) \
     WHERE id = $1 AND lease_epoch = $2 AND lease_node = $3 AND last_seq = $4 \
     RETURNING tenant_id, last_seq), \
     put AS (INSERT INTO events (tenant_id, session_id, seq, format, kind, body, blob, at) \
     SELECT f.tenant_id, $1, $4 + e.n, e.format, e.kind, e.body, e.blob, $9 FROM fence f, \
     unnest($5::int2[], $6::text[], $7::text[], $8::bytea[]) WITH ORDINALITY AS e (format, kind, body, blob, n)) \
     SELECT last_seq FROM fence";

/// Selects what tells whether rows are those of an append.
const ROWS: &str = "SELECT format, kind, body, blob, at FROM events WHERE session_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq";

/// What is known of an attempt.
enum Attempt {
    Stored(u64),
    /// The lease is not as expected.
    Refused,
    /// Nothing was stored.
    Failed(StoreError),
    /// It may have been stored.
    Unknown(StoreError),
}

/// The events of an append in the form of the statement.
struct Arrays {
    formats: Vec<i16>,
    kinds: Vec<&'static str>,
    bodies: Vec<Option<String>>,
    blobs: Vec<Option<Vec<u8>>>,
    /// Everything that is stored apart from the rows, by its hash.
    large: Vec<(Vec<u8>, Arc<[u8]>)>,
    contents: Vec<(ContentHash, Arc<[u8]>)>,
    changes: crate::changes::Changes,
    at: i64,
}

impl Arrays {
    fn of(prepared: Prepared) -> Self {
        let Prepared { rows, contents, changes, .. } = prepared;
        let mut arrays = Self {
            formats: Vec::with_capacity(rows.len()),
            kinds: Vec::with_capacity(rows.len()),
            bodies: Vec::with_capacity(rows.len()),
            blobs: Vec::with_capacity(rows.len()),
            large: Vec::new(),
            contents,
            changes,
            at: now(),
        };
        for row in rows {
            arrays.formats.push(i16::try_from(row.format).unwrap_or(i16::MAX));
            arrays.kinds.push(row.kind);
            if row.body.len() > BODY_INLINE {
                let hash = blake3::hash(row.body.as_bytes()).as_bytes().to_vec();
                arrays.large.push((hash.clone(), row.body.into_bytes().into()));
                arrays.blobs.push(Some(hash));
                arrays.bodies.push(None);
            } else {
                arrays.bodies.push(Some(row.body));
                arrays.blobs.push(None);
            }
        }
        arrays
    }

    fn count(&self) -> u64 {
        self.formats.len() as u64
    }
}

/// Appends events under a lease of this process.
pub(super) async fn append(
    shared: &Arc<Shared>,
    scope: &Scope,
    of: &Lease,
    prepared: Prepared,
) -> Result<u64, StoreError> {
    let Some(held) = shared.leases.get(of) else {
        return Err(lease::lost(shared, scope, &of.session).await);
    };
    // Appends of a session wait for each other here instead of at its row, in the order of arrival.
    let mut held = held.lock().await;
    if held.is_unsettled {
        lease::give_up(shared, scope, of);
        return Err(StoreError::Fenced(of.session.clone()));
    }
    let arrays = Arrays::of(prepared);
    if arrays.count() == 0 && arrays.contents.is_empty() {
        return match lease::check(shared, scope, of).await? {
            true => Ok(held.last_seq),
            false => Err(lease::lost(shared, scope, &of.session).await),
        };
    }
    // Until the outcome is known, also if the caller stops waiting.
    held.is_unsettled = true;
    let appended = settle(shared, scope, of, held.last_seq, &arrays).await;
    match &appended {
        Ok(last) => *held = Held { last_seq: *last, is_unsettled: false },
        Err((_, Settled::Yes)) => held.is_unsettled = false,
        Err((_, Settled::No)) => lease::give_up(shared, scope, of),
    }
    appended.map_err(|(error, _)| error)
}

/// Whether the outcome of a failed append is known.
enum Settled {
    Yes,
    No,
}

/// Sends an append until its outcome is known.
async fn settle(
    shared: &Shared,
    scope: &Scope,
    of: &Lease,
    base: u64,
    arrays: &Arrays,
) -> Result<u64, (StoreError, Settled)> {
    let started = Instant::now();
    let mut sent_before = false;
    loop {
        let left = POSTGRES_APPEND.saturating_sub(started.elapsed());
        let attempt = attempt(shared, scope, of, base, arrays);
        let attempt = tokio::time::timeout(left.min(POSTGRES_ATTEMPT), attempt).await;
        let unanswered =
            || Attempt::Unknown(StoreError::Io("the session database does not answer".to_owned()));
        let error = match attempt.unwrap_or_else(|_| unanswered()) {
            Attempt::Stored(last) => return Ok(last),
            Attempt::Failed(error) if !sent_before => return Err((error, Settled::Yes)),
            Attempt::Refused => match look(shared, scope, of, base, arrays, sent_before).await {
                Ok(outcome) => return outcome.map_err(|error| (error, Settled::Yes)),
                Err(error) => error,
            },
            Attempt::Failed(error) | Attempt::Unknown(error) => error,
        };
        sent_before = true;
        if started.elapsed() + POSTGRES_RECONNECT_STEP >= POSTGRES_APPEND {
            let id = &of.session;
            let error = format!(
                "{error}. Whether the last events of session {id} were stored is not known; it is given up here, and can be loaded again"
            );
            return Err((StoreError::Io(error), Settled::No));
        }
        tracing::debug!(session = %of.session, %error, "the outcome of an append is looked for");
        tokio::time::sleep(POSTGRES_RECONNECT_STEP).await;
    }
}

async fn attempt(shared: &Shared, scope: &Scope, of: &Lease, base: u64, arrays: &Arrays) -> Attempt {
    let changes = &arrays.changes;
    let (epoch, base) = (of.epoch.cast_signed(), base.cast_signed());
    let (model, title) = (changes.model.as_deref().map(text), changes.title.as_deref().map(text));
    let (mode, permission_mode) =
        (changes.mode.map(Mode::id), changes.permission_mode.map(PermissionMode::id));
    let effort = changes.effort.flatten().map(Effort::id);
    let cost = changes.totals.cost.map(|cost| i64::try_from(cost.0).unwrap_or(i64::MAX));
    let params: [&(dyn ToSql + Sync); 17] = [
        &of.session.as_str(),
        &epoch,
        &shared.node.id,
        &base,
        &arrays.formats,
        &arrays.kinds,
        &arrays.bodies,
        &arrays.blobs,
        &arrays.at,
        &model,
        &mode,
        &permission_mode,
        &title,
        &changes.effort.is_some(),
        &effort,
        &changes.totals.turns.cast_signed(),
        &cost,
    ];
    let stored = |row: Option<tokio_postgres::Row>| match row.map(|row| row.try_get::<_, i64>(0)) {
        Some(Ok(last)) => Attempt::Stored(last.cast_unsigned()),
        Some(Err(error)) => Attempt::Unknown(failed(&error)),
        None => Attempt::Refused,
    };
    if arrays.large.is_empty() && arrays.contents.is_empty() {
        return match pipelined(&shared.pool, scope, APPEND, &params).await {
            Ok(row) => stored(row),
            Err((error, false)) => Attempt::Failed(error),
            Err((error, true)) => Attempt::Unknown(error),
        };
    }
    let work = async {
        let transaction = Transaction::begin(&shared.pool, scope).await.map_err(Attempt::Failed)?;
        let inside = |error: StoreError| Attempt::Unknown(error);
        let contents: Vec<_> =
            arrays.contents.iter().map(|(hash, bytes)| (blobs::hash_bytes(hash), bytes.clone())).collect();
        let all: Vec<_> = arrays.large.iter().cloned().chain(contents).collect();
        blobs::keep(&transaction, scope, &all).await.map_err(inside)?;
        let row = transaction.try_query(APPEND, &params).await.map_err(|error| match is_lost(&error) {
            true => Attempt::Unknown(failed(&error)),
            false => Attempt::Failed(failed(&error)),
        })?;
        // Without its end, the transaction leaves nothing.
        let Some(row) = row.into_iter().next() else { return Err(Attempt::Refused) };
        blobs::keep_contents(&transaction, scope, &of.session, &arrays.contents).await.map_err(inside)?;
        transaction.commit().await.map_err(inside)?;
        Ok(stored(Some(row)))
    };
    work.await.unwrap_or_else(|attempt| attempt)
}

/// Looks why an append was refused. The inner result is its outcome.
async fn look(
    shared: &Shared,
    scope: &Scope,
    of: &Lease,
    base: u64,
    arrays: &Arrays,
    sent_before: bool,
) -> Result<Result<u64, StoreError>, StoreError> {
    let id = &of.session;
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    let row = transaction
        .first("SELECT last_seq, lease_epoch, lease_node FROM sessions WHERE id = $1", &[&id.as_str()])
        .await?;
    let Some(row) = row else {
        transaction.commit().await?;
        return Ok(Err(StoreError::NotFound(id.clone())));
    };
    let last = base + arrays.count();
    let rows = transaction.query(ROWS, &[&id.as_str(), &base.cast_signed(), &last.cast_signed()]).await?;
    transaction.commit().await?;
    let is_ours = rows.len() as u64 == arrays.count()
        && rows.iter().enumerate().all(|(nth, row)| {
            row.get::<_, i16>(0) == arrays.formats[nth]
                && row.get::<_, &str>(1) == arrays.kinds[nth]
                && row.get::<_, Option<&str>>(2) == arrays.bodies[nth].as_deref()
                && row.get::<_, Option<&[u8]>>(3) == arrays.blobs[nth].as_deref()
                && row.get::<_, i64>(4) == arrays.at
        });
    let stored: i64 = row.get(0);
    let is_held = row.get::<_, i64>(1).cast_unsigned() == of.epoch
        && row.get::<_, Option<uuid::Uuid>>(2) == Some(shared.node.id);
    Ok(match is_held {
        _ if sent_before && is_ours => Ok(last),
        true if stored.cast_unsigned() < base => Err(StoreError::Io(format!(
            "session {id} has {stored} events in the database, and {base} were acknowledged: a standby that was behind took over. \
             Load the session again to go on with what is there"
        ))),
        _ => Err(StoreError::Fenced(id.clone())),
    })
}
