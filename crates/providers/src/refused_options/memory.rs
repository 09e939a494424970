//! The memory of refusals: of this process, and in a file for later processes.

use super::{
    ModelQuirks,
    file::{self, Entry},
};
use crate::{
    http::{is_near, shown},
    limits::{MAX_REFUSALS_BYTES, REFUSALS_WAIT},
    stored_file::{self, ReadError},
};
use jiff::Timestamp;
use reqwest::Url;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::{AbsPath, System, SystemError};
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell},
    time::timeout,
};

/// The memory of refusals.
pub(crate) struct RefusalMemory {
    /// By address and model, see [`key`].
    quirks: Mutex<HashMap<Key, ModelQuirks>>,
    /// The number of leading messages of a conversation that are sent without the data that only
    /// the model understands, by the conversation's cache key. Few conversations ever have an
    /// entry.
    forgotten: Mutex<HashMap<String, usize>>,
    /// The images that a model refused, by hashes of their data. For this process only.
    refused_images: Mutex<HashMap<Key, HashSet<u64>>>,
    /// The file for later processes, if any.
    file: Option<AbsPath>,
    system: Arc<dyn System>,
    loaded: OnceCell<()>,
    /// Held while the file is read and written.
    writing: AsyncMutex<()>,
}

/// The base URL without credentials, and the model.
type Key = (String, String);

fn key(base_url: &str, model: &str) -> Key {
    let address = Url::parse(base_url).map_or_else(|_| base_url.to_owned(), |url| shown(&url));
    (address, model.to_owned())
}

impl RefusalMemory {
    /// Creates a memory that is kept in `file`, if there is one.
    pub(crate) fn new(file: Option<AbsPath>, system: Arc<dyn System>) -> Self {
        Self {
            quirks: Mutex::default(),
            forgotten: Mutex::default(),
            refused_images: Mutex::default(),
            file,
            system,
            loaded: OnceCell::new(),
            writing: AsyncMutex::default(),
        }
    }

    /// Reads what earlier processes learned, once.
    pub(crate) async fn load(&self) {
        let read = async || {
            let stored = self.stored().await.unwrap_or_default();
            let mut known = self.known();
            for Entry { address, model, quirks, .. } in stored {
                known.entry((address, model)).or_insert(quirks);
            }
        };
        self.loaded.get_or_init(read).await;
    }

    /// Returns the quirks of a model; the default at first.
    pub(crate) fn of(&self, base_url: &str, model: &str) -> ModelQuirks {
        self.known().get(&key(base_url, model)).cloned().unwrap_or_default()
    }

    /// Replaces the quirks of a model, for this process.
    pub(crate) fn remember(&self, base_url: &str, model: &str, quirks: ModelQuirks) {
        self.known().insert(key(base_url, model), quirks);
    }

    /// Stores the quirks of a model for later processes. A failure is logged.
    pub(crate) async fn store(&self, base_url: &str, model: &str) {
        let Some(path) = &self.file else { return };
        let quirks = lasting(self.of(base_url, model), base_url);
        if quirks == ModelQuirks::default() {
            return;
        }
        let storing = async {
            let _one_at_a_time = self.writing.lock().await;
            let Some(mut entries) = self.stored().await else { return Ok(()) };
            let (address, model) = key(base_url, model);
            let learned = Timestamp::now().as_second();
            file::add(&mut entries, Entry { address, model, learned, quirks });
            stored_file::write(path, &file::render(&entries), &*self.system).await
        };
        match timeout(REFUSALS_WAIT, storing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "refused options could not be stored"),
            Err(_elapsed) => tracing::warn!(%path, "storing refused options took too long"),
        }
    }

    /// Reads the recent entries of the file; `None` if a later version of the program wrote it.
    async fn stored(&self) -> Option<Vec<Entry>> {
        let Some(path) = &self.file else { return Some(Vec::new()) };
        match stored_file::read(path, MAX_REFUSALS_BYTES, &*self.system).await {
            Ok(bytes) => file::parse(&bytes, Timestamp::now()),
            Err(ReadError::System(SystemError::NotFound(_))) => Some(Vec::new()),
            Err(error) => {
                tracing::warn!(%path, %error, "the stored refused options are ignored");
                Some(Vec::new())
            }
        }
    }

    /// Returns how many leading messages of a conversation are sent without the data that only the
    /// model understands.
    pub(crate) fn forgotten(&self, conversation: &str) -> usize {
        let known = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(conversation).copied().unwrap_or(0)
    }

    /// Stores that number. The model still accepts what it writes after these messages.
    pub(crate) fn forget(&self, conversation: &str, messages: usize) {
        let mut known = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(conversation.to_owned(), messages);
    }

    /// Returns the images that a model refused.
    pub(crate) fn refused_images(&self, base_url: &str, model: &str) -> HashSet<u64> {
        let known = self.refused_images.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key(base_url, model)).cloned().unwrap_or_default()
    }

    /// Stores images that a model refused.
    pub(crate) fn refuse_images(&self, base_url: &str, model: &str, images: Vec<u64>) {
        let mut known = self.refused_images.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key(base_url, model)).or_default().extend(images);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, ModelQuirks>> {
        self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the quirks that a later process should start from. The user's own servers decide at
/// their start whether they accept tools and images.
fn lasting(quirks: ModelQuirks, base_url: &str) -> ModelQuirks {
    let near = Url::parse(base_url).is_ok_and(|url| is_near(&url));
    ModelQuirks {
        no_images: quirks.no_images && !near,
        no_tools: quirks.no_tools && !near,
        context_size: None,
        ..quirks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_decides_at_its_start_is_not_stored() {
        let quirks = ModelQuirks {
            no_images: true,
            no_tools: true,
            context_size: Some(1),
            max_output: Some(2),
            ..ModelQuirks::default()
        };
        let near = ModelQuirks { max_output: Some(2), ..ModelQuirks::default() };
        assert_eq!(lasting(quirks.clone(), "http://127.0.0.1:1/v1"), near);
        let far = ModelQuirks { context_size: None, ..quirks.clone() };
        assert_eq!(lasting(quirks, "https://api.example.org/v1"), far);
    }
}
