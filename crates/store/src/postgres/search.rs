//! The full-text search. The sessions of subagents are not indexed.

use super::{read, scope::Scope, shared::Shared, transaction::Transaction, words};
use crate::{
    limits::{INDEXED_EVENTS, INDEXED_SESSIONS, SEARCH_HITS_MAX, SEARCH_RANKED},
    stored,
};
use agent::{SearchHit, SearchQuery, SessionId, StoreError, excerpt, searched_text};
use std::collections::HashMap;
use system::AbsPath;

/// Indexes the words of one user that are not indexed yet, in steps. An append never waits for it.
pub(super) async fn index_pending(shared: &Shared, scope: &Scope) -> Result<(), StoreError> {
    loop {
        let transaction = Transaction::begin(&shared.pool, scope).await?;
        let behind = transaction
            .query(
                "SELECT id, searched, last_seq FROM sessions WHERE tenant_id = $1 AND owner_id = $2 \
                 AND searched < last_seq AND parent_id IS NULL LIMIT $3",
                &[&scope.tenant, &scope.owner, &INDEXED_SESSIONS],
            )
            .await?;
        transaction.commit().await?;
        if behind.is_empty() {
            return Ok(());
        }
        let mut remaining = INDEXED_EVENTS;
        for row in &behind {
            if remaining <= 0 {
                break;
            }
            remaining -= index_session(shared, scope, row.get(0), row.get(1), row.get(2)).await?;
        }
    }
}

/// Indexes some events of a session and returns how many.
async fn index_session(
    shared: &Shared,
    scope: &Scope,
    id: &str,
    searched: i64,
    last: i64,
) -> Result<i64, StoreError> {
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    let rows = transaction
        .query(
            "SELECT seq, format, body, blob FROM events WHERE session_id = $1 AND seq > $2 AND seq <= $3 AND damaged IS NULL \
             AND kind IN ('user_message', 'model_response', 'answer', 'title_changed') ORDER BY seq LIMIT $4",
            &[&id, &searched, &last, &INDEXED_EVENTS],
        )
        .await?;
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let reached = if count == INDEXED_EVENTS { rows.last().map_or(last, |row| row.get(0)) } else { last };
    let (mut seqs, mut vectors) = (Vec::new(), Vec::new());
    for row in &rows {
        // An unreadable event is not searchable; it is reported when the session is read.
        let body = read::body(&transaction, row.get(2), row.get(3)).await?;
        let event = body.ok().and_then(|body| stored::decode(i64::from(row.get::<_, i16>(1)), &body).ok());
        if let Some(text) = event.as_ref().and_then(searched_text) {
            seqs.push(row.get::<_, i64>(0));
            vectors.push(words::vector(&[(&text, 'D')]));
        }
    }
    // Another search may do the same: the row goes to the first one.
    let won = transaction
        .execute(
            "UPDATE sessions SET searched = $3 WHERE id = $1 AND searched = $2",
            &[&id, &searched, &reached],
        )
        .await?;
    if won == 1 {
        transaction
            .execute(
                "INSERT INTO words (tenant_id, session_id, seq, tsv) SELECT $1, $2, w.seq, w.tsv::tsvector \
                 FROM unnest($3::int8[], $4::text[]) AS w (seq, tsv) ON CONFLICT DO NOTHING",
                &[&scope.tenant, &id, &seqs, &vectors],
            )
            .await?;
    }
    transaction.commit().await?;
    Ok(count.max(1))
}

/// Returns the best matches among the newest messages that match.
pub(super) async fn find(
    transaction: &Transaction,
    scope: &Scope,
    query: &SearchQuery,
) -> Result<Vec<SearchHit>, StoreError> {
    let wanted = agent::words(&query.text);
    let Some(matching) = words::query(&wanted, false) else { return Ok(Vec::new()) };
    let limit = i64::try_from(query.limit.min(SEARCH_HITS_MAX)).unwrap_or(i64::MAX);
    let rows = transaction
        .query(
            "SELECT w.session_id, w.seq, e.format, e.body, e.blob FROM (\
             SELECT w.session_id, w.seq, w.tsv FROM words w JOIN sessions s ON s.tenant_id = w.tenant_id AND s.id = w.session_id \
             WHERE w.tenant_id = $1 AND s.owner_id = $2 AND w.tsv @@ $3::text::tsquery \
             AND ($4::text IS NULL OR s.cwd = $4) \
             AND ($5::text IS NULL OR s.cwd = $5 OR starts_with(s.cwd, rtrim($5, '/') || '/')) \
             AND ($6::text IS NULL OR s.id <> $6) ORDER BY s.updated_at DESC, w.seq DESC LIMIT $7) AS w \
             JOIN events e ON e.tenant_id = $1 AND e.session_id = w.session_id AND e.seq = w.seq \
             ORDER BY ts_rank(w.tsv, $3::text::tsquery, 1) DESC, w.session_id DESC, w.seq DESC LIMIT $8",
            &[
                &scope.tenant,
                &scope.owner,
                &matching,
                &query.cwd.as_ref().map(AbsPath::as_str),
                &query.project.as_ref().map(AbsPath::as_str),
                &query.except.as_ref().map(SessionId::as_str),
                &SEARCH_RANKED,
                &limit,
            ],
        )
        .await?;
    let (mut records, mut hits) = (HashMap::new(), Vec::new());
    for row in &rows {
        let id = SessionId(row.get(0));
        let body = read::body(transaction, row.get(3), row.get(4)).await?;
        let event = body.ok().and_then(|body| stored::decode(i64::from(row.get::<_, i16>(2)), &body).ok());
        let text = event.as_ref().and_then(searched_text).unwrap_or_default();
        let session = match records.get(&id) {
            Some(record) => Clone::clone(record),
            None => {
                let record = read::get(transaction, &id).await?;
                records.insert(id, record.clone());
                record
            }
        };
        hits.push(SearchHit {
            session,
            seq: row.get::<_, i64>(1).cast_unsigned(),
            excerpt: excerpt(&text, &wanted),
        });
    }
    Ok(hits)
}
