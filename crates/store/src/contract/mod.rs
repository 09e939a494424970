//! The contract of every [`SessionStore`], as a test suite that each implementation runs.

mod append;
mod lease;
mod list;
mod memories;
mod owners;
mod records;
mod samples;

pub use samples::samples;

use agent::{NewSession, SessionId, SessionStore};
use futures::{FutureExt as _, future::BoxFuture};
use std::{panic::AssertUnwindSafe, sync::Arc};
use system::AbsPath;

/// An empty store to be tested.
#[derive(Clone)]
pub struct Fixture {
    /// The store.
    pub store: Arc<dyn SessionStore>,
    /// The same sessions as seen by another process, which lives until this is dropped; `None` for
    /// a store that only one process can use.
    pub other: Option<Arc<dyn SessionStore>>,
}

type Case = fn(Fixture) -> BoxFuture<'static, ()>;

macro_rules! cases {
    ($($module:ident::$case:ident),+ $(,)?) => {
        [$((stringify!($case), (|fixture| $module::$case(fixture).boxed()) as Case)),+]
    };
}

/// Runs every case, each on a fresh store from `make`.
///
/// # Panics
///
/// If a case fails. All cases are run first; the panic message names those that failed, and each
/// one's own message is printed when it fails.
pub async fn check<F>(make: impl Fn() -> F)
where
    F: Future<Output = Fixture>,
{
    let cases: &[(&str, Case)] = &cases![
        records::creates_and_gets,
        records::creates_only_once,
        records::does_not_find_unknown_sessions,
        records::forks_with_all_events,
        records::deletes_permanently,
        records::keeps_the_sessions_of_subagents_with_their_root,
        records::replaces_additional_directories,
        records::replaces_the_directory,
        records::replaces_what_is_known_of_the_folder,
        append::numbers_events_without_gaps,
        append::pages_events,
        append::keeps_every_kind_of_event,
        append::keeps_a_large_text,
        append::keeps_contents_with_their_events,
        append::keeps_sessions_separate,
        append::updates_the_session_record,
        append::counts_turns_and_cost,
        append::accepts_concurrent_appends,
        lease::fences_a_lost_lease,
        lease::fences_concurrent_appends,
        lease::releases,
        lease::refuses_while_another_holds,
        lease::refuses_to_delete_what_another_holds,
        lease::refuses_to_archive_what_another_holds,
        lease::acquires_the_lease_of_an_ended_process,
        list::lists_every_spelling_of_a_directory,
        list::lists_the_last_used_first,
        list::pages_through_all,
        list::lists_one_directory,
        list::omits_sessions_without_a_prompt,
        list::survives_changes_between_pages,
        list::refuses_a_bad_cursor,
        list::omits_archived_sessions,
        list::finds_messages,
        list::bounds_lists_and_searches_to_a_project,
        list::finds_ids_by_their_beginning,
        owners::lists_and_searches_one_owner,
        owners::hides_the_sessions_of_others,
        owners::adds_up_what_users_of_a_tenant_spent,
        owners::adds_up_the_contents_of_users_of_a_tenant,
        memories::keeps_memories,
        memories::refuses_equal_memories,
        memories::finds_memories,
        memories::gives_each_user_their_own,
        memories::hides_expired_memories,
        memories::shares_memories_with_other_processes,
    ];
    let mut failed = Vec::new();
    for (name, case) in cases {
        if AssertUnwindSafe(case(make().await)).catch_unwind().await.is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "the store breaks its contract: {failed:?}");
}

/// Returns a session to create.
pub(crate) fn session(id: &str, cwd: &str) -> NewSession {
    NewSession {
        id: SessionId::from(id),
        cwd: path(cwd),
        additional_directories: Vec::new(),
        model: "openai/gpt-5".to_owned(),
        mode: agent::Mode::Edit,
        permission_mode: agent::PermissionMode::Guardian,
        parent: None,
        owner: None,
    }
}

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("the suite's own paths are absolute")
}
