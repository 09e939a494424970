//! Memories as their rows, for copies between databases.

use crate::limits::MEMORIES_PER_SCOPE;
use agent::Owner;

/// A memory as its row, but for its number: each database numbers its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawMemory {
    pub(crate) owner: Option<Owner>,
    /// The project that it is for; all of them without one.
    pub(crate) project: Option<String>,
    /// The session that saved it.
    pub(crate) session: Option<String>,
    pub(crate) kind: String,
    pub(crate) class: String,
    pub(crate) title: String,
    pub(crate) content: String,
    /// The keys of title and content, by which equal ones are found.
    pub(crate) keys: (String, String),
    pub(crate) pinned: bool,
    pub(crate) times: RawTimes,
}

/// The times of a memory, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawTimes {
    pub(crate) expires: Option<i64>,
    pub(crate) surfaced: Option<i64>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
}

/// What became of memories that were copied, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovedMemories {
    /// Those that were copied; with a dry run, that would be.
    pub copied: u64,
    /// Those that were there already.
    pub present: u64,
    /// Those like which another one was there, with the same title or the same content. It was left
    /// alone.
    pub different: u64,
    /// Those that there was no room for.
    pub full: u64,
}

impl RawMemory {
    /// Whether both are the same memory. When it was last sent to a model does not matter.
    fn is_same(&self, other: &Self) -> bool {
        let without = |memory: &Self| RawTimes { surfaced: None, ..memory.times };
        let times = without(self);
        Self { times, ..self.clone() } == Self { times: without(other), ..other.clone() }
    }

    /// Whether only one of both could have been saved, one after the other.
    fn is_like(&self, other: &Self) -> bool {
        self.is_of_scope_of(other) && (self.keys.0 == other.keys.0 || self.keys.1 == other.keys.1)
    }

    fn is_of_scope_of(&self, other: &Self) -> bool {
        (&self.owner, &self.project) == (&other.owner, &other.project)
    }
}

/// Returns those of `new` that are to be inserted beside what is there, in order, and the numbers.
pub(crate) fn plan(there: &[RawMemory], new: &[RawMemory]) -> (Vec<RawMemory>, MovedMemories) {
    let mut moved = MovedMemories::default();
    let mut inserted: Vec<RawMemory> = Vec::new();
    // Copies of earlier runs are no reason to leave another one out: the source may have two with
    // one title, of which one has expired.
    let foreign: Vec<&RawMemory> =
        there.iter().filter(|memory| !new.iter().any(|new| new.is_same(memory))).collect();
    for memory in new {
        let in_scope = |other: &&RawMemory| other.is_of_scope_of(memory);
        let count = there.iter().filter(in_scope).count() + inserted.iter().filter(in_scope).count();
        if there.iter().any(|other| other.is_same(memory)) {
            moved.present += 1;
        } else if foreign.iter().any(|other| other.is_like(memory)) {
            moved.different += 1;
        } else if count >= MEMORIES_PER_SCOPE {
            moved.full += 1;
        } else {
            moved.copied += 1;
            inserted.push(memory.clone());
        }
    }
    (inserted, moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(title: &str, content: &str, created: i64) -> RawMemory {
        RawMemory {
            owner: None,
            project: Some("/p".to_owned()),
            session: None,
            kind: "user".to_owned(),
            class: "working".to_owned(),
            title: title.to_owned(),
            content: content.to_owned(),
            keys: (title.to_lowercase(), content.to_lowercase()),
            pinned: false,
            times: RawTimes { expires: None, surfaced: None, created, updated: created },
        }
    }

    #[test]
    fn what_is_there_is_left_alone_and_the_rest_is_inserted() {
        let [one, expired, two] = [memory("T", "one", 1), memory("t", "old", 2), memory("Two", "two", 3)];
        let new = [one.clone(), expired.clone(), two.clone()];
        let (inserted, moved) = plan(&[], &new);
        assert_eq!((inserted, moved), (new.to_vec(), MovedMemories { copied: 3, ..Default::default() }));
        // Again, after a part, and after it was sent to a model there.
        let sent = RawMemory { times: RawTimes { surfaced: Some(9), ..one.times }, ..one.clone() };
        let (inserted, moved) = plan(&[sent], &new);
        assert_eq!(inserted, [expired, two.clone()]);
        assert_eq!(moved, MovedMemories { copied: 2, present: 1, ..Default::default() });
        // Another one with the same content, and the same in another project.
        let other = memory("other", "TWO", 4);
        let elsewhere = RawMemory { project: None, ..memory("t", "one", 5) };
        let (inserted, moved) = plan(&[other, elsewhere], &new[1..]);
        assert_eq!((inserted.len(), moved.different, moved.copied), (1, 1, 1));
        let full: Vec<_> = (0..MEMORIES_PER_SCOPE as i64)
            .map(|nth| memory(&format!("n{nth}"), &format!("c{nth}"), nth))
            .collect();
        let user_wide = RawMemory { project: None, ..two.clone() };
        let (inserted, moved) = plan(&full, &[two, user_wide.clone()]);
        assert_eq!((inserted, moved.full), (vec![user_wide], 1));
    }
}
