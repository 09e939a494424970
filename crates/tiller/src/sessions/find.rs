//! Resolves a session's name: its id, a prefix of its id, or `last`.

use crate::limits;
use agent::{Archived, ListQuery, Runtime, SessionId, StoreError};
use anyhow::{Context as _, Result, anyhow};
use system::AbsPath;

/// The shortest prefix of an id that is looked up, in characters.
const LEAST: usize = 4;
/// How many ids an error lists.
const SHOWN: usize = 5;

/// Returns the id of a session; `last` is the most recently used one of the directory.
///
/// # Errors
/// If the prefix matches several sessions, or `last` matches none. An unknown id is returned as it
/// is.
pub(crate) async fn resolve_session_id(runtime: &Runtime, given: &str, cwd: &AbsPath) -> Result<SessionId> {
    if given == "last" {
        let query = ListQuery { cwd: Some(cwd.clone()), limit: 1, ..ListQuery::default() };
        let last = runtime.list(query).await?.sessions.into_iter().next();
        return Ok(last
            .with_context(|| format!("no session in {cwd}; `tiller sessions list` shows all"))?
            .id);
    }
    let whole = SessionId(given.to_owned());
    match runtime.record(&whole).await {
        Err(StoreError::NotFound(_)) if given.len() >= LEAST => {}
        _ => return Ok(whole),
    }
    let mut query =
        ListQuery { archived: Archived::Include, limit: limits::SESSIONS_PAGE, ..ListQuery::default() };
    let mut matching = Vec::new();
    loop {
        let page = runtime.list(query.clone()).await?;
        matching.extend(
            page.sessions.into_iter().map(|record| record.id).filter(|id| id.as_str().starts_with(given)),
        );
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    match matching.as_slice() {
        [] => Ok(whole),
        [one] => Ok(one.clone()),
        several => {
            let ids: Vec<_> = several.iter().take(SHOWN).map(SessionId::as_str).collect();
            let more = if several.len() > SHOWN { ", …" } else { "" };
            Err(anyhow!(
                "{} sessions begin with {given}: {}{more}; write more of the id",
                several.len(),
                ids.join(", ")
            ))
        }
    }
}
