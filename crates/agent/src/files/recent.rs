//! A bounded map of per-file state, which keeps the most recently used files.

use crate::limits::TRACKED_FILES;
use std::{collections::HashMap, mem::take};
use system::AbsPath;

/// A map by path with at most [`TRACKED_FILES`] entries. When it is full, the older half is
/// evicted.
#[derive(Debug)]
pub(crate) struct Recent<V> {
    young: HashMap<AbsPath, V>,
    old: HashMap<AbsPath, V>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<V> Recent<V> {
    pub(crate) fn get(&self, path: &AbsPath) -> Option<&V> {
        self.young.get(path).or_else(|| self.old.get(path))
    }

    pub(crate) fn insert(&mut self, path: AbsPath, value: V) {
        self.old.remove(&path);
        if self.young.len() >= TRACKED_FILES / 2 {
            self.old = take(&mut self.young);
        }
        self.young.insert(path, value);
    }

    pub(crate) fn remove(&mut self, path: &AbsPath) {
        self.young.remove(path);
        self.old.remove(path);
    }

    /// Returns the value of a path, inserting the default value if there is none.
    pub(crate) fn entry(&mut self, path: &AbsPath) -> &mut V
    where
        V: Default,
    {
        if !self.young.contains_key(path) {
            let value = self.old.remove(path).unwrap_or_default();
            self.insert(path.clone(), value);
        }
        self.young.entry(path.clone()).or_default()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &AbsPath> {
        self.young.keys().chain(self.old.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_files_are_remembered_as_may_be_and_those_are_the_last() {
        let path = |number: usize| AbsPath::new(format!("/w/{number}")).unwrap();
        let mut recent = Recent::default();
        for number in 0..3 * TRACKED_FILES {
            recent.insert(path(number), number);
            *recent.entry(&path(0)) += 1;
            assert!(recent.paths().count() <= TRACKED_FILES);
        }
        let last = 3 * TRACKED_FILES - TRACKED_FILES / 2 + 1..3 * TRACKED_FILES;
        assert!(last.into_iter().all(|number| recent.get(&path(number)) == Some(&number)));
        assert_eq!(recent.get(&path(0)), Some(&(3 * TRACKED_FILES)), "it was dealt with all the time");
        assert_eq!(recent.get(&path(1)), None);
        recent.remove(&path(0));
        assert_eq!(recent.get(&path(0)), None);
    }
}
