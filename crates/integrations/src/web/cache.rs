//! Pages that were fetched a short time ago, in memory.

use super::page::Page;
use crate::limits::{CACHE_BYTES, CACHED};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;

/// The cache. The oldest pages are dropped when there are too many bytes.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    key: Key,
    page: Arc<Page>,
    fetched: Instant,
}

/// What a page is the answer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) url: String,
    pub(super) raw: bool,
}

impl Cache {
    /// Returns a page that is not too old.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Page>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        entries.retain(|entry| now - entry.fetched < CACHED);
        entries.iter().find(|entry| entry.key == *key).map(|entry| entry.page.clone())
    }

    /// Keeps a page.
    pub(super) fn put(&self, key: Key, page: Arc<Page>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.key != key);
        entries.push_back(Entry { key, page, fetched: Instant::now() });
        let size = |entries: &VecDeque<Entry>| -> usize { entries.iter().map(Entry::bytes).sum() };
        while size(&entries) > CACHE_BYTES {
            entries.pop_front();
        }
    }
}

impl Entry {
    /// Returns the size of the entry, with a constant for the rest of it.
    fn bytes(&self) -> usize {
        self.page.text.len() + self.key.url.len() + 512
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn page(bytes: usize) -> Arc<Page> {
        let url = crate::WebUrl::parse("https://x.example/").unwrap();
        let text = "x".repeat(bytes);
        Arc::new(Page { url, title: String::new(), media: String::new(), text, is_whole: true })
    }

    fn key(number: usize) -> Key {
        Key { url: number.to_string(), raw: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_kept_for_a_time_and_within_a_size() {
        let cache = Cache::default();
        cache.put(key(0), page(10));
        assert!(cache.get(&key(0)).is_some());
        assert!(cache.get(&Key { raw: true, ..key(0) }).is_none());
        tokio::time::advance(CACHED - Duration::from_secs(1)).await;
        assert!(cache.get(&key(0)).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cache.get(&key(0)).is_none());
        let share = CACHE_BYTES / 4;
        (0..10).for_each(|number| cache.put(key(number), page(share)));
        let kept = (0..10).filter(|number| cache.get(&key(*number)).is_some()).collect::<Vec<_>>();
        assert_eq!(kept, [7, 8, 9]);
        cache.put(key(9), page(1));
        assert_eq!(cache.get(&key(9)).map(|page| page.text.len()), Some(1));
    }
}
