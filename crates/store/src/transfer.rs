//! Copies sessions from one store to another, row by row, and checks the rows of a store.
//!
//! Each session is copied in one transaction under the leases of both sides, and compared
//! afterwards. So a copy that is cut off anywhere can be repeated: what is there is compared and
//! left alone.

pub use crate::moved_memories::MovedMemories;

use crate::{database::Database, moved_memories::plan, raw::Digest};
use agent::{Lease, Owner, Principal, SessionId, StoreError};
use std::collections::HashSet;

/// Which sessions are copied, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfer {
    /// The user in the database of a server whose sessions they are. In a file they belong to the
    /// user of the machine. Without it, all are copied with their owners.
    pub user: Option<String>,
    /// Only these, with those of their subagents; all if it is empty.
    pub sessions: Vec<SessionId>,
    /// Only tell what would be done.
    pub dry_run: bool,
    /// Archive each session at the source once its copy was compared.
    pub archive: bool,
}

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was copied; with a dry run, it would be.
    Copied {
        /// The number of its events.
        events: u64,
    },
    /// An equal one was there.
    Present,
    /// A different one was there, and was left alone.
    Different {
        /// The numbers of events at the source and at the target.
        events: (u64, u64),
    },
    /// It was not copied: another process has it open, or it cannot be read.
    Failed {
        /// Why.
        why: String,
    },
}

/// Copies sessions, and tells the outcome of each. Reads each session into memory.
///
/// # Errors
///
/// If a store fails as a whole. What concerns one session is its outcome.
pub async fn transfer(
    from: &Database,
    to: &Database,
    transfer: &Transfer,
    mut each: impl FnMut(&SessionId, &Outcome),
) -> Result<(), StoreError> {
    for id in chosen(from, transfer).await? {
        let outcome = match one(from, to, transfer, &id).await {
            Ok(outcome) => outcome,
            Err(error @ (StoreError::Held { .. } | StoreError::Format(_) | StoreError::NotFound(_))) => {
                Outcome::Failed { why: error.to_string() }
            }
            Err(error) => return Err(error),
        };
        each(&id, &outcome);
    }
    Ok(())
}

/// Copies memories that are not there, those of each owner in one transaction. Those of sessions
/// that are not copied go along: a memory is for all sessions of its user.
///
/// # Errors
///
/// If a store fails; the memories of some owners may have been copied then.
pub async fn transfer_memories(
    from: &Database,
    to: &Database,
    transfer: &Transfer,
) -> Result<MovedMemories, StoreError> {
    let mut memories = from.memories(transfer.user.as_ref().map(|user| owner_in(from, user))).await?;
    if let Some(user) = &transfer.user {
        let owner = owner_in(to, user);
        memories.iter_mut().for_each(|memory| memory.owner.clone_from(&owner));
    }
    match transfer.dry_run {
        true => Ok(plan(&to.memories(None).await?, &memories).1),
        false => to.write_memories(memories).await,
    }
}

/// Returns the ids to copy.
async fn chosen(from: &Database, transfer: &Transfer) -> Result<Vec<SessionId>, StoreError> {
    let owner = transfer.user.as_ref().map(|user| owner_in(from, user));
    let all = from.ids(owner).await?;
    let wanted: HashSet<&str> = transfer.sessions.iter().map(SessionId::as_str).collect();
    let known: HashSet<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    if let Some(unknown) = transfer.sessions.iter().find(|id| !known.contains(id.as_str())) {
        return Err(StoreError::NotFound(unknown.clone()));
    }
    let is_wanted = |id: &str, parent: &Option<String>| {
        wanted.is_empty()
            || wanted.contains(id)
            || parent.as_deref().is_some_and(|parent| wanted.contains(parent))
    };
    Ok(all.iter().filter(|(id, parent)| is_wanted(id, parent)).map(|(id, _)| SessionId(id.clone())).collect())
}

/// Returns the owner of a user's sessions in a store.
fn owner_in(database: &Database, user: &str) -> Option<Owner> {
    let tenant = Principal::ONLY_TENANT.to_owned();
    database.has_users().then(|| Owner { tenant, user: user.to_owned() })
}

async fn one(
    from: &Database,
    to: &Database,
    transfer: &Transfer,
    id: &SessionId,
) -> Result<Outcome, StoreError> {
    if let Some(there) = to.digest(id).await? {
        let here = digest(from, id).await?;
        if here != there {
            return Ok(Outcome::Different { events: (here.count, there.count) });
        }
        archive(from, transfer, id).await?;
        return Ok(Outcome::Present);
    }
    if transfer.dry_run {
        let held = from.store().holder(id).await?;
        return Ok(match held {
            Some(holder) => {
                let session = id.clone();
                Outcome::Failed { why: StoreError::Held { session, holder }.to_string() }
            }
            None => Outcome::Copied { events: digest(from, id).await?.count },
        });
    }
    let lease = from.store().acquire(id, false).await?;
    let copied = copy(from, to, transfer, id).await;
    let released = from.store().release(&lease).await;
    let outcome = copied?;
    released?;
    if matches!(outcome, Outcome::Copied { .. }) {
        archive(from, transfer, id).await?;
    }
    Ok(outcome)
}

/// Copies a session whose lease at the source is held, and compares the copy under its own lease.
async fn copy(
    from: &Database,
    to: &Database,
    transfer: &Transfer,
    id: &SessionId,
) -> Result<Outcome, StoreError> {
    let mut session = from.read(id).await?;
    if let Some(user) = &transfer.user {
        session.row.owner = owner_in(to, user);
    }
    let expected = session.digest();
    let lease: Lease = to.write(session).await?;
    let there = digest(to, id).await;
    to.store().release(&lease).await?;
    let there = there?;
    Ok(match there == expected {
        true => Outcome::Copied { events: expected.count },
        false => Outcome::Different { events: (expected.count, there.count) },
    })
}

async fn digest(database: &Database, id: &SessionId) -> Result<Digest, StoreError> {
    database.digest(id).await?.ok_or_else(|| StoreError::NotFound(id.clone()))
}

async fn archive(from: &Database, transfer: &Transfer, id: &SessionId) -> Result<(), StoreError> {
    match transfer.archive && !transfer.dry_run {
        true => from.store().set_archived(id, true).await,
        false => Ok(()),
    }
}

/// A session whose rows are not as they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsound {
    /// The session.
    pub session: SessionId,
    /// What is wrong with it, in words.
    pub problems: Vec<String>,
}

/// Reads every row of a store. Returns the number of sessions, and those with problems.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn verify(database: &Database) -> Result<(u64, Vec<Unsound>), StoreError> {
    let (mut count, mut unsound) = (0, Vec::new());
    for (id, _) in database.ids(None).await? {
        let session = SessionId(id);
        let problems = match database.read(&session).await {
            Ok(rows) => rows.problems(),
            // It was deleted meanwhile.
            Err(StoreError::NotFound(_)) => continue,
            Err(StoreError::Format(what)) => vec![what],
            Err(error) => return Err(error),
        };
        count += 1;
        if !problems.is_empty() {
            unsound.push(Unsound { session, problems });
        }
    }
    Ok((count, unsound))
}
