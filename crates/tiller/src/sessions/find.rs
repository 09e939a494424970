//! Resolves a session's name: its id, a beginning or an end of it, or `last`.

use crate::{
    answer::{Failure, Kind},
    limits,
};
use agent::{Archived, ListQuery, Runtime, SessionId, SessionRecord, StoreError, one_line};
use anyhow::Result;
use std::collections::BTreeSet;
use system::{AbsPath, LocalSystem, System};

/// The shortest part of an id that is looked up, in characters.
const LEAST: usize = 8;
/// How many ids an error lists.
const SHOWN: usize = 5;

/// Returns the id of a session; `last` is the most recently used one of the directory.
///
/// # Errors
/// If the part matches several sessions, or `last` matches none. An unknown id is returned as it
/// is.
pub(crate) async fn resolve_session_id(runtime: &Runtime, given: &str, cwd: &AbsPath) -> Result<SessionId> {
    if given == "last" {
        let none =
            || Failure::new(Kind::NotFound, format!("no session in {cwd}")).next("tiller sessions list");
        return Ok(last_of_folder(runtime, cwd).await?.ok_or_else(none)?);
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
        matching.extend(page.sessions.into_iter().map(|record| record.id).filter(|id| {
            // Ids begin with the time, so those of one minute begin alike.
            id.as_str().starts_with(given) || id.as_str().ends_with(given)
        }));
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
            let (count, ids) = (several.len(), ids.join(", "));
            let what = format!(
                "the ids of {count} sessions begin or end with {given}: {ids}{more}; write more of the id"
            );
            Err(Failure::new(Kind::Usage, what).into())
        }
    }
}

/// Returns the id of the session of a directory that was used last. A session of a former path
/// counts only if there is no other. So does one with only slash commands, which has no title.
pub(crate) async fn last_of_folder(
    runtime: &Runtime,
    cwd: &AbsPath,
) -> Result<Option<SessionId>, StoreError> {
    let query = ListQuery {
        cwd: Some(cwd.clone()),
        begun_or: Some(Vec::new()),
        limit: limits::SESSIONS_PAGE,
        ..ListQuery::default()
    };
    let system = LocalSystem::new();
    let listed = runtime.list_of_folder(&system, query).await?.sessions;
    let folders: BTreeSet<_> = listed.iter().map(|record| &record.cwd).collect();
    let mut gone = BTreeSet::new();
    for folder in folders {
        if is_gone(&system, folder).await {
            gone.insert(folder);
        }
    }
    // The first of those that are equal is the last used.
    let last = listed.iter().min_by_key(|record| (gone.contains(&record.cwd), record.title.is_none()));
    Ok(last.map(|record| record.id.clone()))
}

/// Returns whether a folder does not exist any more.
pub(super) async fn is_gone(system: &dyn System, folder: &AbsPath) -> bool {
    system.metadata(folder).await.is_err_and(|error| error.is_not_found())
}

/// Returns a session's record.
///
/// # Errors
/// If there is no such session; the nearest are named.
pub(crate) async fn record(runtime: &Runtime, id: &SessionId) -> Result<SessionRecord> {
    match runtime.record(id).await {
        Err(StoreError::NotFound(_)) => Err(not_found(runtime, id).await),
        record => Ok(record?),
    }
}

/// Returns the failure for an id that no session has, with the nearest sessions: those with a
/// similar id, or with the text in their title.
pub(crate) async fn not_found(runtime: &Runtime, id: &SessionId) -> anyhow::Error {
    let given = id.as_str().to_lowercase();
    let query =
        ListQuery { archived: Archived::Include, limit: limits::SESSIONS_PAGE, ..ListQuery::default() };
    let mut known = runtime.list(query).await.map(|page| page.sessions).unwrap_or_default();
    let distance = |record: &SessionRecord| {
        let in_title = record.title.as_ref().is_some_and(|title| title.to_lowercase().contains(&given));
        let beginning: String = record.id.as_str().chars().take(given.chars().count()).collect();
        if in_title { 0 } else { strsim::damerau_levenshtein(&beginning, &given) }
    };
    known.sort_by_cached_key(distance);
    let nearest: Vec<_> = known
        .iter()
        .take(limits::NEAREST_SESSIONS)
        .map(|record| format!("{} {}", record.id, one_line(record.title.as_deref().unwrap_or("(no title)"))))
        .collect();
    let mut failure = Failure::new(Kind::NotFound, StoreError::NotFound(id.clone()).to_string())
        .next("tiller sessions list");
    if !nearest.is_empty() {
        failure = failure.hint(format!("the nearest are: {}", nearest.join(", ")));
    }
    failure.into()
}
