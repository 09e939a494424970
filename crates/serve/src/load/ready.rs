//! Whether what the node depends on can be used.

use crate::limits::{READY_KEPT, READY_WAIT};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// Asks whether the store can be used, or why not.
pub type AskStore = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// What the store answered. Probes need no credential, so they do not ask it more than once a
/// second together.
pub(super) struct StoreState {
    ask: AskStore,
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl StoreState {
    pub(super) fn new(ask: AskStore) -> Self {
        Self { ask, last: Mutex::default() }
    }

    /// Returns why the store cannot be used, if so. Cancel-safe.
    pub(super) async fn check(&self) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < READY_KEPT
        {
            return answer.clone();
        }
        let answer = match timeout(READY_WAIT, (self.ask)()).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err("the store does not answer".to_owned()),
        };
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    #[tokio::test(start_paused = true)]
    async fn the_store_is_asked_once_a_second_and_may_take_two_seconds() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let state = StoreState::new(Arc::new(move || {
            let nth = count.fetch_add(1, Ordering::Relaxed);
            async move {
                // The third answer is late.
                tokio::time::sleep(Duration::from_secs(if nth == 2 { 9 } else { 1 })).await;
                if nth == 0 { Ok(()) } else { Err(format!("answer {nth}")) }
            }
            .boxed()
        }));
        let many = futures::future::join_all((0..50).map(|_| state.check())).await;
        assert!(many.iter().all(Result::is_ok));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(state.check().await, Err("answer 1".to_owned()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(state.check().await, Err("the store does not answer".to_owned()));
    }
}
